import test, { type ExecutionContext } from 'ava';
import { createDatabase } from '../support/database.ts';
import { count, inParallel } from '../support/counts.ts';
import { applicationAt, logInAt, type OldAnswer, type Send } from '../support/first-release/client.ts';
import {
  bootstrapFirstRelease,
  checkOutFirstRelease,
  type FirstRelease,
  startFirstRelease,
} from '../support/first-release/release.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { startService, testEnvironment, until } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

const ADMIN = { username: 'alice', password: 'seven-quiet-otters-swim' };
const LANES = 4;

test('a replica of the first release and one of today work one database under load, and the old one may come back', async (t) => {
  const checkout = checkOutFirstRelease(temporaryFolder(t));
  if ('missing' in checkout) {
    t.log(`${checkout.missing}: not tested`);
    return t.pass();
  }
  const { folder } = checkout;
  const { url, drop } = await createDatabase({ direct: true, empty: true });
  t.teardown(drop);
  const simulator = await ownSimulator(t);
  const environment = { ...testEnvironment(url), PAY_SIMULATOR_URL: simulator.url, PAY_LOG_LEVEL: 'error' };
  bootstrapFirstRelease(folder, environment, ADMIN);
  const olds: FirstRelease[] = [];
  const startOld = async () => {
    const old = await startFirstRelease(folder, environment, await freePort());
    olds.push(old);
    return old;
  };
  t.teardown(() => Promise.all(olds.map((old) => old.stop())));
  const old = await startOld();
  const there = await logInAt(old.url, ADMIN);
  const { client_id: clientId, client_secret: secret } = (
    await there('POST', '/api/v1/api-apps', { name: 'shop', scopes: ['payment:write', 'payment:read'] })
  ).body.data;
  const shopAt = (at: string) => applicationAt(at, clientId, secret);
  const pay = async (orderNo: string) => {
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ orderNo }) };
    await (await fetch(`${simulator.url}/sim/pay`, sent)).arrayBuffer();
  };
  const before = await shopAt(old.url);
  await trade(t, [before, before], pay, 1);

  const today = await startService(t, { url, simulator });
  await trade(t, [before, await shopAt(today.url)], pay, count(200, 6));
  await booksAreClean(t, await logInAt(today.url, ADMIN));

  // Back to the first release: the new one goes, the old one starts on the schema of today.
  await today.stop();
  await old.stop();
  const again = await startOld();
  const alone = await shopAt(again.url);
  await trade(t, [alone, alone], pay, count(20, 2));
  const forward = await startService(t, { url, simulator });
  await trade(t, [alone, await shopAt(forward.url)], pay, count(20, 2));
  await again.stop();
  await booksAreClean(t, await logInAt(forward.url, ADMIN));
});

/** Places, pays, asks and refunds, each step at the other replica; none of it may be a fault of a server. */
async function trade(
  t: ExecutionContext,
  shops: readonly [Send, Send],
  pay: (orderNo: string) => Promise<void>,
  rounds: number,
): Promise<void> {
  const told: Record<string, number> = {};
  const faults: string[] = [];
  let turn = 0;
  const send = async (...[method, path, body]: Parameters<Send>): Promise<OldAnswer> => {
    const answer = await shops[turn++ % 2]!(method, path, body);
    told[answer.status] = (told[answer.status] ?? 0) + 1;
    // A machine that has no time for its database and its simulator is told from a release that does not stand the other.
    const isBusy = /^(database_(busy|unavailable)|channel_outcome_unknown)$/.test(answer.body?.code);
    if (answer.status >= 400 && !isBusy)
      faults.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  };
  await inParallel(rounds * LANES, LANES, async (round) => {
    const payWay = (['alipay', 'wechat', 'paypal'] as const)[round % 3]!;
    const { orderNo } =
      (await send('POST', '/api/v2/payment/pay', { subject: 'Both', amount: 8, payWay })).body.data ?? {};
    if (orderNo === undefined) return;
    if (round % 5 === 0) return void (await send('POST', `/api/v2/payment/close/${orderNo}`));
    await pay(orderNo);
    await until(
      `${orderNo} is paid`,
      async () => (await send('GET', `/api/v2/payment/query/${orderNo}`)).body.data?.status === 'paid',
    );
    const refund = await send('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 3 });
    const { refundNo } = refund.body.data ?? {};
    if (refundNo !== undefined) await send('GET', `/api/v2/payment/refunds/${refundNo}`);
  });
  t.deepEqual(faults, []);
  t.log(
    `${rounds * LANES} rounds: ${Object.entries(told)
      .map(([status, times]) => `${times} × ${status}`)
      .join(', ')}`,
  );
}

async function booksAreClean(t: ExecutionContext, admin: Send): Promise<void> {
  const { body } = await admin('GET', '/api/v1/books?limit=10000');
  t.is(body.data.nextCursor, null);
  t.true(body.data.ok, JSON.stringify(body.data.proofs));
}
