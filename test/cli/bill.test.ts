import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { displayWidth } from '../../cli/terminal-text.ts';
import { makePlace, type Place } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { billLineRow, billRow, differenceRow } from './fakes/bills.ts';

type Row = Record<string, unknown>;

const B = String(billRow['billNo']);
const FETCH = ['bill', 'fetch', '--pay-way', 'wechat', '--date', '2026-11-20', '--interval', '0.01'];
const IMPORT = ['bill', 'import', 'b.csv', '--pay-way', 'wechat', '--date', '2026-11-20', '--interval', '0.01'];

async function place(t: ExecutionContext): Promise<Place> {
  const made = await makePlace();
  t.teardown(() => made.close());
  return made;
}

/** Returns these bills to successive queries; the last one repeats. */
function course({ api }: Place, ...bills: Row[]): void {
  let at = 0;
  api.on(`GET /api/v1/bills/${B}`, () => ({
    body: { data: { ...billRow, ...bills[Math.min(at++, bills.length - 1)] } },
  }));
}

const READ_VERBS: [name: string, argv: string[]][] = [
  ['list', ['bill', 'list']],
  ['get', ['bill', 'get', B]],
  ['differences', ['bill', 'differences', B]],
  ['lines', ['bill', 'lines', B]],
  ['settlement', ['bill', 'settlement']],
];

for (const [name, argv] of READ_VERBS) {
  for (const terminal of [80, 120])
    test(`bill ${name} fits a terminal of ${terminal} columns`, async (t) => {
      const { code, stdout } = await (await place(t)).payctl([...argv, '--color', 'never'], { terminal });
      t.is(code, 0);
      const wide = stdout.split('\n').filter((line) => displayWidth(line) > terminal);
      t.deepEqual(wide, []);
      t.snapshot(stdout);
    });
  test(`bill ${name} in a pipe is separated by tabs`, async (t) => {
    const { code, stdout, stderr } = await (await place(t)).payctl(argv);
    t.is(code, 0);
    t.snapshot({ stdout, stderr });
  });
}

test('a PayPal bill shows the account balances before and after the day, and no sums that PayPal does not state', async (t) => {
  const here = await place(t);
  const none = { payments: null, paidMinor: null, refunds: null, refundedMinor: null, feesMinor: null, netMinor: null };
  const totals = [
    { ...none, currency: 'USD', openingMinor: -150, closingMinor: 2000 },
    { ...none, currency: 'JPY', openingMinor: 0, closingMinor: 500 },
  ];
  course(here, { payWay: 'paypal', totals });
  const { stdout } = await here.payctl(['bill', 'get', B, '--color', 'never'], { terminal: 120 });
  t.regex(stdout, /balance\s+-1\.50 USD → 20\.00 USD, 0 JPY → 500 JPY/i);
  t.notRegex(stdout, /the bill itself/);
});

test('amounts have the decimals of their currency', async (t) => {
  const { api, payctl } = await place(t);
  const yen = {
    ...differenceRow,
    ours: { amountMinor: 1200, currency: 'JPY' },
    theirs: { amountMinor: 1300, currency: 'JPY' },
  };
  const other = {
    ...differenceRow,
    kind: 'currency_differs',
    ours: { amountMinor: 1200, currency: 'USD' },
    theirs: { amountMinor: 1200, currency: 'JPY' },
  };
  api.on(`GET /api/v1/bills/${B}/differences`, () => ({ body: { data: [yen, other], page: { nextCursor: null } } }));
  const { stdout } = await payctl(['bill', 'differences', B, '--fields', 'ours,theirs']);
  t.is(stdout, '1200\t1300\n12.00 USD\t1200 JPY\n');
});

test('bill differences end with the next steps on a terminal, and without them in a script', async (t) => {
  const { payctl } = await place(t);
  const { stderr } = await payctl(['bill', 'differences', B], { terminal: 200 });
  t.true(stderr.includes(`Next: ${String(differenceRow['fix'])}`), stderr);
  t.is((await payctl(['bill', 'differences', B])).stderr, '');
  t.is((await payctl(['bill', 'differences', B, '-q'], { terminal: 80 })).stderr, '');
});

test('bill quiet requires a reason and a typed confirmation; --off requires only --yes', async (t) => {
  const { api, payctl } = await place(t);
  const quiet = ['bill', 'quiet', B];
  t.is((await payctl([...quiet, '--reason', 'A second system'])).code, 2, 'high risk: confirmed by its name');
  t.is((await payctl([...quiet, '--confirm', B])).code, 2, 'a reason is required');
  t.is((await payctl([...quiet, '--off', '--reason', 'x'])).code, 2);
  const sent = () => api.seen.filter(({ path }) => path.endsWith('/quiet')).map(({ method, body }) => [method, body]);
  t.deepEqual(sent(), []);
  const made = await payctl([...quiet, '--reason', 'A second system', '--confirm', B]);
  t.is(made.code, 0, made.stderr);
  t.true(made.stderr.includes('Unknown order numbers of wechat 1900000109 are no longer reported.'), made.stderr);
  const shown = await payctl([...quiet, '--reason', 'A second system', '--confirm', B, '--color', 'never'], {
    terminal: 200,
  });
  t.regex(shown.stdout, /quiet\s+since .* by alice: A second system/i);
  t.is((await payctl([...quiet, '--off', '--yes'])).code, 0);
  t.deepEqual(
    sent().map(([method]) => method),
    ['POST', 'POST', 'DELETE'],
  );
  t.deepEqual(sent()[0]![1], { reason: 'A second system' });
});

test('settlement names days without a bill and bills that disagree; JSON contains every section', async (t) => {
  const { payctl } = await place(t);
  const { stdout, stderr } = await payctl(['bill', 'settlement']);
  t.is(stdout.trimEnd().split('\n').length, 1, 'no totals row in a pipe');
  t.regex(stderr, /Bill B\w+ of wechat, 2026-11-20, has 1200 lines; an earlier reading had 1208\./);
  t.regex(stderr, /is short of 2 lines that could not be read\. 订单总金额: the bill says 12345600/);
  t.regex(stderr, /has 1 refund\(s\) of 30\.00 CNY as under way: they are counted, and their end is not known\./);
  t.regex(stderr, /states fees of 738\.34 CNY; its lines add up to fees of 735\.60 CNY/);
  t.regex(
    stderr,
    /No bill of wechat 1900000109, 2026-11-19\. Next: payctl bill fetch --pay-way wechat --date 2026-11-19/,
  );
  t.regex(stderr, /of paypal SIMMERCHANT01, 2026-11-01 to 2026-11-30, moved by 11\.94 USD; .* add up to -0\.43 USD\./);
  t.regex(stderr, /Bill B\w+ of paypal, 2026-11-02, is not checked against the balances of its account\./);
  const figures = JSON.parse((await payctl(['bill', 'settlement', '--json'])).stdout) as Row;
  t.deepEqual(Object.keys(figures), [
    'days',
    'totals',
    'missing',
    'shrunk',
    'unreadable',
    'pendingRefunds',
    'disagreements',
    'balances',
    'unchecked',
  ]);
});

test('fetch waits until the bill is compared, and prints each step in a pipe', async (t) => {
  const here = await place(t);
  course(here, { state: 'waiting', checks: 0 }, { state: 'reading' }, { state: 'matching' }, {});
  const { code, stdout, stderr } = await here.payctl([...FETCH, '--fields', 'state']);
  t.is(code, 0, stderr);
  t.is(stdout, 'done\n');
  const steps = ['asking the channel', 'reading', 'comparing with the orders, 1200 lines'];
  for (const step of steps) t.true(stderr.includes(`Bill ${B} of wechat, 2026-11-20: ${step}\n`), stderr);
  t.regex(stderr, /1200 lines; differences: 1 being checked, 1 for review\. Next: payctl bill differences B/);
});

test('fetch --no-wait sends the request and returns; --dry-run sends nothing', async (t) => {
  const { api, payctl } = await place(t);
  t.is((await payctl([...FETCH, '--no-wait', '--fields', 'state'])).stdout, 'waiting\n');
  t.deepEqual(
    api.seen.map(({ method, path }) => `${method} ${path}`),
    ['POST /api/v1/bills'],
  );
  await payctl([...FETCH, '--dry-run']);
  t.is(api.seen.length, 1);
});

const fault = (code: string, more: Row = {}) => ({
  fault: { code, detail: 'So it is.', line: null, column: null, ...more },
});

const FAILURES: [name: string, last: Row, exit: number, code: string, words: RegExp, next: RegExp][] = [
  [
    'is refused',
    { state: 'refused', ...fault('wrong_cell', { line: 17, column: 13 }) },
    1,
    'bill_refused',
    /was refused\. So it is \(line 17, column 13; wrong_cell\)\./,
    /queries the channel again at 2026-11-22T02:30:00.000Z\n +Or .*payctl bill import FILE --pay-way wechat --date 2026-11-20/,
  ],
  [
    'is missing',
    { state: 'missing', ...fault('NO_STATEMENT_EXIST') },
    1,
    'bill_missing',
    /is missing\./,
    /payctl bill import/,
  ],
  [
    'is not available yet',
    { state: 'waiting', checks: 2, ...fault('STATEMENT_CREATING') },
    7,
    'bill_not_there',
    /not available yet/,
    /queries the channel again at/,
  ],
  [
    'has no configuration',
    { state: 'waiting', checks: 2, ...fault('not_configured') },
    7,
    'bill_not_there',
    /not available yet/,
    /payctl channel list/,
  ],
  [
    'could not be fetched again',
    { state: 'done', ...fault('timeout') },
    1,
    'bill_not_renewed',
    /the service keeps the earlier bill/,
    /queries the channel again/,
  ],
];

for (const [name, last, exit, code, words, next] of FAILURES) {
  test(`fetch fails with ${exit} when the bill ${name}`, async (t) => {
    const here = await place(t);
    course(here, { state: 'waiting', checks: 0 }, last);
    const shown = await here.payctl(FETCH);
    t.is(shown.code, exit);
    t.regex(shown.stderr, words);
    t.regex(shown.stderr, next);
    const { stderr } = await here.payctl([...FETCH, '--json']);
    const { error } = JSON.parse(stderr) as { error: Row };
    t.is(error['code'], code);
    t.is(error['billNo'], B);
  });
}

test('fetch ignores the fault of an earlier attempt', async (t) => {
  const here = await place(t);
  course(here, { state: 'waiting', checks: 0, ...fault('STATEMENT_CREATING') }, { state: 'done' });
  t.is((await here.payctl(FETCH)).code, 0);
});

test('fetch stops waiting after --wait while the service continues', async (t) => {
  const here = await place(t);
  course(here, { state: 'reading' });
  const { code, stderr } = await here.payctl([...FETCH, '--wait', '0']);
  t.is(code, 7);
  t.regex(stderr, /is still reading after 0 s; the service still processes the bill/);
  t.regex(stderr, /next: payctl bill get B/);
});

test('Ctrl-C stops waiting, not the service', async (t) => {
  const here = await place(t);
  const stop = new AbortController();
  here.api.on(`GET /api/v1/bills/${B}`, () => {
    setImmediate(() => stop.abort());
    return { body: { data: { ...billRow, state: 'reading' } } };
  });
  const argv = FETCH.with(-1, '60');
  const { code, stderr } = await here.payctl(argv, { signal: stop.signal });
  t.is(code, 130);
  t.regex(stderr, /the service still processes the bill\. Next: payctl bill get B/);
});

test('fetch queries an unreachable service again while waiting', async (t) => {
  const here = await place(t);
  let tries = 0;
  here.api.on(`GET /api/v1/bills/${B}`, () => ((tries += 1) <= 3 ? { text: null } : { body: { data: billRow } }));
  t.is((await here.payctl(FETCH)).code, 0);
  t.true(tries > 3);
});

test('import sends the file unchanged, and waits', async (t) => {
  const here = await place(t);
  const text = 'A line of a bill\n'.repeat(100_000);
  await writeFile(join(here.folder, 'b.csv'), text);
  course(here, { state: 'matching' }, {});
  const { code, stderr } = await here.payctl(IMPORT);
  t.is(code, 0, stderr);
  const sent = here.api.seen.find(({ path }) => path === '/api/v1/bills/import');
  t.is(sent?.headers['content-type'], 'application/octet-stream');
  t.is(sent?.headers['content-length'], String(text.length));
  t.true(sent?.text === text);
});

test('import --dry-run names the file and sends nothing; --debug shows only its size', async (t) => {
  const here = await place(t);
  await writeFile(join(here.folder, 'b.csv'), 'secret line\n');
  const { stdout } = await here.payctl([...IMPORT, '--dry-run', '--json']);
  const plan = JSON.parse(stdout) as Row;
  t.deepEqual(plan['body'], { name: 'b.csv', bytes: 12 });
  t.deepEqual(here.api.seen, []);
  const { stderr } = await here.payctl([...IMPORT, '--no-wait', '--debug']);
  t.true(stderr.includes('(12 bytes)'));
  t.false(stderr.includes('secret line'));
});

test('a refused file is reported with its fault, line, column and next step', async (t) => {
  const here = await place(t);
  await writeFile(join(here.folder, 'b.csv'), 'x');
  const detail = 'The file is encoded in UTF-8 (line 5, column 1).';
  here.api.on('POST /api/v1/bills/import', () =>
    problem(422, 'bill_malformed', detail, {
      fault: 'wrong_charset',
      line: 5,
      column: 1,
      errors: [{ pointer: '/file', code: 'wrong_charset', detail }],
    }),
  );
  const { code, stderr } = await here.payctl(IMPORT);
  t.is(code, 1);
  t.is(stderr.split(detail).length, 2, 'printed once');
  t.regex(stderr, /next: import the file as it was downloaded/);
  const { error } = JSON.parse((await here.payctl([...IMPORT, '--json'])).stderr) as { error: Row };
  t.like(error, { code: 'bill_malformed', fault: 'wrong_charset', line: 5, column: 1 });
});

for (const [name, words] of [
  ['lost.csv', /Cannot read .*lost\.csv/],
  ['empty.csv', /is empty/],
  ['.', /is not a file/],
] as const)
  test(`import ${name} sends nothing`, async (t) => {
    const here = await place(t);
    await writeFile(join(here.folder, 'empty.csv'), '');
    const { code, stderr } = await here.payctl(IMPORT.with(2, name));
    t.is(code, 2);
    t.regex(stderr, words);
    t.deepEqual(here.api.seen, []);
  });

function streamed({ api }: Place, count: number): void {
  const lines = Array.from({ length: count }, (_, at) => `${JSON.stringify({ ...billLineRow, line: at + 1 })}\n`);
  const headers = { 'content-type': 'application/x-ndjson' };
  api.on(`GET /api/v1/bills/${B}/lines`, () => ({ headers, text: lines.join('') }));
}

test('lines shows the first lines and reports that more exist', async (t) => {
  const here = await place(t);
  streamed(here, 450);
  const count = async (...more: string[]) => {
    const { stdout, stderr } = await here.payctl(['bill', 'lines', B, '-q', ...more]);
    return [stdout.trimEnd().split('\n').length, stderr === '' ? 'all' : 'more'];
  };
  t.deepEqual(await count(), [50, 'more']);
  t.deepEqual(await count('--limit', '450'), [450, 'all']);
  t.deepEqual(await count('--all'), [450, 'all']);
  const { stdout } = await here.payctl(['bill', 'lines', B, '--all', '--json']);
  t.is((JSON.parse(stdout) as Row[]).length, 450);
  const headed = await here.payctl(['bill', 'lines', B, '--all', '--headers', '--fields', 'line']);
  t.is(headed.stdout.split('line\n').length, 2, 'one header');
});

test('lines prints nothing for an empty bill, and fails when the stream is interrupted', async (t) => {
  const here = await place(t);
  streamed(here, 0);
  t.deepEqual(await here.payctl(['bill', 'lines', B]), { code: 0, stdout: '', stderr: '' });
  t.is((await here.payctl(['bill', 'lines', B, '--json'])).stdout, '[]\n');
  t.is((await here.payctl(['bill', 'lines', B], { terminal: 80 })).stderr, 'No line found.\n');
  const headers = { 'content-length': '5000' };
  here.api.on(`GET /api/v1/bills/${B}/lines`, () => ({ headers, text: `${JSON.stringify(billLineRow)}\n{"li` }));
  const broken = await here.payctl(['bill', 'lines', B, '--timeout', '1']);
  t.is(broken.code, 7, broken.stderr);
  t.regex(broken.stderr, /interrupted after 1 lines/);
});

test('export writes to stdout or to a new file, and never overwrites a file', async (t) => {
  const here = await place(t);
  const csv = 'line,kind\n1,payment\n';
  here.api.on(`GET /api/v1/bills/${B}/lines`, () => ({ headers: { 'content-type': 'text/csv' }, text: csv }));
  t.is((await here.payctl(['bill', 'export', B])).stdout, csv);
  const toFile = ['bill', 'export', B, '--file', 'bill.csv'];
  t.regex((await here.payctl(toFile)).stderr, /Exported 2 lines to bill\.csv\./);
  const again = await here.payctl(toFile);
  t.is(again.code, 2);
  t.regex(again.stderr, /already exists/);
  t.is(here.api.seen.length, 2, 'no request was sent');
});

test('rerun waits for the comparison', async (t) => {
  const here = await place(t);
  course(here, { state: 'matching' }, { differences: [] });
  const { code, stderr } = await here.payctl(['bill', 'rerun', B, '--interval', '0.01']);
  t.is(code, 0);
  t.regex(stderr, /1200 lines, no open differences\./);
});

test('rerun of a bill that was never read fails with the error of the service', async (t) => {
  const here = await place(t);
  here.api.on(`POST /api/v1/bills/${B}/rerun`, () => problem(409, 'bill_not_read', 'There is no bill to compare yet.'));
  const { code, stderr } = await here.payctl(['bill', 'rerun', B]);
  t.is(code, 6);
  t.regex(stderr, /There is no bill to compare yet/);
});
