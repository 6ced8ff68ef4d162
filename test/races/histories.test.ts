import test from 'ava';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { checkHistory } from '../prove/check-history.ts';
import type { Ends } from '../prove/histories/ends.ts';
import { record } from '../prove/histories/record.ts';
import { describeVerdict, readLines } from '../prove/verdict.ts';
import { count, isLong } from '../support/counts.ts';
import { temporaryFolder } from '../support/folder.ts';
import { listenOnFreePort } from '../support/free-port.ts';

/** A full run records half an hour; a short run a share of it. */
const FULL_SECONDS = 1_800;
const SHARE_SECONDS = 45;
/** The minimum to judge on a slow machine. */
const OPERATIONS = 200;

test.serial('the responses to clients during faults are a possible history', async (t) => {
  if (isLong) t.timeout(3_600_000);
  const asked = count(FULL_SECONDS, 5);
  const seconds = asked < FULL_SECONDS ? Math.min(asked, SHARE_SECONDS) : asked;
  const seed = Date.now() % 1_000_000;
  const dir = temporaryFolder(t);
  const { file, pooled, faults, undocumented, unproven } = await record(t, {
    seconds,
    operations: OPERATIONS,
    seed,
    dir,
    faultQueues: 2,
    faultMs: count(3_000, 1_500),
  });
  const lines = readLines(file);
  const violations = checkHistory(lines);
  t.log(`seed ${seed}, ${seconds} s, ${pooled ? 'one replica behind PgBouncer' : 'PgBouncer is not installed'}`);
  t.log(`faults: ${JSON.stringify(faults)}`);
  t.log(describeVerdict(lines, violations));
  t.deepEqual(violations, []);
  t.deepEqual(undocumented, []);
  t.deepEqual(unproven, []);
  const paid = lines.filter(({ f, value }) => f === 'ledger' && value['paid'] > 0);
  t.true(paid.length > 5, 'money was taken');
  t.true(Object.keys(faults).length > 0, 'faults struck');

  const returned = lines.findIndex(({ f, value }) => f === 'ledger' && value['refunded'] > 0);
  t.true(returned > 0, 'refunds succeeded');
  const { value, ...line } = lines[returned]!;
  const forgotten = lines.with(returned, { ...line, value: { ...value, refunded: 0, returns: 0 } });
  t.true(
    checkHistory(forgotten).some(({ rule, events }) => rule === 'sumsAgree' && events.includes(line.index)),
    'a refund that the ledger forgot is found',
  );
});

test.serial('a service that reports "pending" once after "paid" is found', async (t) => {
  let lies = 0;
  const facade = (ends: Ends, url: string) =>
    forgetful(ends, url, () => {
      lies += 1;
    });
  const calm = { seconds: 1, operations: OPERATIONS / 2, seed: 1, replicas: 1, faultQueues: 0 };
  const { file } = await record(t, { ...calm, dir: temporaryFolder(t), facade });
  const violations = checkHistory(readLines(file));
  t.log(`${lies} lies, ${violations.length} violations`);
  t.true(lies > 0);
  t.true(
    violations.some(
      ({ rule, words }) => rule === 'paidStaysPaid' && words.endsWith('was reported as paid, then pending'),
    ),
  );
});

/** A proxy of a replica that answers one query with "pending" after an order was reported as paid. */
async function forgetful(ends: Ends, url: string, lied: () => void): Promise<string> {
  const told = new Map<string, 'paid' | 'lied'>();
  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming);
    const headers = new Headers();
    for (const name of ['authorization', 'content-type', 'idempotency-key'])
      if (incoming.headers[name]) headers.set(name, String(incoming.headers[name]));
    const init = { method: incoming.method ?? 'GET', headers, ...(body.length > 0 && { body }) };
    const answer = await fetch(url + incoming.url, init);
    let text = await answer.text();
    const orderNo = /query\/(\w+)$/.exec(incoming.url ?? '')?.[1];
    if (orderNo && told.get(orderNo) === 'paid') {
      text = text.replace('"status":"paid"', '"status":"pending"');
      told.set(orderNo, 'lied');
      lied();
    } else if (orderNo && !told.has(orderNo) && text.includes('"status":"paid"')) {
      told.set(orderNo, 'paid');
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' }).end(text);
  });
  const port = await listenOnFreePort(server);
  ends.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
