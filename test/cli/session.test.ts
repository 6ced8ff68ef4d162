import { readFile, stat, writeFile } from 'node:fs/promises';
import { request as forward } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { choosePlace } from '../../cli/commands/login.ts';
import { chooseTarget } from '../../cli/settings.ts';
import { makePlace, scripted, type Place, type RunOptions } from './payctl.ts';
import { issueCertificate, newRsaKeys } from '../../server/simulator/certificates.ts';
import { TOKEN, problem, startFakeApi } from './fakes/api.ts';
import { listenOnFreePort } from '../support/free-port.ts';

/** Logs in again with the context of the last login. */
const KEPT: readonly string[] = ['kept'];

const PASSWORD = { stdin: 'correct horse battery\n' };

test('login creates a context for a new server, saves the token and prints the context', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await place.logIn([]);
  const { code, stdout } = await place.payctl(
    ['login', '--server', place.api.url, '-u', 'alice', '--password-stdin', '--json'],
    PASSWORD,
  );
  t.is(code, 0);
  t.like(JSON.parse(stdout), {
    context: 'local',
    label: 'dev',
    username: 'alice',
    expiresAt: '2026-11-22T06:05:00.000Z',
  });
  t.false(stdout.includes(TOKEN));
  t.is((await place.payctl(['whoami', '-q'])).stdout, 'alice\n');
});

test('a context without a label takes the environment of its server as the label', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const server = ['--server', place.api.url];
  const logIn = async (info: string | undefined, add: readonly string[] | undefined, ...flags: string[]) => {
    if (add !== KEPT) await place.logIn([]);
    const [environment, debug] = info?.split(' ') ?? [];
    place.api.on('GET /api/v1/info', () =>
      environment === undefined
        ? problem(403, 'second_factor_missing', 'Enrol.')
        : { body: { data: { environment, debug: debug === 'debug' } } },
    );
    if (add && add !== KEPT) t.is((await place.payctl(['context', 'add', 'here', ...server, ...add])).code, 0);
    const argv = ['login', '-C', 'here', ...server, '-u', 'alice', '--password-stdin', ...flags, '--json'];
    const { code, stdout, stderr } = await place.payctl(argv, PASSWORD);
    t.is(code, 0, stderr);
    const { label } = JSON.parse(stdout) as { label: string };
    t.is((await place.payctl(['context', 'show', 'here', '--fields', 'label'])).stdout, `${label}\n`);
    return label;
  };
  t.is(await logIn('staging', undefined), 'staging');
  t.is(await logIn('production', undefined), 'prod', 'also at a loopback address');
  t.is(await logIn('development debug', undefined), 'dev');
  t.is(await logIn('development', undefined), 'prod', 'a service without Debug may move money');
  t.is(await logIn('development debug', KEPT), 'dev', 'Debug was switched on');
  t.is(await logIn('staging', []), 'staging', 'a context that was added without a label');
  t.is(await logIn('staging', ['--label', 'prod']), 'prod', 'an explicit label stays');
  t.is(await logIn('staging', undefined, '--label', 'dev'), 'dev');
  t.is(await logIn(undefined, []), 'prod', 'the environment is unknown before the second factor is enrolled');
  t.is(await logIn('development debug', KEPT), 'dev');
});

test('an application without a label takes the mode of its service as the label', async (t) => {
  const place = await shopPlace(t);
  const me = (mode: string) => {
    const data = { client_id: 'app_1', name: 'shop', project: 'default', scopes: ['payment:write'], mode };
    place.api.on('GET /api/v2/me', () => ({ body: { data } }));
  };
  const labelAfter = async (mode: string, ...flags: string[]) => {
    me(mode);
    const { stdout } = await place.payctl([...APP_LOGIN, ...flags, '--json']);
    return (JSON.parse(stdout) as { label: string }).label;
  };
  t.is(await labelAfter('test'), 'dev');
  t.is(await labelAfter('live'), 'prod');
  t.is(await labelAfter('test'), 'dev');
  t.is(await labelAfter('live', '--label', 'dev'), 'dev');
});

test('a refund at a local server asks the service before it counts as dev', async (t) => {
  const place = await shopPlace(t);
  const env = {
    PAYCTL_CLIENT_ID: 'app_1',
    PAYCTL_CLIENT_SECRET: 'pays_0123456789abcdef0123456789abcdef',
    PAYCTL_SERVER: place.api.url,
    PAYCTL_CONFIG_DIR: '/nonexistent',
  };
  const refund = async (mode: string) => {
    place.api.on('GET /api/v2/me', () => ({ body: { data: { client_id: 'app_1', mode } } }));
    return place.payctl(['refund', 'create', 'P1', '--amount', '1', '-y'], { env });
  };
  t.is((await refund('test')).code, 0);
  const live = await refund('live');
  t.is(live.code, 2);
  t.regex(live.stderr, /--confirm P1 is required/);
});

test('login on a terminal prompts for the username and the hidden password', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const prompts = scripted({ '--username': 'alice' }, 'correct horse battery');
  await place.logIn([]);
  t.is((await place.payctl(['login', '--server', place.api.url], { prompts })).code, 0);
  t.deepEqual(prompts.asked, ['Username', 'Password for alice']);
});

test('a password is not sent unencrypted to another machine', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { code, stderr } = await place.payctl(
    ['login', '--server', 'http://pay.example.com', '-u', 'alice', '--password-stdin'],
    PASSWORD,
  );
  t.is(code, 2);
  t.regex(stderr, /would be sent unencrypted/);
});

test('no credential is sent to another machine over plain HTTP without --allow-http, which the context stores', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(join(place.folder, 'shop.secret'), 'pays_x');
  // Not a loopback address for payctl, but it reaches the fake service.
  const server = place.api.url.replace('127.0.0.1', '0.0.0.0');
  const token = { PAYCTL_TOKEN: TOKEN, PAYCTL_SERVER: server };
  const secret = { PAYCTL_CLIENT_ID: 'app_1', PAYCTL_CLIENT_SECRET: 'pays_x' };
  place.api.on('POST /oauth/token', () => ({ body: { access_token: 'a', expires_in: 60 } }));
  place.api.on('GET /api/v2/me', () => ({ body: { data: { name: 'shop' } } }));
  const ways: [argv: string[], options: RunOptions][] = [
    [['login', '-u', 'alice', '--password-stdin'], PASSWORD],
    [['app', 'list'], { env: token }],
    [['event', 'listen', '--count', '1'], { env: token }],
    [['api', '/api/v2/me', '--app', 'app_1', '--secret-file', 'shop.secret'], {}],
    [['mcp'], { env: secret }],
    [['order', 'get', 'P1'], { env: secret }],
    [['login', '--client-id', 'app_1', '--client-secret-file', 'shop.secret'], {}],
  ];
  for (const [argv, options] of ways) {
    const { code, stderr } = await place.payctl([...argv, '--server', server, '--json'], options);
    t.is(code, 2, argv.join(' '));
    t.like(JSON.parse(stderr.trim().split('\n').at(-1) ?? ''), { error: { code: 'not_encrypted' } }, argv.join(' '));
    t.deepEqual(place.api.seen, [], argv.join(' '));
  }
  for (const [argv, options] of ways.filter(([argv]) => argv[0] !== 'event' && argv[0] !== 'login')) {
    const { code, stderr } = await place.payctl([...argv, '--server', server, '--allow-http'], options);
    t.is(code, 0, `${argv.join(' ')}: ${stderr}`);
  }
  t.is((await place.payctl(['status', '--server', server])).code, 0, 'a command without credentials is not refused');
  const login = ['login', '-C', 'far', '--server', server, '-u', 'alice', '--password-stdin'];
  t.is((await place.payctl([...login, '--allow-http'], PASSWORD)).code, 0);
  t.is((await place.payctl(['whoami', '-q', '-C', 'far'])).stdout, 'alice\n');
  t.is((await place.payctl(login, PASSWORD)).code, 0, 'another login at the same context');
  t.is((await place.payctl(['whoami', '-q', '-C', 'far'])).stdout, 'alice\n');
  t.like(JSON.parse((await place.payctl(['context', 'show', 'far', '--json'])).stdout), { allowHttp: true });
});

test('a wrong password is exit 4 and saves nothing', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await place.logIn([]);
  place.api.on('POST /api/v1/login', () => problem(401, 'login_failed', 'The name or the password is wrong.'));
  t.is((await place.payctl(['login', '--server', place.api.url, '-u', 'alice', '--password-stdin'], PASSWORD)).code, 4);
  t.deepEqual(JSON.parse(await readFile(join(place.folder, 'contexts.json'), 'utf8')), { current: null, contexts: {} });
});

test('logout ends the session at the server and deletes the token, even an expired one', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/logout', () => problem(401, 'unauthorized', 'Dead already.'));
  t.is((await place.payctl(['logout'])).code, 0);
  t.is((await place.payctl(['app', 'list'])).code, 4);
});

test('logout --local sends no request', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is((await place.payctl(['logout', '--local'])).code, 0);
  t.deepEqual(place.api.seen, []);
});

test('a token is sent only to the origin that issued it', async (t) => {
  const [place, other] = [await makePlace(), await startFakeApi()];
  t.teardown(() => Promise.all([place.close(), other.close()]));
  t.is((await place.payctl(['app', 'list', '--server', other.url])).code, 4);
  t.deepEqual(other.seen, []);
  const env = { PAYCTL_TOKEN: TOKEN };
  t.is((await place.payctl(['app', 'list'], { env })).code, 2, 'a token without its server');
  t.is(
    (await place.payctl(['app', 'list', '--server', other.url], { env: { ...env, PAYCTL_SERVER: place.api.url } }))
      .code,
    4,
  );
  t.deepEqual(other.seen, []);
  t.is((await place.payctl(['app', 'list'], { env: { ...env, PAYCTL_SERVER: place.api.url } })).code, 0);
});

test('an expired login is reported before any request is sent', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { code, stderr } = await place.payctl(['app', 'list'], { now: () => new Date('2027-01-01T00:00:00Z') });
  t.is(code, 4);
  t.regex(stderr, /has expired[\s\S]*next: payctl login -C dev/);
  t.deepEqual(place.api.seen, []);
});

test('contexts are added, listed, selected, shown and removed', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is(
    (await place.payctl(['context', 'add', 'prod', '--server', 'https://pay.example.com', '--user', 'alice'])).code,
    0,
  );
  t.is((await place.payctl(['context', 'add', 'prod', '--server', 'https://pay.example.com'])).code, 6);
  t.is((await place.payctl(['context', 'add', 'a b', '--server', 'https://pay.example.com'])).code, 2);
  t.is((await place.payctl(['context', 'list', '--fields', 'name,label'])).stdout, 'dev\tdev\nprod\tprod\n');
  t.is((await place.payctl(['context', 'use', 'nope'])).code, 2);
  t.is((await place.payctl(['context', 'use', 'prod'])).code, 0);
  t.is((await place.payctl(['context', 'show', '-q'])).stdout, 'prod\n');
  t.is((await place.payctl(['context', 'remove', 'prod'])).code, 2, 'requires confirmation');
  t.is((await place.payctl(['context', 'remove', 'prod', '-y'])).code, 0);
  t.is((await place.payctl(['context', 'list', '-q'])).stdout, 'dev\n');
});

test('config explain names every source, and no token', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { stdout } = await place.payctl(['config', 'explain', '--json'], { env: { PAYCTL_TIMEOUT: '7' } });
  const rows = JSON.parse(stdout) as { setting: string; value: unknown; source: string }[];
  const source = (name: string): string | undefined => rows.find((row) => row.setting === name)?.source;
  t.deepEqual(['context', 'server', 'token', 'timeout', 'folder'].map(source), [
    'current context',
    'context dev',
    'context dev',
    'PAYCTL_TIMEOUT',
    'PAYCTL_CONFIG_DIR',
  ]);
  t.false(stdout.includes(TOKEN));
});

test('a certificate of a private authority is refused with a hint to trust it; the context stores the --ca-file', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const [root, own] = await Promise.all([newRsaKeys(), newRsaKeys()]);
  const issuer = { C: 'CN', O: 'Shop', OU: 'Pay', CN: 'Authority' };
  const signed = { issuer, signer: root.privateKey };
  const authority = issueCertificate({ ...signed, subject: issuer, publicKey: root.publicKey, ca: true });
  const subject = { ...issuer, CN: 'localhost' };
  const cert = issueCertificate({ ...signed, subject, publicKey: own.publicKey, ca: false });
  await writeFile(join(place.folder, 'ca.pem'), authority);
  const key = own.privateKey.export({ type: 'pkcs8', format: 'pem' });
  const front = createServer({ key, cert }, (request, response) => {
    const { method, headers, url = '' } = request;
    const behind = forward(new URL(url, place.api.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    request.pipe(behind);
  });
  const server = `https://localhost:${await listenOnFreePort(front)}`;
  t.teardown(() => void front.close());
  const login = ['login', '-C', 'own', '--server', server, '-u', 'alice', '--password-stdin'];
  const refused = await place.payctl([...login, '--json'], PASSWORD);
  t.is(refused.code, 7);
  t.like(JSON.parse(refused.stderr.trim().split('\n').at(-1) ?? ''), {
    error: { hint: 'give the CA certificate of the server with --ca-file FILE or NODE_EXTRA_CA_CERTS' },
  });
  t.is((await place.payctl([...login, '--ca-file', 'gone.pem'], PASSWORD)).code, 2);
  t.deepEqual(place.api.seen, []);
  t.is((await place.payctl([...login, '--ca-file', 'ca.pem'], PASSWORD)).code, 0);
  // The saved path must not depend on the working folder.
  t.is((await place.payctl(['whoami', '-q', '-C', 'own'], { cwd: '/' })).stdout, 'alice\n');
  t.like(JSON.parse((await place.payctl(['context', 'show', 'own', '--json'])).stdout), {
    caFile: join(place.folder, 'ca.pem'),
  });
  const added = ['context', 'add', 'more', '--server', server, '--ca-file', 'ca.pem', '--json'];
  t.like(JSON.parse((await place.payctl(added)).stdout), { caFile: join(place.folder, 'ca.pem') });
});

const APP_LOGIN = ['login', '--client-id', 'app_1', '--client-secret-file', 'shop.secret'];

/** A place where an administrator is logged in, with the file of an application's secret. */
async function shopPlace(t: ExecutionContext): Promise<Place> {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(join(place.folder, 'shop.secret'), 'pays_x\n');
  let given = 0;
  place.api.on('POST /oauth/token', () => ({ body: { access_token: `token-${(given += 1)}`, expires_in: 3600 } }));
  return place;
}

const tokensGiven = ({ api }: Place) => api.seen.filter(({ path }) => path === '/oauth/token').length;
const lastToken = ({ api }: Place) => api.seen.at(-1)?.headers['authorization'];

test('an application logs in beside an administrator, and its secret and token are in private files only', async (t) => {
  const place = await shopPlace(t);
  const { code, stdout, stderr } = await place.payctl([...APP_LOGIN, '--json']);
  t.is(code, 0, stderr);
  const { context } = JSON.parse(stdout) as { context: string };
  t.not(context, 'dev');
  t.like(JSON.parse(stdout), { client_id: 'app_1', name: 'shop', project: 'default', scopes: ['payment:read'] });
  t.false(`${stdout}${stderr}`.includes('pays_x'));
  t.is((await stat(join(place.folder, 'credentials.json'))).mode & 0o777, 0o600);
  t.false((await readFile(join(place.folder, 'contexts.json'), 'utf8')).includes('pays_x'));
  t.is((await place.payctl(['whoami', '-q'])).stdout, 'app_1\n', 'the new context is the current one');
  t.is((await place.payctl(['whoami', '-q', '-C', 'dev'])).stdout, 'alice\n');
  t.regex((await place.payctl(['mcp'])).stderr, /Serving MCP as shop/);
  t.is((await place.payctl(['app', 'list'])).code, 5);
  const admin = ['login', '-u', 'alice', '--password-stdin'];
  t.is((await place.payctl(admin, PASSWORD)).code, 0, 'the hint of the refused command works');
  t.is((await place.payctl(['whoami', '-q', '-C', 'dev'])).stdout, 'alice\n');
  t.is((await place.payctl([...APP_LOGIN, '-C', 'dev'])).code, 2, 'no session is overwritten by the other kind');
  t.is((await place.payctl([...admin, '-C', context], PASSWORD)).code, 2);
  t.is((await place.payctl([...APP_LOGIN, '-u', 'alice'])).code, 2);
  const prompts = scripted({ '--client-secret-file': 'pays_y' });
  t.is((await place.payctl(['login', '-C', context], { prompts })).code, 0, 'the context knows its application');
  t.deepEqual(prompts.asked, ['Secret of app_1']);
  t.is((await place.payctl(['login', '--client-id', 'app_1'])).code, 2, 'no terminal for the secret');
});

const SECRET_FILES: readonly [name: string, text: string][] = [
  ['-o env', 'CLIENT_ID=app_1\nCLIENT_SECRET=pays_x\n'],
  ['variables of payctl', "# the shop\r\nexport PAYCTL_CLIENT_ID='app_1'\r\nexport PAYCTL_CLIENT_SECRET='pays_x'\r\n"],
  ['-o json', '{\n  "client_id": "app_1",\n  "client_secret": "pays_x"\n}\n'],
];

for (const [name, text] of SECRET_FILES)
  test(`the secret file of an application may be the output of app create: ${name}`, async (t) => {
    const place = await shopPlace(t);
    await writeFile(join(place.folder, 'shop.env'), text);
    const sent = () => place.api.seen.findLast(({ path }) => path === '/oauth/token')?.headers['authorization'] ?? '';
    const decoded = () => Buffer.from(sent().replace('Basic ', ''), 'base64').toString();
    const done = await place.payctl([
      'login',
      '--client-secret-file',
      'shop.env',
      '-C',
      'shop',
      '--server',
      place.api.url,
    ]);
    t.is(done.code, 0, done.stderr);
    t.is(decoded(), 'app_1:pays_x', 'the id is the one of the file');
    t.is((await place.payctl([...APP_LOGIN.slice(0, 3), '--client-secret-file', 'shop.env'])).code, 0);
    const api = await place.payctl(['api', '/api/v2/me', '--app', 'app_1', '--secret-file', 'shop.env']);
    t.is(api.code, 0, api.stderr);
    const env = { PAYCTL_CLIENT_ID: 'app_1', PAYCTL_CLIENT_SECRET_FILE: 'shop.env', PAYCTL_SERVER: place.api.url };
    t.is((await place.payctl(['order', 'get', 'P1'], { env })).code, 0);
    t.is(decoded(), 'app_1:pays_x');
    const before = tokensGiven(place);
    const other = await place.payctl(['login', '--client-id', 'app_2', '--client-secret-file', 'shop.env']);
    t.is(other.code, 2);
    t.regex(other.stderr, /shop\.env has the secret of app_1, not of app_2\./);
    t.false(`${done.stderr}${other.stderr}`.includes('pays_x'));
    t.is(tokensGiven(place), before);
  });

test('a missing secret file is named, with the commands that make it', async (t) => {
  const place = await shopPlace(t);
  const { code, stderr } = await place.payctl(['login', '--client-id', 'app_1', '--client-secret-file', 'no.secret']);
  t.is(code, 2);
  t.regex(stderr, /^error: The file no\.secret does not exist\.\n/m);
  t.regex(
    stderr,
    /next: payctl app create --secret-file no\.secret\n.*: payctl app rotate-secret app_1 --secret-file no\.secret$/m,
  );
  const password = await place.payctl(['login', '-u', 'alice', '--password-file', 'no.password']);
  t.is(password.code, 2);
  t.regex(password.stderr, /^error: The file no\.password does not exist\.\n/m);
});

test('a wrong secret is exit 4 and saves nothing', async (t) => {
  const place = await shopPlace(t);
  const before = await readFile(join(place.folder, 'contexts.json'), 'utf8');
  place.api.on('POST /oauth/token', () => problem(401, 'invalid_client', 'The client credentials are wrong.'));
  const { code, stderr } = await place.payctl(APP_LOGIN);
  t.is(code, 4);
  t.regex(stderr, /next: check the client id and the secret/);
  t.is(await readFile(join(place.folder, 'contexts.json'), 'utf8'), before);
});

test('the token of an application is kept, and renewed before its end, after a 401 and for a new scope', async (t) => {
  const place = await shopPlace(t);
  t.is((await place.payctl(APP_LOGIN)).code, 0);
  const get = (now?: Date) => place.payctl(['order', 'get', 'P1'], now ? { now: () => now } : {});
  t.is((await get()).code, 0);
  t.is((await get()).code, 0);
  t.is(tokensGiven(place), 1);
  t.is((await get(new Date('2026-11-21T07:04:45.000Z'))).code, 0);
  t.is(lastToken(place), 'Bearer token-2');
  t.is((await get(new Date('2026-11-21T07:05:30.000Z'))).code, 0);
  t.is(tokensGiven(place), 2, 'the new token is kept');
  t.regex((await place.payctl(['context', 'list', '--fields', 'user'])).stdout, /^app_1$/m);
  for (const refusal of [
    problem(401, 'unauthenticated', 'The token was revoked.'),
    problem(403, 'insufficient_scope', 'The scope payment:read is required.'),
  ]) {
    const stale = lastToken(place);
    place.api.on('GET /api/v2/payment/query/P1', ({ headers }) =>
      headers['authorization'] === stale ? refusal : { body: { data: { orderNo: 'P1' } } },
    );
    const { code, stderr } = await get(new Date('2026-11-21T07:05:30.000Z'));
    t.is(code, 0, stderr);
  }
  t.is(tokensGiven(place), 4);
});

test('logout revokes the token of an application and removes its secret', async (t) => {
  const place = await shopPlace(t);
  t.is((await place.payctl(APP_LOGIN)).code, 0);
  t.is((await place.payctl(['logout', '--everywhere'])).code, 2);
  t.is((await place.payctl(['logout', '--dry-run'])).code, 0);
  t.false(place.api.seen.some(({ path }) => path === '/oauth/revoke'));
  t.is((await place.payctl(['logout'])).code, 0);
  t.like(place.api.seen.at(-1), { path: '/oauth/revoke', body: { token: 'token-1' } });
  t.false((await readFile(join(place.folder, 'credentials.json'), 'utf8')).includes('pays_x'));
  t.is((await place.payctl(['order', 'get', 'P1'])).code, 4);
  t.is((await place.payctl(['whoami', '-q', '-C', 'dev'])).stdout, 'alice\n', 'the administrator stays logged in');
});

test('logout ends the session of PAYCTL_TOKEN, and the login that the context stores stays', async (t) => {
  const place = await shopPlace(t);
  t.is((await place.payctl(APP_LOGIN)).code, 0);
  const stored = () => readFile(join(place.folder, 'credentials.json'), 'utf8');
  const before = await stored();
  const env = { PAYCTL_TOKEN: 'token-of-the-environment', PAYCTL_SERVER: place.api.url };
  place.api.on('POST /api/v1/logout', () => ({ body: { data: { loggedOut: true } } }));
  for (const context of [[], ['-C', 'dev']]) {
    place.api.seen.length = 0;
    t.is((await place.payctl(['logout', '--dry-run', ...context], { env })).code, 0);
    t.deepEqual(place.api.seen, []);
    const { code, stderr } = await place.payctl(['logout', '--everywhere', ...context], { env });
    t.is(code, 0, stderr);
    t.deepEqual(
      place.api.seen.map(({ method, path }) => `${method} ${path}`),
      ['POST /api/v1/logout'],
    );
    t.is(lastToken(place), 'Bearer token-of-the-environment');
    t.deepEqual(place.api.seen[0]?.body, { everywhere: true });
    t.regex(stderr, /Ended the session of the token in the environment\. The login of \S+ stays/);
    t.is(await stored(), before);
  }
  place.api.on('POST /api/v1/logout', () => problem(401, 'unauthenticated', 'Dead already.'));
  t.is((await place.payctl(['logout'], { env })).code, 0);
  t.is((await place.payctl(['logout', '--everywhere'], { env })).code, 4, 'the other sessions are still valid');
  t.is((await place.payctl(['logout'], { env: { ...env, PAYCTL_SERVER: 'http://127.0.0.1:1' } })).code, 7);
  t.is((await place.payctl(['logout', '--local'], { env })).code, 0);
  t.false((await stored()).includes('pays_x'), '--local deletes what the context stores');
});

test('the list of contexts says that the login of an application renews itself', async (t) => {
  const place = await shopPlace(t);
  t.is((await place.payctl([...APP_LOGIN, '-C', 'shop', '--server', place.api.url])).code, 0);
  await place.payctl(['context', 'add', 'empty', '--server', 'https://pay.example.com']);
  const { stdout } = await place.payctl(['context', 'list', '--json']);
  t.deepEqual(
    (JSON.parse(stdout) as { name: string; loginExpiresAt: string | null; loginRenews: boolean | null }[]).map(
      ({ name, loginExpiresAt, loginRenews }) => [name, loginExpiresAt, loginRenews],
    ),
    [
      ['dev', '2026-11-22T06:00:00.000Z', false],
      ['empty', null, null],
      ['shop', '2026-11-21T07:05:00.000Z', true],
    ],
  );
  const table = await place.payctl(['context', 'list', '--color', 'never'], { terminal: 160 });
  t.regex(table.stdout, /^NAME .* RENEWS$/m);
  t.regex(table.stdout, /^shop .* yes$/m);
});

test('a server with a default port keeps the logins of an application and of an administrator', async (t) => {
  const place = await shopPlace(t);
  const { clientId, user } = { clientId: 'app_1', user: 'alice' };
  const server = 'https://pay.example.com';
  await writeFile(
    join(place.folder, 'contexts.json'),
    JSON.stringify({ current: null, contexts: { 'pay.example.com': { server, label: 'prod', clientId } } }),
  );
  const known = JSON.parse(await readFile(join(place.folder, 'contexts.json'), 'utf8'));
  const setting = { flags: { server }, terminal: { env: {} } };
  const named = choosePlace(setting, known, undefined);
  t.like(named, { name: 'pay.example.com-admin', isNew: true });
  known.contexts[named.name] = { ...named.saved, user };
  t.is(choosePlace(setting, known, undefined).name, named.name);
  const other = choosePlace(setting, known, 'app_2');
  t.is(other.name, 'pay.example.com-app_2');
  t.is(chooseTarget({ server }, {}, known).context, named.name, 'without -C the administrator acts');
});

test('a process that renews its token does not bring back a login that was ended or replaced', async (t) => {
  const place = await shopPlace(t);
  const stored = async () => JSON.parse(await readFile(join(place.folder, 'credentials.json'), 'utf8')).sessions;
  const { context } = JSON.parse((await place.payctl([...APP_LOGIN, '--json'])).stdout) as { context: string };
  // The other process acts while this one waits for its new token.
  const renewDuring = async (work: () => Promise<unknown>) => {
    let given = 0;
    place.api.on('POST /oauth/token', async () => {
      if ((given += 1) === 1) await work();
      return { body: { access_token: 'token-late', expires_in: 3600 } };
    });
    const now = () => new Date('2026-11-21T07:04:45.000Z');
    return place.payctl(['order', 'get', 'P1', '-C', context], { now });
  };
  t.is((await renewDuring(() => place.payctl(['logout', '-C', context]))).code, 0);
  t.is((await stored())[context], undefined);
  await writeFile(join(place.folder, 'other.secret'), 'pays_new\n');
  t.is((await place.payctl([...APP_LOGIN, '-C', context])).code, 0);
  const rotated = ['login', '-C', context, '--client-secret-file', 'other.secret'];
  t.is((await renewDuring(() => place.payctl(rotated))).code, 0);
  t.is((await stored())[context].app.secret, 'pays_new');
});

test('flags come before the environment, and the environment before the context', async (t) => {
  const place = await shopPlace(t);
  const other = await startFakeApi();
  t.teardown(() => other.close());
  const who = async (env: Record<string, string>, ...flags: string[]) => {
    const { code, stderr } = await place.payctl(['skillpay', 'get', 'X1', ...flags], { env });
    t.is(code, 0, stderr);
    const basic = place.api.seen.findLast(({ path }) => path === '/oauth/token')?.headers['authorization'] ?? '';
    return Buffer.from(basic.replace('Basic ', ''), 'base64').toString().split(':')[0];
  };
  const env = { PAYCTL_CLIENT_ID: 'app_env', PAYCTL_CLIENT_SECRET_FILE: 'shop.secret', PAYCTL_SERVER: place.api.url };
  t.is((await place.payctl(APP_LOGIN)).code, 0);
  t.is(await who({}), 'app_1');
  t.is(await who(env), 'app_env');
  t.is(await who(env, '--app', 'app_flag', '--secret-file', 'shop.secret'), 'app_flag');
  const { PAYCTL_SERVER: _server, ...bare } = env;
  t.is(await who(bare, '--server', place.api.url), 'app_env', '--server names the server of the secret');
  const seen = place.api.seen.length;
  const refused = async (env: Record<string, string>, wanted: string, ...flags: string[]) => {
    const { code, stderr } = await place.payctl(['order', 'get', 'P1', '--json', ...flags], { env });
    t.is(code, 2, wanted);
    t.like(JSON.parse(stderr), { error: { code: wanted } });
  };
  await refused({ ...env, PAYCTL_TOKEN: TOKEN }, 'credentials_mixed');
  await refused(bare, 'secret_without_server');
  await refused(bare, 'secret_without_server', '-C', 'dev');
  await refused(env, 'secret_of_another_server', '--server', other.url);
  await refused({ PAYCTL_TOKEN: TOKEN }, 'token_without_server', '-C', 'dev');
  await refused({ PAYCTL_CLIENT_ID: 'app_1', PAYCTL_SERVER: place.api.url }, 'usage');
  const mcp = async (env: Record<string, string>, ...flags: string[]) =>
    (await place.payctl(['mcp', ...flags], { env })).code;
  t.is(await mcp(bare, '-C', 'dev'), 2);
  const { PAYCTL_CLIENT_ID: _id, ...secret } = bare;
  t.is(await mcp(secret, '-C', 'dev', '--client-id', 'app_flag'), 2);
  t.is(await mcp({}, '--client-secret-file', 'shop.secret'), 2, 'the stored login has its own secret');
  t.deepEqual([place.api.seen.length, other.seen.length], [seen, 0], 'nothing was sent');
});

test('config explain names the application, and no secret', async (t) => {
  const place = await shopPlace(t);
  const read = async (env: Record<string, string> = {}) => {
    const { stdout } = await place.payctl(['config', 'explain', '--json'], { env });
    t.false(/pays_x|token-1/.test(stdout));
    return (JSON.parse(stdout) as { setting: string; value: unknown; source: string }[]).filter(({ setting }) =>
      ['user', 'token'].includes(setting),
    );
  };
  t.is((await place.payctl([...APP_LOGIN, '-C', 'shop', '--server', place.api.url])).code, 0);
  t.deepEqual(await read(), [
    { setting: 'user', value: 'app_1', source: 'context shop' },
    { setting: 'token', value: 'until 2026-11-21T07:05:00.000Z, then renewed', source: 'context shop' },
  ]);
  const env = { PAYCTL_CLIENT_ID: 'app_env', PAYCTL_CLIENT_SECRET: 'pays_x', PAYCTL_SERVER: place.api.url };
  t.deepEqual(await read(env), [
    { setting: 'user', value: 'app_env', source: 'PAYCTL_CLIENT_ID' },
    { setting: 'token', value: 'requested when needed', source: 'PAYCTL_CLIENT_ID' },
  ]);
});
