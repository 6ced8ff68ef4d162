import test from 'ava';
import { SignJWT } from 'jose';
import { createSecretKey } from 'node:crypto';
import { deriveKeys } from '../../server/identity/tokens.ts';
import { alice, identityApp } from '../support/identity-app.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes, refused } from '../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin } = file;
const app = await identityApp(file);
coverRoutes(test, file, {
  login_busy: 'needs more logins at once than an instance checks: test/unit/identity/gate.test.ts',
});

test.serial('login returns a token and sets both cookies as the contract states', async (t) => {
  const app = await identityApp(t, { publicUrl: 'https://pay.example.com' });
  const { status, headers, body } = await app.call('POST', '/api/v1/login', { body: alice });
  t.is(status, 200);
  t.like(body.data, { tokenType: 'Bearer', expiresIn: 86_400, username: 'alice', role: 'admin' });
  t.is(headers.get('cache-control'), 'no-store');
  const [auth = '', csrf = ''] = headers.getSetCookie();
  t.regex(auth, /^auth_token=[^;]+;/);
  for (const part of ['path=/', 'samesite=strict', 'secure', 'httponly']) t.true(auth.toLowerCase().includes(part));
  t.regex(csrf, /^csrf_token=[^;]+;/);
  t.false(csrf.toLowerCase().includes('httponly'));
  const me = await app.call('GET', '/api/v1/me', { token: body.data.token });
  t.like(me.body.data, { username: 'alice', role: 'admin' });
});

test.serial('an unknown name, a wrong password and a disabled account get the same answer', async (t) => {
  const admin = await app.login();
  const body = { username: 'bob', password: 'nine-tidy-green-anchors', role: 'viewer' };
  const bob = await app.call('POST', '/api/v1/admins', { token: admin, body });
  await app.call('PUT', `/api/v1/admins/${bob.body.data.id}/toggle`, { token: admin, body: { enabled: false } });
  const attempts = [
    { username: 'nobody', password: 'whatever-it-may-be-1' },
    { username: 'alice', password: 'whatever-it-may-be-1' },
    { username: 'bob', password: 'nine-tidy-green-anchors' },
  ];
  const answers = [];
  for (const attempt of attempts) answers.push(await app.call('POST', '/api/v1/login', { body: attempt }));
  const shown = answers.map(({ status, body }) => ({ status, ...body, requestId: '' }));
  t.is(shown[0]?.status, 401);
  t.deepEqual(shown[1], shown[0]);
  t.deepEqual(shown[2], shown[0]);
});

test.serial(
  'failed logins are in the audit log, a bounded number per address, and the entered name is logged only if the account exists',
  async (t) => {
    const app = await identityApp(t);
    const lines = () =>
      app.on.store.read((tx) => tx.audit.list({ action: 'admin.login_failed' }, { orderBy: { id: 'asc' } }));
    const tryName = (username: string) =>
      app.call('POST', '/api/v1/login', { body: { username, password: 'whatever-it-may-be-1' } });
    // A password entered in the wrong field.
    for (const name of ['Alice', 'My-Password-1', 'my-password-1', 'my-password-2']) await tryName(name);
    const [account, first, again, other] = await lines();
    t.like(account, { actorKind: 'system', actor: 'login', target: 'alice', after: null });
    t.truthy(account?.ip);
    t.truthy(account?.requestId);
    t.regex(first?.target ?? '', /^unknown [\w-]{22}$/);
    t.is(again?.target, first?.target, 'the same name has the same fingerprint');
    t.not(other?.target, first?.target);
    const written = await app.on.store.read(
      (tx) => tx.sql<{ text: string }>`select audit_log::text as text from audit_log`,
    );
    t.deepEqual(
      written.filter(({ text }) => /my-password/i.test(text)),
      [],
    );
    const count = 25;
    for (let n = 0; n < count; n++)
      await app.call('POST', '/api/v1/login', { body: { username: `guess-${n}`, password: 'whatever-it-may-be-1' } });
    t.is((await lines()).length, 20);
  },
);

test.serial(
  'before the first administrator exists login is 503 with instructions, and no default account works',
  async (t) => {
    const app = await identityApp(t, { bootstrapped: false });
    const { status, body, headers } = await app.call('POST', '/api/v1/login', {
      body: { username: 'admin', password: 'admin' },
    });
    t.is(status, 503);
    t.is(body.code, 'not_bootstrapped');
    t.regex(body.hint, /payctl bootstrap admin/);
    t.truthy(headers.get('retry-after'));
  },
);

test.serial('invalid bodies are rejected before anything is looked up', async (t) => {
  const bodies = [
    { username: { $ne: 'x' }, password: 'x' },
    { username: ['alice'], password: alice.password },
    { username: 'alice' },
    { username: 'alice', password: 'x'.repeat(1025) },
    { username: 'ali\u0000ce', password: 'x' },
    [],
    'null',
  ];
  for (const body of bodies) {
    const answer = await app.call('POST', '/api/v1/login', { body });
    t.is(answer.status, 400, JSON.stringify(body).slice(0, 60));
  }
  const form = new URLSearchParams(alice);
  t.is((await app.call('POST', '/api/v1/login', { body: form })).status, 415);
});

test.serial('login from another site is rejected, and Origin is checked only without Sec-Fetch-Site', async (t) => {
  const login = (headers: Record<string, string>) => app.call('POST', '/api/v1/login', { body: alice, headers });
  t.is((await login({ 'sec-fetch-site': 'cross-site' })).body.code, 'csrf_failed');
  t.is((await login({ origin: 'https://evil.example' })).status, 403);
  t.is((await login({ origin: 'http://127.0.0.1:8080' })).status, 200);
  t.is((await login({ 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' })).status, 200);
});

test.serial(
  'a cookie session needs its own csrf value; a header session does not; an invalid header is not replaced by the cookie',
  async (t) => {
    const session = async () => {
      const { headers, body } = await app.call('POST', '/api/v1/login', { body: alice });
      const [auth = '', csrf = ''] = headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '');
      return { auth, csrf, value: csrf.slice('csrf_token='.length), token: body.data.token as string };
    };
    const one = await session();
    const two = await session();
    const body = { name: 'shop', scopes: ['payment:read'] };
    const create = (headers: Record<string, string>) => app.call('POST', '/api/v1/api-apps', { body, headers });
    const cookie = `${one.auth}; ${one.csrf}`;
    t.is((await app.call('GET', '/api/v1/me', { headers: { cookie } })).status, 200);
    t.is((await create({ cookie })).body.code, 'csrf_failed');
    t.is((await create({ cookie, 'x-csrf-token': 'wrong' })).status, 403);
    t.is((await create({ cookie: `${one.auth}; ${two.csrf}`, 'x-csrf-token': two.value })).status, 403);
    t.is((await create({ cookie: `${cookie}; ${two.csrf}`, 'x-csrf-token': two.value })).status, 403);
    t.is((await create({ cookie: `${cookie}; ${two.auth}`, 'x-csrf-token': one.value })).status, 403);
    t.is((await create({ cookie, 'x-csrf-token': one.value, 'sec-fetch-site': 'same-site' })).status, 403);
    t.is((await create({ cookie, 'x-csrf-token': one.value })).status, 201);
    t.is((await create({ authorization: `Bearer ${one.token}` })).status, 201);
    const rescued = await create({ cookie, 'x-csrf-token': one.value, authorization: 'Bearer nonsense' });
    t.is(rescued.status, 401);
    t.is(rescued.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  },
);

test.serial('logout ends this session immediately, and logging out everywhere ends all of them', async (t) => {
  const [one, two, three] = [await app.login(), await app.login(), await app.login()];
  const answer = await app.call('POST', '/api/v1/logout', { token: one });
  t.deepEqual(answer.body.data, { loggedOut: true });
  t.true(answer.headers.getSetCookie().every((cookie) => /=;.*expires=Thu, 01 Jan 1970/i.test(cookie)));
  t.is((await app.call('GET', '/api/v1/me', { token: one })).status, 401);
  t.is((await app.call('GET', '/api/v1/me', { token: two })).status, 200);
  await app.call('POST', '/api/v1/logout', { token: two, body: { everywhere: true } });
  t.is((await app.call('GET', '/api/v1/me', { token: three })).status, 401);
});

test.serial(
  'wrong administrator tokens are 401: other alg, typ, aud, iss, key, missing exp or jti, hints',
  async (t) => {
    const good = await app.login();
    const claims = JSON.parse(Buffer.from(good.split('.')[1] ?? '', 'base64url').toString());
    const keys = deriveKeys('a-test-secret-of-more-than-32-bytes!');
    const sign = (payload: object, header: object = {}, key = keys.adminTokens) =>
      new SignJWT({ ...payload })
        .setProtectedHeader({ alg: 'HS256', typ: 'admin+jwt', ...header })
        .sign(createSecretKey(key));
    const get = async (token: string) => (await app.call('GET', '/api/v1/me', { token })).status;
    t.is(await get(await sign(claims)), 200, 'the signer of this test is right');
    const { exp: _exp, ...noExp } = claims;
    const { jti: _jti, ...noJti } = claims;
    const unsigned = `${Buffer.from('{"alg":"none","typ":"admin+jwt"}').toString('base64url')}.${good.split('.')[1]}.`;
    const bad: Record<string, string> = {
      'alg none': unsigned,
      'alg HS512': await sign(claims, { alg: 'HS512' }, new Uint8Array(64)),
      typ: await sign(claims, { typ: 'at+jwt' }),
      'no typ': await sign(claims, { typ: undefined }),
      aud: await sign({ ...claims, aud: 'http://127.0.0.1:8080/api/v2' }),
      iss: await sign({ ...claims, iss: 'https://evil.example' }),
      'no exp': await sign(noExp),
      'no jti': await sign(noJti),
      expired: await sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 10 }),
      generation: await sign({ ...claims, gen: claims.gen + 1 }),
      'generation as text': await sign({ ...claims, gen: String(claims.gen) }),
      'a subject that is no id': await sign({ ...claims, sub: 'alice' }),
      'a jti that no column holds': await sign({ ...claims, jti: 'a\0b' }),
      'other key': await sign(claims, {}, keys.accessTokens),
      'raw secret': await sign(claims, {}, Buffer.from('a-test-secret-of-more-than-32-bytes!')),
      'crit hint': await sign(claims, {}).then((token) => withHeader(token, { crit: ['x'], x: 1 })),
      'jwk hint': await sign(claims, { jwk: { kty: 'oct', k: 'AAAA' }, kid: '../../dev/null' }, new Uint8Array(32)),
      nonsense: 'a.b.c',
      long: 'x'.repeat(5000),
    };
    for (const [name, token] of Object.entries(bad)) t.is(await get(token), 401, name);
  },
);

test.serial(
  'failed logins are limited per account and address; the right password works again after the window',
  async (t) => {
    const app = await identityApp(t, { loginFailures: 2 });
    const wrong = () =>
      app.call('POST', '/api/v1/login', { body: { username: 'ALICE', password: 'wrong-wrong-wrong' } });
    t.is((await wrong()).status, 401);
    t.is((await wrong()).status, 401);
    const limited = await app.call('POST', '/api/v1/login', { body: alice });
    t.is(limited.status, 429);
    t.true(Number(limited.headers.get('retry-after')) >= 1);
    const replica = await identityApp(t, { on: app.on, loginFailures: 2 });
    t.is((await replica.call('POST', '/api/v1/login', { body: alice })).status, 429, 'counted for all replicas');
    await app.on.database.em.fork().execute('update rate_limits set expire = 1');
    const later = await identityApp(t, { on: app.on, loginFailures: 2 });
    t.is((await later.call('POST', '/api/v1/login', { body: alice })).status, 200);
  },
);

test.serial(
  'an address that guesses many names is limited, and a correct login from another address is not',
  async (t) => {
    const app = await identityApp(t, { loginFailures: 1, trustedProxies: 1 });
    const from = (ip: string, username: string) =>
      app.call('POST', '/api/v1/login', {
        body: { username, password: 'wrong-wrong-wrong' },
        headers: { 'x-forwarded-for': ip },
      });
    const seen = [];
    for (let at = 0; at < 12; at += 1) seen.push((await from('198.51.100.7', `name${at}`)).status);
    t.deepEqual(seen, [...Array(10).fill(401), 429, 429]);
    const other = await app.call('POST', '/api/v1/login', { body: alice, headers: { 'x-forwarded-for': '192.0.2.9' } });
    t.is(other.status, 200);
  },
);

test.serial('wrong tokens from an address do not block a correct login from it', async (t) => {
  const app = await identityApp(t, { badCredentialsPerMinute: 3 });
  const wrong = () => app.call('GET', '/api/v1/me', { token: 'x.y.z' });
  const seen = [];
  for (let at = 0; at < 5; at += 1) seen.push((await wrong()).status);
  t.deepEqual(seen, [401, 401, 401, 429, 429]);
  t.is((await app.call('POST', '/api/v1/login', { body: alice })).status, 200);
});

test.serial('the name entered at a login is not stored in the database', async (t) => {
  const app = await identityApp(t, { loginFailures: 2 });
  const body = { username: 'my-very-own-password-7', password: 'wrong-wrong-wrong' };
  t.is((await app.call('POST', '/api/v1/login', { body })).status, 401);
  const rows = await app.on.database.em.fork().execute('select key from rate_limits');
  t.true(rows.length > 0);
  t.false(JSON.stringify(rows).includes(body.username));
});

function withHeader(token: string, more: object): string {
  const [header = '', payload, signature] = token.split('.');
  const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), ...more };
  return [Buffer.from(JSON.stringify(changed)).toString('base64url'), payload, signature].join('.');
}

test.serial('a logout with an unknown scope is 400', async (t) => {
  refused(t, await admin('POST', '/api/v1/logout', { everywhere: 'yes' }), 400, 'invalid_request');
});
