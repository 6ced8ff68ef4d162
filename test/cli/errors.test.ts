import test from 'ava';
import { type Place, makePlace, runPayctl, scripted } from './payctl.ts';
import { sourcesIn } from '../house/sources.ts';
import { problem } from './fakes/api.ts';

const STATUSES: [number, string, number][] = [
  [400, 'invalid_request', 1],
  [401, 'unauthorized', 4],
  [403, 'forbidden', 5],
  [404, 'not_found', 3],
  [409, 'in_use', 6],
  [422, 'refund_exceeds_refundable', 1],
  [429, 'rate_limited', 7],
  [500, 'internal', 7],
  [503, 'unavailable', 7],
  [504, 'channel_outcome_unknown', 7],
];

for (const [status, code, exit] of STATUSES) {
  test(`${status} ${code} is exit ${exit}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    place.api.on('PUT /api/v1/api-apps/app_1', () => problem(status, code, 'Words.', { orderNo: 'P1' }));
    const { code: got, stdout, stderr } = await place.payctl(['app', 'update', 'app_1', '--name', 'x', '--json']);
    t.is(got, exit);
    t.is(stdout, '');
    const { error } = JSON.parse(stderr) as { error: Record<string, unknown> };
    t.like(error, { code, status, message: 'Words.', requestId: 'req-1', exitCode: exit, orderNo: 'P1' });
  });
}

test('every command except help is refused when certificate verification is off', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  let asked = 0;
  place.api.on('GET /api/v1/orders/P1', () => {
    asked += 1;
    return problem(404, 'not_found', 'There is no such order.');
  });
  const { code, stderr } = await place.payctl(['order', 'get', 'P1'], { env });
  t.deepEqual([code, asked], [2, 0]);
  t.regex(stderr, /refuses NODE_TLS_REJECT_UNAUTHORIZED=0.*\n.*NODE_EXTRA_CA_CERTS/s);
  t.is((await place.payctl(['order', 'get', 'P1'], { env: { NODE_TLS_REJECT_UNAUTHORIZED: '1' } })).code, 3);
  t.is((await place.payctl(['order', '--help'], { env })).code, 0);
});

test('an error names the failure, the server, the request id and one next command', async (t) => {
  const place = await makePlace('prod');
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/orders/P1', () => problem(401, 'unauthorized', 'The token has ended.'));
  const { stderr } = await place.payctl(['order', 'get', 'P1']);
  t.is(
    stderr,
    `error: The token has ended.\n  on prod  ${place.api.url}  ·  unauthorized  ·  request req-1\n  next: payctl login -C prod\n`,
  );
});

test('field errors are listed', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/console/payment/pay', () =>
    problem(400, 'amount_invalid', 'The amount is wrong.', {
      errors: [{ pointer: '/amount', code: 'amount_invalid', detail: 'CNY has 2 decimals.' }],
    }),
  );
  const { code, stderr } = await place.payctl(['pay', '--subject', 'x', '--amount', '1', '--pay-way', 'alipay']);
  t.is(code, 1);
  t.regex(stderr, /\/amount {2}CNY has 2 decimals\./);
});

const PARSER: [string[], RegExp][] = [
  [['nope'], /Unknown command 'nope'/],
  [['app', 'creat'], /Unknown command 'creat'/],
  [['app', 'list', '--limti', '3'], /Unknown option '--limti'/],
  [['app', 'get'], /Missing required argument 'client_id'/],
  [['app', 'get', 'a', 'b'], /Too many arguments/],
  [['app', 'list', '--limit', 'many'], /Expected an integer from 1 to 200\./],
  [['order', 'list', '--status', 'payed'], /Allowed choices/],
  [['app'], /requires a verb/],
  [['app', 'list', '-o', 'xml'], /Allowed choices/],
];

for (const [argv, words] of PARSER) {
  test(`exit 2: payctl ${argv.join(' ')}`, async (t) => {
    const plain = await runPayctl(argv);
    t.is(plain.code, 2);
    t.regex(plain.stderr, words);
    t.is(plain.stdout, '');
  });
}

test('the parser reports errors as JSON in JSON mode', async (t) => {
  for (const argv of [
    ['--json', 'nope'],
    ['nope', '-o', 'json'],
    ['app', 'get', '-ojson'],
    ['app', 'list', '--output=jsonl', '--x'],
  ]) {
    const { code, stderr } = await runPayctl(argv);
    t.is(code, 2);
    t.is((JSON.parse(stderr) as { error: { exitCode: number } }).error.exitCode, 2, argv.join(' '));
  }
  const byEnvironment = await runPayctl(['nope'], { env: { PAYCTL_OUTPUT: 'json' } });
  t.notThrows(() => JSON.parse(byEnvironment.stderr));
});

test('an unreachable server is exit 7 with the cause instead of "fetch failed"', async (t) => {
  const place = await makePlace();
  await place.api.close();
  const { code, stderr } = await place.payctl(['app', 'list']);
  t.is(code, 7);
  t.regex(stderr, /Cannot reach http:\/\/127\.0\.0\.1:\d+: connection refused\./);
});

test('a lost response to a change is exit 7 with a hint to check the result', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('PUT /api/v1/api-apps/app_1', () => ({ text: null }));
  const { code, stderr } = await place.payctl(['app', 'update', 'app_1', '--name', 'x']);
  t.is(code, 7);
  t.regex(stderr, /check whether the change was made/);
});

test('a redirect is not followed, so the token is not sent to another host', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('GET /api/v1/api-apps', () => ({
    status: 302,
    headers: { location: 'https://evil.example/' },
    text: '',
  }));
  const { code, stderr } = await place.payctl(['app', 'list']);
  t.is(code, 1);
  t.regex(stderr, /redirects to https:\/\/evil\.example/);
});

test('a refund sends the same Idempotency-Key on every try, and the final error names it', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  let tries = 0;
  place.api.on('POST /api/v1/orders/P1/refunds', () =>
    (tries += 1) < 3 ? { text: null } : { status: 201, body: { data: { refundNo: 'R1', status: 'pending' } } },
  );
  t.is((await place.payctl(['refund', 'create', 'P1', '--amount', '1', '-y'])).code, 0);
  const keys = place.api.seen
    .filter(({ method }) => method === 'POST')
    .map(({ headers }) => headers['idempotency-key']);
  t.is(keys.length, 3);
  t.is(new Set(keys).size, 1);
  place.api.on('POST /api/v1/orders/P1/refunds', () => problem(504, 'channel_outcome_unknown', 'Silence.'));
  const failed = await place.payctl(['refund', 'create', 'P1', '--amount', '1', '-y', '--idempotency-key', 'k-1']);
  t.is(failed.code, 7);
  t.regex(failed.stderr, /--idempotency-key k-1/);
});

test('a change without an Idempotency-Key is never sent twice', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/api-apps', () => ({ text: null }));
  await place.payctl(['app', 'create', '--name', 'x', '--scope', 'payment:read', '--json']);
  t.is(place.api.seen.length, 1);
});

test('Retry-After is honoured for queries', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  let tries = 0;
  place.api.on('GET /api/v1/api-apps', () =>
    (tries += 1) === 1 ? { ...problem(503, 'busy', 'Busy.'), headers: { 'retry-after': '0' } } : { body: { data: [] } },
  );
  t.is((await place.payctl(['app', 'list'])).code, 0);
  t.is(tries, 2);
});

test('cancelling is exit 130', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const cancel = new AbortController();
  place.api.on('GET /api/v1/console/payment/query/P202611210558007K2MQX9WBT', () => {
    cancel.abort();
    return { body: { data: { status: 'pending' } } };
  });
  const { code, stderr } = await place.payctl(
    ['pay', '--subject', 'x', '--amount', '1', '--pay-way', 'alipay', '--wait'],
    { signal: cancel.signal, prompts: scripted() },
  );
  t.is(code, 130);
  t.regex(stderr, /stays open/);
});

/** The credentials of an application, which come with the name of their server. */
const merchant = ({ api }: Place) => ({
  PAYCTL_CLIENT_ID: 'app_1',
  PAYCTL_CLIENT_SECRET: 'pays_0123456789abcdef0123456789abcdef',
  PAYCTL_SERVER: api.url,
});

const CHANNEL = { channel: { payWay: 'alipay', code: 'ACQ.NO_CONTRACT', message: 'The merchant has no contract.' } };

test('a refusal of the channel is printed once, and its hint names the channel', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const refused = () =>
    problem(422, 'channel_refused', 'Refused by the channel: The merchant has no contract.', CHANNEL);
  place.api.on('POST /api/v1/console/payment/pay', refused);
  place.api.on('POST /api/v2/payment/pay', refused);
  const line = 'pay --subject Tea --amount 1 --pay-way alipay'.split(' ');
  const { stderr } = await place.payctl(line);
  t.regex(stderr, /^error: Refused by the channel: The merchant has no contract\. \(alipay ACQ\.NO_CONTRACT\)$/m);
  t.regex(stderr, /^ {2}next: payctl channel test alipay$/m);
  const other = await place.payctl(line, { env: merchant(place) });
  t.regex(other.stderr, /^ {2}next: correct what the channel reports, or offer the payer another channel$/m);
});

const FILLED: readonly [line: string, route: string, code: string, hint: string][] = [
  ['refund create P1 --amount 1 -y', 'POST /api/v1/orders/P1/refunds', 'order_not_paid', 'payctl order get P1'],
  ['refund create P1 --amount 1 -y', 'POST /api/v1/orders/P1/refunds', 'refund_in_progress', 'payctl order get P1'],
  [
    'refund create P1 --amount 1 -y',
    'POST /api/v1/orders/P1/refunds',
    'refunds_blocked',
    'payctl exception list --order P1',
  ],
  ['order close P1 -y', 'POST /api/v1/orders/P1/close', 'order_already_paid', 'payctl refund create P1'],
  [
    'pay --subject Tea --amount 1 --pay-way alipay --user-id u1',
    'POST /api/v1/console/payment/pay',
    'user_blocked',
    'payctl user enable u1',
  ],
];

for (const [line, route, code, hint] of FILLED)
  test(`the hint after ${code} can be pasted: ${hint}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    place.api.on(route, () => problem(409, code, 'Words.'));
    const { stderr } = await place.payctl([...line.split(' '), '--json']);
    t.is((JSON.parse(stderr) as { error: { hint: string } }).error.hint, hint, stderr);
  });

test('a hint repeats the server or the context of the run', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const nextOf = async (line: string, options = {}): Promise<string | undefined> =>
    /^ {2}next: (.*)$/m.exec((await place.payctl(line.split(' '), options)).stderr)?.[1];
  place.api.on('GET /api/v1/orders/P9', () => problem(404, 'not_found', 'There is no such order.'));
  const { url } = place.api;
  t.is(await nextOf('order get P9'), 'payctl order list');
  t.is(await nextOf(`--server ${url} order get P9`), `payctl order list --server ${url}`);
  t.is(await nextOf('-C dev order get P9'), 'payctl order list -C dev');
  t.is(
    await nextOf(`admin list --server ${url}`, { env: merchant(place) }),
    `unset PAYCTL_CLIENT_ID && payctl login -u alice --server ${url}`,
  );
  const gone = 'http://127.0.0.1:9';
  t.is(
    await nextOf(`login --server ${gone} -u alice --password-stdin`, { stdin: 'secret' }),
    `payctl status --server ${gone}`,
  );
  t.is(await nextOf(`status --server ${gone}`), 'payctl server start', 'a command that talks to no server');
});

test('a service that does not run: the command stands alone, and the sentence below it depends on the server', async (t) => {
  const here = await runPayctl(['status', '--server', 'http://127.0.0.1:9']);
  t.regex(
    here.stderr,
    /^ {2}next: payctl server start\n {8}The quick start of the README starts it with PAY_DEBUG=true npm start/m,
  );
  const { stderr } = await runPayctl(['status', '--server', 'http://pay.invalid', '--json']);
  const { hint } = (JSON.parse(stderr) as { error: { hint: string } }).error;
  t.regex(hint, /^payctl server start\nOn the machine of the service\. If http:\/\/pay\.invalid is the wrong address/);
});

const MEANT: readonly [line: string, hint: string][] = [
  ['ordr list', 'did you mean: payctl order list'],
  ['webhook test app_1', 'did you mean: payctl app webhook test app_1'],
  ['webhooks', 'did you mean: payctl app webhook'],
  ['order show P1', 'did you mean: payctl order get P1'],
  ['refund P202611210558007K2MQX9WBT', 'did you mean: payctl refund get P202611210558007K2MQX9WBT'],
  ['order creat', 'payctl order --help'],
  ['app webhook show app_1 -o json', 'did you mean: payctl app webhook get app_1 -o json'],
  ['order show $(id)', 'payctl order --help'],
];

for (const [line, hint] of MEANT)
  test(`an unknown command is answered with the one that was meant: ${line}`, async (t) => {
    const { code, stderr } = await runPayctl([...line.split(' '), '--json']);
    t.is(code, 2);
    const said = (JSON.parse(stderr) as { error: { hint: string } }).error.hint;
    t.is(said, hint.startsWith('did') ? `${hint} --json` : hint);
  });

test('below npx, hints and notes call payctl as npx does', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const npx = { npm_lifecycle_event: 'npx', npm_lifecycle_script: "'payctl'", npm_command: 'exec' };
  place.api.on('GET /api/v1/me', () => problem(401, 'unauthorized', 'No.'));
  const linesOf = async (env: Record<string, string>) => {
    const { stderr, stdout } = await place.payctl(['doctor', '--json', '-C', 'dev'], { env });
    const findings = JSON.parse(stdout) as { check: string; fix: string }[];
    const { hint } = (JSON.parse(stderr) as { error: { hint: string } }).error;
    const added = await place.payctl(['context', 'add', 'other', '--server', place.api.url], { env });
    await place.payctl(['context', 'remove', 'other', '-y'], { env });
    const parsed = await place.payctl(['app', 'creat'], { env });
    return [
      findings.find(({ check }) => check === 'login')?.fix,
      hint,
      /Next: (.*)$/m.exec(added.stderr)?.[1],
      /next: (.*)$/m.exec(parsed.stderr)?.[1],
    ];
  };
  const plain = [
    'payctl login -C dev',
    'payctl login -C dev',
    'payctl login -C other',
    'did you mean: payctl app create',
  ];
  t.deepEqual(await linesOf({}), plain);
  t.deepEqual(
    await linesOf(npx),
    plain.map((line) => line.replace('payctl', 'npx payctl')),
  );
  t.deepEqual(await linesOf({ ...npx, npm_lifecycle_script: 'ava' }), plain, 'npx runs another program');
});

const MISSING: readonly [line: string, hint: string | null][] = [
  ['login --server http://127.0.0.1:9', 'payctl login --server http://127.0.0.1:9 --username NAME'],
  [
    'login --server http://127.0.0.1:9 -u alice',
    'payctl login --server http://127.0.0.1:9 -u alice --password-file FILE',
  ],
  ['pay --pay-way alipay --subject Tea', 'payctl pay --pay-way alipay --subject Tea --amount AMOUNT'],
  ['refund create P1 --amount 1', 'payctl refund create P1 --amount 1 --yes'],
  ['refund create P1 --amount 1 --reason $HOME', null],
];

for (const [line, hint] of MISSING)
  test(`a missing flag is added to the command line: ${line}`, async (t) => {
    const place = await makePlace();
    t.teardown(() => place.close());
    const { code, stderr } = await place.payctl(line.split(' '));
    t.is(code, 2, stderr);
    t.is(/next: (.*)$/m.exec(stderr)?.[1] ?? null, hint, stderr);
  });

test('the name that confirms a severe change is left to the operator', async (t) => {
  const place = await makePlace('prod');
  t.teardown(() => place.close());
  const { stderr } = await place.payctl(['app', 'delete', 'app_1']);
  t.regex(stderr, /^error: --confirm app_1 is required/m);
  t.notRegex(stderr, /next:/);
});

test('an unknown flag is answered with the one that begins with it', async (t) => {
  const { stderr } = await runPayctl(['pay', '--expire', '60']);
  t.regex(stderr, /Unknown option '--expire'.*\n {2}next: did you mean --expire-seconds\?$/m);
  t.regex((await runPayctl(['pay', '--subjetc', 'Tea'])).stderr, /did you mean --subject\?$/m);
});

test('an address that does not answer like the service is named as that', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/login', () => ({ status: 404, text: 'Not Found' }));
  const line = ['login', '--server', place.api.url, '-u', 'alice', '--password-stdin'];
  const { stderr } = await place.payctl(line, { stdin: 'secret' });
  t.regex(
    stderr,
    /HTTP 404\.\n.*\n {2}next: this address does not answer like the service: it may be the port of the simulator/,
  );
});

test('no hint has angle brackets around a placeholder, or words after a command in its line', (t) => {
  const hints = sourcesIn('cli')
    .filter(({ path }) => path !== 'cli/help.ts')
    .flatMap(({ path, text }) =>
      [...text.matchAll(/['`](?:[^'`\n]*: )?(payctl [a-z-]+[^'`\n]*)['`]/g)].map(([, line = '']) => `${path}: ${line}`),
    );
  t.true(hints.length > 200);
  const faulty = hints.filter((line) => /payctl [^']*(?:<[a-z]\w*>|, (?:or|then) | \(or |; )/.test(line));
  t.deepEqual(faulty, []);
});
