import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { CERT_ID } from '../../cli/commands/cert.ts';
import { nouns } from '../../cli/commands/index.ts';
import type { Overrides } from '../../cli/context.ts';
import { makePlace, runPayctl, scripted } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { orderRow, signedCode } from './fakes/rows.ts';

const PAY = ['pay', '--subject', 'Tea', '--amount', '1', '--pay-way', 'alipay'];
const QUERY = 'GET /api/v1/console/payment/query/P202611210558007K2MQX9WBT';

for (const [status, code] of [
  ['paid', 0],
  ['closed', 1],
  ['failed', 1],
] as const) {
  test(`pay --wait follows the order until it is ${status}: exit ${code}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    let looks = 0;
    place.api.on(QUERY, () =>
      (looks += 1) === 2
        ? problem(503, 'busy', 'Busy.')
        : { body: { data: { ...orderRow, status: looks < 4 ? 'pending' : status } } },
    );
    const run = await place.payctl([...PAY, '--wait', '--interval', '0.01', '--json']);
    t.is(run.code, code);
    t.is((JSON.parse(run.stdout) as { status: string }).status, status);
    if (code === 1) t.is((JSON.parse(run.stderr) as { error: { code: string } }).error.code, `order_${status}`);
  });
}

test('trusting a key shows its origin and its full fingerprint before any request is sent', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  for (const verb of ['trust', 'distrust']) {
    const asked = await place.payctl(['cert', verb, CERT_ID]);
    t.is(asked.code, 2);
    t.regex(asked.stderr, new RegExp(`uploaded by alice {2}SHA-256 ${'5f'.repeat(32)}`));
    t.false(
      place.api.seen.some(({ path }) => path.endsWith(verb)),
      'not confirmed, not sent',
    );
    t.is((await place.payctl(['cert', verb, CERT_ID, '--yes'])).code, 0);
    t.is((await place.payctl(['cert', verb, 'cert_0', '--yes'])).code, 3);
  }
});

test('pay draws a QR code on a terminal, and none in a pipe', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.regex((await place.payctl(PAY, { terminal: 80 })).stderr, /[█▀▄]{20}/);
  t.regex((await place.payctl(PAY, { terminal: 20 })).stderr, /does not fit this terminal/);
  const piped = await place.payctl(PAY);
  t.notRegex(piped.stdout + piped.stderr, /[█▀▄]/);
});

test('pay prompts for missing values', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const prompts = scripted({ '--subject': 'Tea', '--amount': '2.50', '--pay-way': 'wechat' });
  t.is((await place.payctl(['pay'], { prompts })).code, 0);
  t.like(place.api.seen.at(-1)?.body, { subject: 'Tea', amount: '2.50', payWay: 'wechat' });
  const off = await place.payctl(['pay', '--subject', 'Tea']);
  t.is(off.code, 2);
  t.regex(off.stderr, /--amount/);
});

test('app create on a terminal prompts for name, scopes and, with several projects, the project', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/projects', () => ({ body: { data: [{ code: 'default' }, { code: 'eu' }] } }));
  const prompts = scripted({ '--name': 'shop', '--project': 'eu' });
  t.is((await place.payctl(['app', 'create', '--json'], { prompts })).code, 0);
  t.deepEqual(place.api.seen.at(-1)?.body, { name: 'shop', scopes: ['payment:write', 'payment:read'], project: 'eu' });
});

test('status exits with 0 when every part is up, 1 when a part is down, and 7 when the service is unreachable', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const up = await place.payctl(['status', '--fields', 'part,status']);
  t.is(up.stdout, 'service\tup\ndatabase\tup\nalipay\tup\nwechat\tup\npaypal\tup\n');
  place.api.on('GET /health/db', () => problem(503, 'database_down', 'Down.'));
  const down = await place.payctl(['status']);
  t.is(down.code, 1);
  t.regex(down.stderr, /Down: database/);
  await place.api.close();
  t.is((await place.payctl(['status'])).code, 7);
});

test("api --app calls as the merchant with a token of its own instead of the administrator's", async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(join(place.folder, 'secret'), 'pays_x y\n');
  const { code } = await place.payctl([
    'api',
    '/api/v2/payment/pay',
    '--app',
    'app_1',
    '--secret-file',
    'secret',
    '-F',
    'amount=1',
  ]);
  t.is(code, 0);
  const [token, pay] = place.api.seen;
  t.is(token?.headers['authorization'], `Basic ${Buffer.from('app_1:pays_x%20y').toString('base64')}`);
  t.is(pay?.headers['authorization'], 'Bearer merchant-token');
  t.is((await place.payctl(['api', 'https://evil.example/'])).code, 2);
  t.is((await place.payctl(['api', '//evil.example/'])).code, 2);
  place.api.seen.length = 0;
  const alone = await place.payctl(['api', '/api/v2/me', '--secret-file', 'secret']);
  t.is(alone.code, 2);
  t.regex(alone.stderr, /--secret-file requires --app/);
  t.deepEqual(place.api.seen, [], 'the login in use is not used in its place');
});

test('order export writes a complete file or no file', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/orders/export', () => ({ text: 'orderNo\nP1\n', headers: { 'content-type': 'text/csv' } }));
  t.is((await place.payctl(['order', 'export', '--file', 'out.csv'])).code, 0);
  t.is(await readFile(join(place.folder, 'out.csv'), 'utf8'), 'orderNo\nP1\n');
  t.is((await place.payctl(['order', 'export', '--file', 'out.csv'])).code, 2, 'an existing file is not overwritten');
  place.api.on('GET /api/v1/orders/export', () => ({ text: 'orderNo\n', headers: { 'content-length': '999' } }));
  const cut = place.payctl(['order', 'export', '--file', 'cut.csv']);
  setTimeout(() => void place.api.close(), 200);
  t.is((await cut).code, 7);
  t.deepEqual((await readdir(place.folder)).toSorted(), ['contexts.json', 'credentials.json', 'out.csv']);
});

test('skillpay: an offer shows how to pay; redeeming an unpaid order is exit 1', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(join(place.folder, 's'), 'pays_0123456789abcdef\n');
  const offer = {
    ...problem(402, 'payment_required', 'Pay first.'),
    body: { code: 'payment_required', data: { outTradeNo: 'X1', status: 'pending', payUrl: 'http://pay/X1' } },
  };
  place.api.on('POST /api/v2/skillpay/resource', () => offer);
  const as = ['--app', 'app_1', '--secret-file', 's'];
  t.is((await place.payctl(['skillpay', 'offer', ...as, '--fields', 'outTradeNo'])).stdout, 'X1\n');
  t.truthy(place.api.seen.at(-1)?.headers['idempotency-key']);
  const redeem = await place.payctl(['skillpay', 'redeem', 'X1', ...as]);
  t.is(redeem.code, 1);
  t.regex(redeem.stderr, /not paid[\s\S]*pay at http:\/\/pay\/X1/);
  t.is(place.api.seen.at(-1)?.headers['x-out-trade-no'], 'X1');
  t.is((await place.payctl(['skillpay', 'list'])).code, 2);
});

test('skillpay verify-code: genuine is 0; another key, algorithm, type or a changed claim is 1', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const check = (code: string) => place.payctl(['skillpay', 'verify-code', '--json'], { stdin: `${code}\n` });
  const code = signedCode({ outTradeNo: 'X1', amountMinor: 10 });
  const good = await check(code);
  t.is(good.code, 0);
  t.like(JSON.parse(good.stdout), { valid: true, outTradeNo: 'X1', amountMinor: 10 });
  const [head, , signature] = code.split('.');
  const forged = Buffer.from('{"outTradeNo":"X1","amountMinor":1}').toString('base64url');
  t.is((await check(`${head}.${forged}.${signature}`)).code, 1);
  for (const header of [
    { alg: 'none', typ: 'pay-code+jws', kid: 'k-1' },
    { alg: 'EdDSA', typ: 'JWT', kid: 'k-1' },
    { alg: 'EdDSA', typ: 'pay-code+jws', kid: 'k-2' },
  ]) {
    t.is((await check(signedCode({ outTradeNo: 'X1' }, header))).code, 1);
  }
  t.is((await check('not a code')).code, 2);
});

test('a failed channel test is exit 1 and names the credential', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/payment/config/alipay/test', () => ({
    body: { data: { ok: false, field: 'appId', message: 'The app id is unknown.' } },
  }));
  const { code, stdout, stderr } = await place.payctl(['channel', 'test', 'alipay']);
  t.is(code, 1);
  t.regex(stdout, /field\tappId/);
  t.regex(stderr, /The app id is unknown/);
});

const SILENT: readonly [code: string, message: string, hint: RegExp][] = [
  ['network', 'fetch failed: ENOTFOUND', /^check the DNS .*; behind a proxy, set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY/],
  ['network', 'fetch failed: EAI_AGAIN', /^check the DNS .*HTTPS_PROXY/],
  ['network', 'fetch failed: UNABLE_TO_VERIFY_LEAF_SIGNATURE', /set NODE_EXTRA_CA_CERTS to its CA/],
  ['network', 'fetch failed: SELF_SIGNED_CERT_IN_CHAIN', /set NODE_EXTRA_CA_CERTS to its CA/],
  ['network', 'fetch failed: CERT_HAS_EXPIRED', /^check the clock/],
  ['network', 'fetch failed: ECONNREFUSED', /firewall .* port 443; .*HTTPS_PROXY/],
  ['timeout', 'No complete response within 6000 ms.', /firewall .* port 443; .*HTTPS_PROXY/],
  ['http_status', 'HTTP 502', /^the channel is out of order, or a proxy in between answers/],
  ['busy', 'HTTP 429', /^the channel is overloaded; test again later$/],
];

for (const [code, message, hint] of SILENT)
  test(`a channel test without an answer advises about the network, not the configuration: ${message}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    place.api.on('POST /api/v1/payment/config/alipay/test', () => ({
      body: { data: { ok: false, field: null, code, message } },
    }));
    const { code: exit, stderr } = await place.payctl(['channel', 'test', 'alipay', '--json']);
    t.is(exit, 1);
    const { error } = JSON.parse(stderr) as { error: { hint: string; message: string } };
    t.is(error.message, `alipay: ${message}`);
    t.regex(error.hint, hint);
    t.notRegex(error.hint, /channel set/);
  });

for (const topic of ['environment', 'exit-codes', 'output', 'secrets', 'bootstrap']) {
  test(`help ${topic}`, async (t) => {
    const { code, stdout } = await runPayctl(['help', topic]);
    t.is(code, 0);
    t.true(stdout.split('\n').every((line) => line.length <= 80));
  });
}

test('help of a command begins with its examples', async (t) => {
  const { stdout } = await runPayctl(['help', 'app', 'create']);
  t.regex(stdout, /^Create an API application[^\n]*\n([^\n]+\n)?\nExamples\n {2}\$ payctl app create/);
  t.is((await runPayctl(['app', 'create', '--help'])).stdout, stdout);
  t.is((await runPayctl(['help', 'nope'])).code, 2);
});

test('payctl without arguments prints help that lists every noun', async (t) => {
  const { code, stdout } = await runPayctl([]);
  t.is(code, 0);
  for (const { name, summary } of nouns) t.true(stdout.includes(name) && stdout.includes(summary), name);
});

test('audit: exit 0 when all checks pass; exit 1 and the name of the check when one fails', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is((await place.payctl(['audit'])).code, 0);
  const lie = {
    check: 'coins',
    promise: 'balance = entries',
    ok: false,
    count: 1,
    examples: [{ id: 'gold/u-1', detail: '66 ≠ 60' }],
  };
  place.api.on('GET /api/v1/books', () => ({ body: { data: { ok: false, proofs: [lie] } } }));
  const { code, stderr } = await place.payctl(['audit']);
  t.is(code, 1);
  t.regex(stderr, /^coins  gold\/u-1  66 ≠ 60\n.*1 of 1 checks failed; first: coins/);
});

test('audit: every page of the ledger check is read, and their findings are merged', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const proof = (check: string, ids: string[]) => ({
    check,
    promise: `${check} hold`,
    ok: ids.length === 0,
    count: ids.length,
    examples: ids.map((id) => ({ id, detail: 'wrong' })),
  });
  const pages: Record<string, [found: string[], next: string | null]> = {
    '': [[], 'b'],
    b: [['P1', 'P2'], 'c'],
    c: [['P3'], null],
  };
  const asked: string[] = [];
  place.api.on('GET /api/v1/books', ({ query }) => {
    const cursor = query['cursor'] ?? '';
    asked.push(cursor);
    const [found, nextCursor] = pages[cursor]!;
    return {
      body: { data: { ok: found.length === 0, proofs: [proof('paid', found), proof('coins', [])], nextCursor } },
    };
  });
  const { code, stdout, stderr } = await place.payctl(['audit', '--json']);
  t.is(code, 1);
  t.deepEqual(asked, ['', 'b', 'c']);
  t.deepEqual(JSON.parse(stdout), [proof('paid', ['P1', 'P2', 'P3']), proof('coins', [])]);
  t.regex(stderr, /1 of 2 checks failed; first: paid/);
});

test('audit: the number of bills is summed over all pages, and missing bills are a note', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const proof = { check: 'bills', promise: 'bills agree', ok: true, count: 0, examples: [] };
  place.api.on('GET /api/v1/books', ({ query }) => {
    const isFirst = query['cursor'] === undefined;
    const quiet = isFirst ? ['wechat 19'] : ['alipay 2088', 'wechat 19'];
    const bills = isFirst ? { read: 7, unread: 1, quiet } : { read: 0, unread: 2, quiet };
    return { body: { data: { ok: true, proofs: [proof], bills, nextCursor: isFirst ? 'b' : null } } };
  });
  const all = { ...proof, read: 7, unread: 3, quiet: ['alipay 2088', 'wechat 19'] };
  t.deepEqual(JSON.parse((await place.payctl(['audit', '--json'])).stdout), [all]);
  const { code, stdout, stderr } = await place.payctl(['audit'], { terminal: 120 });
  t.is(code, 0);
  t.regex(stdout, /bills agree: 7 read, 3 missing/);
  t.regex(stderr, /bills: 3 are missing and were not compared; payctl bill list/);
  for (const account of ['alipay 2088', 'wechat 19'])
    t.true(stderr.includes(`bills: ${account} is quiet: unknown order numbers are not reported`), stderr);
});

test('audit: the tip is printed, and a given tip is sent with the request', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const tip = 'b'.repeat(64);
  const { code, stderr } = await place.payctl(['audit', '--tip', tip, '--accept-until', '17']);
  t.is(code, 0);
  t.regex(stderr, /audit log: 812 lines, tip a{64}/);
  t.deepEqual(place.api.seen.at(-1)?.query, { tip, acceptUntil: '17' });
  t.is((await place.payctl(['audit', '--tip', 'short'])).code, 2);
});

test('audit: the tip is stored beside the contexts, and the next run sends it automatically', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const [older, newer] = ['1'.repeat(64), '2'.repeat(64)];
  const answer = (tip: string, lines: number, broken: { id: string; detail: string }[] = []) =>
    place.api.on('GET /api/v1/books', () => {
      const count = broken.length;
      const proof = { check: 'audit-log', promise: 'whole', ok: count === 0, count, examples: broken };
      return { body: { data: { ok: count === 0, proofs: [proof], auditLog: { lines, tip }, nextCursor: null } } };
    });
  const asked = async (...flags: string[]) => {
    const { code, stderr } = await place.payctl(['audit', ...flags]);
    return { code, stderr, tip: place.api.seen.at(-1)?.query['tip'] };
  };
  answer(older, 4);
  t.like(await asked(), { code: 0, tip: undefined });
  answer(newer, 5);
  t.like(await asked(), { code: 0, tip: older });
  t.like(await asked('--tip', older), { code: 0, tip: older }, 'a given tip overrides the stored one');
  answer(older, 4, [{ id: newer, detail: 'tip_missing' }]);
  for (const run of [1, 2]) {
    const { code, tip, stderr } = await asked();
    t.deepEqual([code, tip], [1, newer], `the stored tip stays when the log lacks it: run ${run}`);
    t.regex(stderr, /unless an older backup was restored; only then: payctl audit --forget-tip$/m);
  }
  answer(older, 4);
  t.like(await asked('--forget-tip'), { code: 0, tip: undefined });
  t.like(await asked(), { code: 0, tip: older });
  answer(older, 4, [{ id: '17', detail: 'lines_lost' }]);
  t.regex((await asked()).stderr, /payctl audit --accept-until 17/);
});

test('audit: the tip and the number of lines are in the JSON, at the check of the audit log', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const proof = (check: string) => ({ check, promise: `${check} hold`, ok: true, count: 0, examples: [] });
  const auditLog = { lines: 812, tip: 'a'.repeat(64) };
  place.api.on('GET /api/v1/books', () => ({
    body: { data: { ok: true, proofs: [proof('paid'), proof('audit-log')], auditLog } },
  }));
  for (const command of ['audit', 'audit-log verify']) {
    const { stdout } = await place.payctl([...command.split(' '), '-o', 'json']);
    t.deepEqual(JSON.parse(stdout), [proof('paid'), { ...proof('audit-log'), ...auditLog }], command);
  }
  t.is((await place.payctl(['audit', '--fields', 'check,tip'])).stdout, `paid\t\naudit-log\t${auditLog.tip}\n`);
});

test('help text wraps at blanks to the width of the terminal', async (t) => {
  const { code, stdout } = await runPayctl(['doctor', '--help'], { terminal: 60, env: { NO_COLOR: '1' } });
  t.is(code, 0);
  const words = stdout.slice(0, stdout.indexOf('Examples')).trimEnd().split('\n');
  t.true(words.length > 3 && words.every((line) => line.length <= 60), stdout);
});

test('a standalone simulator prints its address as text on a terminal, and as one JSON line in a pipe', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const runSimulator: Overrides['runSimulator'] = async (_options, onReady) => onReady('http://127.0.0.1:8091');
  const start = ['simulator', 'start'];
  t.is((await place.payctl(start, { runSimulator })).stdout, '{"simulator":"http://127.0.0.1:8091"}\n');
  const { stdout } = await place.payctl(start, { runSimulator, terminal: 80 });
  t.is(stdout, '  Simulator  http://127.0.0.1:8091\n  Stop       Ctrl-C\n');
});

test('a standalone simulator serves each channel given by --root at its own address', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const asked: unknown[] = [];
  const runSimulator: Overrides['runSimulator'] = async ({ roots }) => void asked.push(roots);
  const roots = ['--root', 'wechat=127.0.0.1:8082', '--root', 'paypal=[::1]:8083'];
  t.is((await place.payctl(['simulator', 'start', ...roots], { runSimulator })).code, 0);
  t.deepEqual(asked, [{ wechat: { host: '127.0.0.1', port: 8082 }, paypal: { host: '::1', port: 8083 } }]);
  for (const wrong of ['wechat', 'wechat=8082', 'stripe=127.0.0.1:8082']) {
    const refused = await place.payctl(['simulator', 'start', '--root', wrong], { runSimulator });
    t.is(refused.code, 2, wrong);
  }
  t.is(asked.length, 1);
});

test('a standalone simulator listens on the configured address unless flags override it', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const dir = join(place.folder, 'data', 'simulator');
  const file = join(place.folder, 'pay.toml');
  // The secrets of the service are absent; simulator start must not require them.
  await writeFile(
    file,
    '[Database]\nUrl = "postgres://pay@db/pay"\n[Simulator]\nListen = "127.0.0.1:9082"\nDir = "sim"\n',
  );
  for (const [flags, env, expected] of [
    ['', {}, { listen: { host: '127.0.0.1', port: 8081 }, dir }],
    ['', { PAY_SIMULATOR_LISTEN: '[::1]:9081' }, { listen: { host: '::1', port: 9081 }, dir }],
    ['', { PAY_SIMULATOR_URL: 'http://127.0.0.1:9083' }, { listen: { host: '127.0.0.1', port: 9083 }, dir }],
    ['', { PAY_SIMULATOR_URL: 'https://sim.shop.example' }, { listen: { host: '127.0.0.1', port: 8081 }, dir }],
    [`--config ${file}`, {}, { listen: { host: '127.0.0.1', port: 9082 }, dir: join(place.folder, 'sim') }],
    [
      `--listen 127.0.0.1:1 --dir mine --config ${file}`,
      {},
      { listen: { host: '127.0.0.1', port: 1 }, dir: join(place.folder, 'mine') },
    ],
  ] as const) {
    const started: unknown[] = [];
    const runSimulator: Overrides['runSimulator'] = async (options) => void started.push(options);
    const argv = `simulator start ${flags}`.trim().split(' ');
    t.is((await place.payctl(argv, { runSimulator, env })).code, 0);
    t.deepEqual(started, [{ ...expected, roots: {} }], `${flags} ${JSON.stringify(env)}`);
  }
  const bad = await place.payctl(['simulator', 'start'], { env: { PAY_SIMULATOR_LISTEN: 'here' } });
  t.is(bad.code, 2);
  t.regex(bad.stderr, /Simulator\.Listen: must be host:port/);
});
