import { PassThrough } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { main } from '../../cli/main.ts';
import { collector, makePlace, NOW, type Place } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { orderRow } from './fakes/rows.ts';
import { screenReader } from './screen-reader.ts';

async function place(t: ExecutionContext): Promise<Place> {
  const made = await makePlace();
  t.teardown(() => made.close());
  return made;
}

const order = (no: number, status = 'pending') => ({ ...orderRow, orderNo: `P${no}`, status });
const pageOf = (rows: unknown[], nextCursor: string | null = null) => ({
  body: { data: rows, page: { nextCursor, hasMore: nextCursor !== null } },
});

const LIST = 'GET /api/v1/orders';
const often = ['--watch', '--interval', '0.01'];

test('a watched list in a pipe prints the existing rows, then new or changed rows, oldest first', async (t) => {
  const at = await place(t);
  const looks = [
    [order(2), order(1)],
    [order(2), order(1)],
    [order(3), order(2, 'paid'), order(1)],
  ];
  let look = 0;
  at.api.on(LIST, () => pageOf(looks[Math.min(look++, looks.length - 1)]!));
  const { code, stdout } = await at.payctl(['order', 'list', ...often, '--count', '5', '--fields', 'orderNo,status']);
  t.is(code, 0);
  t.is(stdout, 'P1\tpending\nP2\tpending\nP2\tpaid\nP3\tpending\n');
  look = 0;
  const json = await at.payctl(['order', 'list', ...often, '--count', '3', '-o', 'json']);
  t.deepEqual(
    json.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).orderNo),
    ['P1', 'P2', 'P2', 'P3'],
  );
});

test('a watched list in a pipe omits no row when more than a page is new', async (t) => {
  const at = await place(t);
  let newest = 2;
  at.api.on(LIST, ({ query }) => {
    const from = Number(query['cursor'] ?? newest);
    if (query['cursor'] === undefined && newest < 12) newest += 5;
    const rows = [0, 1].map((back) => order(from - back)).filter(({ orderNo }) => Number(orderNo.slice(1)) > 0);
    return pageOf(rows, from > 2 ? String(from - 2) : null);
  });
  const { stdout } = await at.payctl(['order', 'list', ...often, '--count', '4', '-q', '--limit', '2']);
  t.deepEqual(
    stdout.trimEnd().split('\n'),
    Array.from({ length: 12 }, (_, index) => `P${index + 1}`),
  );
});

test('--watch reports an unreachable service once and waits for it; a service unreachable at the start is an error', async (t) => {
  const at = await place(t);
  let look = 0;
  at.api.on(LIST, () => {
    look += 1;
    // Each poll tries three times.
    return look > 1 && look < 5 ? problem(503, 'busy', 'Busy.', {}) : pageOf([order(look === 1 ? 1 : 2)]);
  });
  const { code, stdout, stderr } = await at.payctl(['order', 'list', ...often, '--count', '3', '-q']);
  t.is(code, 0, stderr);
  t.is(stdout, 'P1\nP2\n');
  t.is(stderr, 'The service cannot be reached; trying again.\nThe service can be reached again.\n');
  await at.api.close();
  t.is((await at.payctl(['order', 'list', ...often])).code, 7);
});

test('--watch with a flag that it does not support is a usage error', async (t) => {
  const at = await place(t);
  for (const words of [['--all'], ['--cursor', 'x'], ['-o', 'env']])
    t.is((await at.payctl(['order', 'list', '--watch', '--count', '1', ...words])).code, 2, words.join(' '));
});

test('status in a pipe prints parts whose status changed', async (t) => {
  const at = await place(t);
  let look = 0;
  at.api.on('GET /health/db', () => ((look += 1) === 2 ? problem(400, 'database_down', 'Down.') : { body: {} }));
  at.api.on('GET /api/v1/payment/channels', () => ({
    body: { data: [{ payWay: 'alipay', status: 'up', mode: 'live', lastSuccessAt: `2026-11-21T06:0${look}:00.000Z` }] },
  }));
  const { code, stdout } = await at.payctl(['status', ...often, '--count', '4', '--fields', 'part,status']);
  t.is(code, 0);
  t.is(stdout, 'alipay\tup\ndatabase\tup\nservice\tup\ndatabase\tdown\ndatabase\tup\n');
});

test('a watched list on a terminal is redrawn in place, keeps the text above it, and ends cleanly', async (t) => {
  const at = await place(t);
  let look = 0;
  const cancel = new AbortController();
  at.api.on(LIST, ({ query }) => {
    look += 1;
    t.is(query['limit'], '9', 'as many rows as fit on the screen');
    if (look === 5) cancel.abort();
    return pageOf([order(look + 1), order(look, 'paid')].slice(look === 4 ? 1 : 0));
  });
  const reader = screenReader(60, 12);
  reader.write('$ payctl order list --watch\n');
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 60, rows: 12 });
  stdout.setEncoding('utf8').on('data', (text: string) => reader.write(text));
  const stderr = collector(60);
  const streams = {
    stdin: new PassThrough(),
    stdout,
    stderr: stderr.stream,
    env: { PAYCTL_CONFIG_DIR: at.folder },
    cwd: at.folder,
    signal: cancel.signal,
  };
  const code = await main(['order', 'list', ...often], streams, { now: () => NOW });
  await new Promise((resolve) => setImmediate(resolve));
  t.is(code, 130);
  const rows = reader.rows();
  t.is(rows[0], '$ payctl order list --watch');
  t.regex(rows[1]!, /^ORDER +STATUS/);
  t.regex(rows[2]!, /^P4 +paid/);
  t.regex(rows[3]!, /Ctrl-C to stop$/);
  t.deepEqual(rows.slice(4).join(''), '', 'removed rows are cleared from the screen');
  t.true(reader.modes.has('?7'));
  t.deepEqual(reader.strange, []);
  t.regex(stderr.text(), /cancelled:/);
});

test('a watched list on a low terminal is cut to the height of the terminal', async (t) => {
  const at = await place(t);
  at.api.on(LIST, () => pageOf(Array.from({ length: 20 }, (_, index) => order(20 - index))));
  const { stdout } = await at.payctl(['order', 'list', ...often, '--count', '2', '--color', 'never'], {
    terminal: 80,
    env: { LINES: '6' },
  });
  const reader = screenReader(80, 6);
  reader.write(stdout);
  const rows = reader.rows();
  t.regex(rows[0]!, /^ORDER/);
  t.regex(rows[4]!, /Ctrl-C to stop/);
  t.is(rows[5], '');
});
