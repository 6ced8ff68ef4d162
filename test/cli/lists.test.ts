import { PassThrough } from 'node:stream';
import test from 'ava';
import { main } from '../../cli/main.ts';
import { collector, makePlace } from './payctl.ts';
import { program } from './examples.ts';
import { orderRow } from './fakes/rows.ts';

function pages(place: Awaited<ReturnType<typeof makePlace>>): void {
  place.api.on('GET /api/v1/orders', ({ query }) => {
    const page = Number(query['cursor'] ?? 0);
    return {
      body: {
        data: [{ ...orderRow, orderNo: `P${page}` }],
        page: { nextCursor: page < 3 ? String(page + 1) : null, hasMore: page < 3 },
      },
    };
  });
}

test('a truncated list reports on stderr how to get the next rows', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  pages(place);
  const { stdout, stderr } = await place.payctl(['order', 'list', '-q']);
  t.is(stdout, 'P0\n');
  t.is(stderr, 'There are more rows: add --all, or --cursor 1\n');
});

for (const [flags, expected] of [
  [['-q'], 'P0\nP1\nP2\nP3\n'],
  [['--fields', 'orderNo', '--headers'], 'orderNo\nP0\nP1\nP2\nP3\n'],
  [['-o', 'name'], 'order/P0\norder/P1\norder/P2\norder/P3\n'],
] as const) {
  test(`--all ${flags.join(' ')} prints every page as one list`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    pages(place);
    const { stdout, stderr } = await place.payctl(['order', 'list', '--all', ...flags]);
    t.is(stdout, expected);
    t.is(stderr, '');
  });
}

test('--all --json prints one array, and --all -o jsonl one object per line', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  pages(place);
  t.is((JSON.parse((await place.payctl(['order', 'list', '--all', '--json'])).stdout) as unknown[]).length, 4);
  t.is((await place.payctl(['order', 'list', '--all', '-o', 'jsonl'])).stdout.trimEnd().split('\n').length, 4);
  t.is((JSON.parse((await place.payctl(['api', '/api/v1/orders', '--paginate'])).stdout) as unknown[]).length, 4);
});

test('a reader that closes the pipe ends the list with exit 0 and stops the requests', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  pages(place);
  const stdout = new PassThrough();
  stdout.on('data', () => stdout.destroy(Object.assign(new Error('EPIPE'), { code: 'EPIPE' })));
  const err = collector();
  const code = await main(
    ['order', 'list', '--all', '-q'],
    { stdin: process.stdin, stdout, stderr: err.stream, env: { PAYCTL_CONFIG_DIR: place.folder }, cwd: place.folder },
    { now: () => new Date('2026-11-21T06:05:00Z') },
  );
  t.is(code, 0);
  t.is(err.text(), '');
  t.true(place.api.seen.length < 4);
});

test('an empty list prints nothing on stdout, and a message on a terminal', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/orders', () => ({ body: { data: [], page: { nextCursor: null, hasMore: false } } }));
  t.deepEqual(await place.payctl(['order', 'list']), { code: 0, stdout: '', stderr: '' });
  t.is((await place.payctl(['order', 'list', '--json'])).stdout, '[]\n');
  t.is((await place.payctl(['order', 'list'], { terminal: 80 })).stderr, 'No order found.\n');
});

const SNAPSHOTS = [
  'app list',
  'app get app_1',
  'order list',
  'order get P1',
  'order timeline P1',
  'refund list',
  'dispute list',
  'exception list',
  'bill list',
  'bill get B1',
  'bill differences B1',
  'bill lines B1',
  'bill settlement',
  'admin list',
  'channel list',
  'cert list',
  'project list',
  'user list',
  'product list',
  'coin list',
  'event list',
  'simulator ledger',
  'context list',
];

for (const line of SNAPSHOTS) {
  test(`JSON of: payctl ${line}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    const { code, stdout } = await place.payctl([...line.split(' '), '--json']);
    t.is(code, 0);
    t.snapshot(JSON.parse(stdout.replaceAll(place.api.url, 'http://server')));
  });
}

const ORDER_NO = String(orderRow['orderNo']);

/** Commands besides `get` that accept the `-o name` output of other nouns. */
const TAKERS: readonly [command: string, names: readonly string[], id: string][] = [
  ['explain ID', ['order', 'skillpay'], ORDER_NO],
  ['order close ID -y', ['order'], ORDER_NO],
  ['refund create ID --amount 1 -y', ['order'], ORDER_NO],
  ['simulator pay ID', ['order', 'trade'], ORDER_NO],
  ['app webhook get ID', ['app', 'webhook'], 'app_1'],
  ['app limits ID', ['app'], 'app_1'],
  ['approval approve ID --confirm R1', ['approval', 'refund', 'dispute', 'exception'], 'R1'],
  ['channel test ID', ['channel'], 'alipay'],
  ['context show ID', ['context'], 'dev'],
];

test('the output of -o name is accepted as an id', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const ask = async (words: readonly string[]) => {
    place.api.seen.length = 0;
    const { code, stdout, stderr } = await place.payctl(words);
    const seen = place.api.seen.map(({ method, path, body }) => ({ method, path, body }));
    // A command sends several requests at once, so their order is random.
    return { code, stdout, stderr, seen: seen.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
  };
  // `skillpay list` lists resources, but `skillpay get` shows an order.
  const nouns = program.commands.filter(
    (noun) =>
      noun.name() !== 'skillpay' &&
      ['list', 'get'].every((verb) => noun.commands.some((command) => command.name() === verb)),
  );
  t.true(nouns.length > 10);
  for (const noun of nouns.map((command) => command.name())) {
    const { stdout } = await place.payctl([noun, 'list', '-o', 'name']);
    const [name = ''] = stdout.split('\n');
    t.regex(name, new RegExp(`^${noun}/.`));
    const byName = await ask([noun, 'get', name]);
    t.is(byName.code, 0, byName.stderr);
    t.deepEqual(byName, await ask([noun, 'get', name.slice(noun.length + 1)]), name);
  }
  for (const [command, names, id] of TAKERS) {
    const words = (argument: string) => command.split(' ').map((word) => (word === 'ID' ? argument : word));
    const expected = await ask(words(id));
    t.is(expected.code, 0, expected.stderr);
    for (const name of names) t.deepEqual(await ask(words(`${name}/${id}`)), expected, `${command} ${name}`);
  }
  t.is(
    (await ask(['order', 'get', 'refund/R1'])).seen[0]?.path,
    '/api/v1/orders/refund%2FR1',
    'a prefix of another noun is not removed',
  );
  t.is((await ask(['project', 'get', 'projects'])).seen[0]?.path, '/api/v1/projects/projects', 'a noun and a letter');
});
