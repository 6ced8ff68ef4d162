import test from 'ava';
import { SignJWT } from 'jose';
import { createSecretKey } from 'node:crypto';
import * as oauth4webapi from 'oauth4webapi';
import * as openid from 'openid-client';
import { createLogger } from '../../server/http/logger.ts';
import { deriveKeys } from '../../server/identity/tokens.ts';
import { testSecrets } from '../../server/identity/api-app-rows.ts';
import { type Answer, appWithToken, identityApp, type IdentityApp, tokenOf } from '../support/identity-app.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { coverRoutes } from '../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const app = await identityApp(file);
coverRoutes(test, file);

const grant = 'client_credentials';

async function shop(settings = {}) {
  const admin = await app.login();
  return { admin, ...(await appWithToken(app, admin, settings)) };
}

function basic(id: string, secret: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}

test.serial('JSON, form and Basic requests return a token in the format of RFC 6749', async (t) => {
  const { client_id, client_secret } = await shop();
  const body = { grant_type: grant, client_id, client_secret };
  const form = new URLSearchParams({ grant_type: grant });
  const headers = basic(encodeURIComponent(client_id), encodeURIComponent(client_secret));
  const answers = [
    await app.call('POST', '/oauth/token', { body }),
    await app.call('POST', '/oauth/token', { body: new URLSearchParams(body) }),
    await app.call('POST', '/oauth/token', { body: form, headers }),
    await app.call('POST', '/oauth/token', { body: { grant_type: grant, scope: '' }, headers }),
  ];
  for (const { status, body: granted, headers: sent } of answers) {
    t.is(status, 200);
    t.deepEqual(Object.keys(granted), ['access_token', 'token_type', 'expires_in', 'scope']);
    t.like(granted, { token_type: 'Bearer', expires_in: 3600, scope: 'payment:write payment:read' });
    t.is(sent.get('cache-control'), 'no-store');
    t.is(sent.get('pragma'), 'no-cache');
    t.regex(sent.get('content-type') ?? '', /^application\/json/);
    t.is((await app.call('GET', '/api/v2/me', { token: granted.access_token })).status, 200);
  }
  const [, payload = ''] = answers[0]?.body.access_token.split('.') ?? [];
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  t.like(claims, { iss: 'http://127.0.0.1:8080', aud: 'http://127.0.0.1:8080/api/v2', sub: client_id, client_id });
  t.is(claims.exp - claims.iat, 3600);
});

test.serial('openid-client, unmodified, gets, uses and revokes tokens', async (t) => {
  const { client_id, client_secret } = await shop();
  const execute = [openid.allowInsecureRequests];
  const server = {
    issuer: app.url,
    token_endpoint: `${app.url}/oauth/token`,
    revocation_endpoint: `${app.url}/oauth/revoke`,
  };
  for (const auth of [openid.ClientSecretPost(client_secret), openid.ClientSecretBasic(client_secret)]) {
    const config = new openid.Configuration(server, client_id, {}, auth);
    for (const allow of execute) allow(config);
    const tokens = await openid.clientCredentialsGrant(config, { scope: 'payment:read' });
    t.is(tokens.scope, 'payment:read');
    t.is((await app.call('GET', '/api/v2/me', { token: tokens.access_token })).status, 200);
    await openid.tokenRevocation(config, tokens.access_token);
    t.is((await app.call('GET', '/api/v2/me', { token: tokens.access_token })).status, 401);
  }
});

test.serial('openid-client finds the endpoints by the metadata', async (t) => {
  const { status, body } = await app.call('GET', '/.well-known/oauth-authorization-server');
  t.is(status, 200);
  t.is(body.token_endpoint, 'http://127.0.0.1:8080/oauth/token');
  t.deepEqual(body.response_types_supported, []);
  const answer = await oauth4webapi.processDiscoveryResponse(new URL(body.issuer), Response.json(body));
  t.is(answer.revocation_endpoint, 'http://127.0.0.1:8080/oauth/revoke');
});

test.serial('oauth4webapi, unmodified, gets and revokes tokens and reads refusals', async (t) => {
  const { client_id, client_secret } = await shop();
  const server = {
    issuer: app.url,
    token_endpoint: `${app.url}/oauth/token`,
    revocation_endpoint: `${app.url}/oauth/revoke`,
  };
  const insecure = { [oauth4webapi.allowInsecureRequests]: true };
  const ask = async (auth: oauth4webapi.ClientAuth, more = {}) => {
    const client = { client_id };
    const response = await oauth4webapi.clientCredentialsGrantRequest(server, client, auth, more, insecure);
    return oauth4webapi.processClientCredentialsResponse(server, client, response);
  };
  const { access_token } = await ask(oauth4webapi.ClientSecretBasic(client_secret));
  const none = oauth4webapi.None();
  const revoked = await oauth4webapi.revocationRequest(server, { client_id }, none, access_token, insecure);
  await oauth4webapi.processRevocationResponse(revoked);
  t.is((await app.call('GET', '/api/v2/me', { token: access_token })).status, 401);
  const wrong = await t.throwsAsync(ask(oauth4webapi.ClientSecretPost('x'.repeat(48))));
  t.is((wrong as oauth4webapi.ResponseBodyError).error, 'invalid_client');
  const scope = await t.throwsAsync(ask(oauth4webapi.ClientSecretPost(client_secret), { scope: 'config:read' }));
  t.is((scope as oauth4webapi.ResponseBodyError).error, 'invalid_scope');
});

test.serial('malformed token requests are 400 invalid_request, wrong clients are 401 invalid_client', async (t) => {
  const { client_id, client_secret } = await shop();
  const right = { grant_type: grant, client_id, client_secret };
  const form = (text: string) => ({
    body: text,
    headers: { 'content-type': 'application/x-www-form-urlencoded' } as Record<string, string>,
  });
  const whole = new URLSearchParams(right).toString();
  const refusals: [string, number, string, Parameters<IdentityApp['call']>[2], string?][] = [
    ['no grant_type', 400, 'invalid_request', { body: { client_id, client_secret } }],
    ['other grant', 400, 'unsupported_grant_type', { body: { ...right, grant_type: 'password' } }],
    ['duplicate', 400, 'invalid_request', form(`${whole}&client_id=${client_id}`)],
    ['two methods', 400, 'invalid_request', { body: right, headers: basic(client_id, client_secret) }],
    ['in the query', 400, 'invalid_request', { body: right }, `?client_secret=${client_secret}`],
    ['object', 400, 'invalid_request', { body: { ...right, client_id: { $ne: 'x' } } }],
    ['array', 400, 'invalid_request', { body: { ...right, client_secret: [client_secret] } }],
    ['number', 400, 'invalid_request', { body: { ...right, scope: 1 } }],
    ['text', 400, 'invalid_request', { body: whole, headers: { 'content-type': 'text/plain' } }],
    ['no type', 400, 'invalid_request', { body: whole, headers: { 'content-type': '' } }],
    ['not JSON', 400, 'invalid_request', { body: '{', headers: { 'content-type': 'application/json' } }],
    ['empty', 400, 'invalid_request', {}],
    ['NUL', 400, 'invalid_request', { body: { ...right, client_id: 'a\u0000' } }],
    ['operator', 401, 'invalid_client', form(`grant_type=${grant}&client_id[$ne]=x&client_secret[$ne]=x`)],
    ['operator 2', 400, 'invalid_request', form(`grant_type=${grant}&client_id[$ne]=x&client_secret=x`)],
    ['no credentials', 401, 'invalid_client', { body: { grant_type: grant } }],
    ['unknown client', 401, 'invalid_client', { body: { ...right, client_id: 'app_unknown' } }],
    ['odd client', 401, 'invalid_client', { body: { ...right, client_id: '../../etc/passwd' } }],
    ['wrong secret', 401, 'invalid_client', { body: { ...right, client_secret: `${client_secret}x` } }],
    ['console', 401, 'invalid_client', { body: { ...right, client_id: 'console' } }],
    ['hash as secret', 401, 'invalid_client', { body: { ...right, client_secret: '0'.repeat(64) } }],
    ['unknown scope', 400, 'invalid_scope', { body: { ...right, scope: 'payment:read nonsense' } }],
    ['foreign scope', 400, 'invalid_scope', { body: { ...right, scope: 'user:read' } }],
  ];
  for (const [name, status, error, options, query = ''] of refusals) {
    const answer = await app.call('POST', `/oauth/token${query}`, options);
    t.is(answer.status, status, name);
    t.is(answer.body.error, error, name);
    t.is(answer.body.access_token, undefined, name);
  }
  const mixed = { ...right, scope: 'nonsense payment:read user:read "quoted"' };
  const { body } = await app.call('POST', '/oauth/token', { body: mixed });
  t.is(body.error_description, "Not granted to the application: nonsense user:read 'quoted'.");
  t.is((await app.call('GET', '/oauth/token')).status, 405);
});

test.serial('unknown client and wrong secret are indistinguishable; Basic is answered with Basic', async (t) => {
  const { client_id, client_secret } = await shop();
  const body = new URLSearchParams({ grant_type: grant });
  const ask = (id: string, secret: string) => app.call('POST', '/oauth/token', { body, headers: basic(id, secret) });
  const shown = ({ status, body: answer, headers }: Answer) => [status, answer, headers.get('www-authenticate')];
  const unknown = shown(await ask('app_unknown', client_secret));
  t.deepEqual(unknown, shown(await ask(client_id, 'wrong')));
  t.is(unknown[0], 401);
  t.regex(String(unknown[2]), /^Basic /);
  t.is((await ask(client_id, client_secret)).status, 200);
  const bearer = await app.call('POST', '/oauth/token', { body, headers: { authorization: 'Bearer x' } });
  t.is(bearer.status, 401);
});

test.serial(
  'administrator tokens are rejected at v2 and application tokens at v1, whatever their scopes',
  async (t) => {
    const { admin, token } = await shop({ scopes: ['admin'], trusted: true });
    t.is((await app.call('GET', '/api/v2/me', { token: admin })).status, 401);
    t.is((await app.call('GET', '/api/v1/me', { token })).status, 401);
    t.is((await app.call('GET', '/api/v1/api-apps', { token })).status, 401);
    const cookie = `auth_token=${token}`;
    t.is((await app.call('GET', '/api/v1/me', { headers: { cookie } })).status, 401);
    t.is((await app.call('GET', '/api/v2/me', { headers: { cookie } })).status, 401);
    t.is((await app.call('GET', '/api/v2/probe/pay', { token })).status, 200, 'admin is every scope of v2');
  },
);

test.serial('v2 reports the reason: missing, invalid, insufficient', async (t) => {
  const { token } = await shop({ scopes: ['payment:read'] });
  const none = await app.call('GET', '/api/v2/me');
  t.is(none.headers.get('www-authenticate'), 'Bearer');
  const bad = await app.call('GET', '/api/v2/me', { token: 'nonsense' });
  t.is(bad.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  const scope = await app.call('GET', '/api/v2/probe/pay', { token });
  t.is(scope.status, 403);
  t.is(scope.headers.get('www-authenticate'), 'Bearer error="insufficient_scope", scope="payment:write"');
});

test.serial('forged access tokens are 401: alg, typ, aud, iss, key, missing exp or jti, unknown client', async (t) => {
  const { token } = await shop();
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  const keys = deriveKeys('a-test-secret-of-more-than-32-bytes!');
  const sign = (payload: object, header: object = {}, key = keys.accessTokens) =>
    new SignJWT({ ...payload })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', ...header })
      .sign(createSecretKey(key));
  const get = async (sent: string) => (await app.call('GET', '/api/v2/me', { token: sent })).status;
  t.is(await get(await sign(claims)), 200, 'the signer of this test is right');
  t.is(await get(await sign(claims, { kid: 'x', jku: 'http://127.0.0.1:1/keys' })), 200, 'hints are not looked at');
  const { exp: _exp, ...noExp } = claims;
  const { jti: _jti, ...noJti } = claims;
  const bad: Record<string, string> = {
    'alg none': `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${token.split('.')[1]}.`,
    typ: await sign(claims, { typ: 'JWT' }),
    aud: await sign({ ...claims, aud: 'http://127.0.0.1:8080/api/v1' }),
    iss: await sign({ ...claims, iss: 'http://127.0.0.1:8081' }),
    'no exp': await sign(noExp),
    'no jti': await sign(noJti),
    expired: await sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 10 }),
    'unknown client': await sign({ ...claims, sub: 'app_unknown' }),
    'console client': await sign({ ...claims, sub: 'console' }),
    generation: await sign({ ...claims, gen: 99 }),
    'admin key': await sign(claims, {}, keys.adminTokens),
    'key from hint': await sign(claims, { jwk: { kty: 'oct', k: 'AAAA' } }, new Uint8Array(32)),
  };
  for (const [name, forged] of Object.entries(bad)) t.is(await get(forged), 401, name);
});

test.serial('a revoked token is rejected even if its text is encoded differently', async (t) => {
  const { token } = await shop();
  const [header, payload, signature = ''] = token.split('.');
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const at = last.indexOf(signature.at(-1) ?? '');
  const twins = [1, 2, 3].map((bits) => `${header}.${payload}.${signature.slice(0, -1)}${last[at ^ bits]}`);
  const texts = [token, ...twins, `${token}=`, `${header}.${payload}=.${signature}`, ` ${token}`];
  const revoke = await app.call('POST', '/oauth/revoke', { body: { token: twins[0] } });
  t.deepEqual([revoke.status, revoke.body], [200, {}]);
  t.is((await app.call('POST', '/oauth/revoke', { body: { token } })).status, 200);
  for (const text of texts) t.is((await app.call('GET', '/api/v2/me', { token: text })).status, 401, text.slice(-4));
});

test.serial(
  'revocation answers 200 for an unknown token and 400 for a missing one, and requires the credentials of its owner',
  async (t) => {
    const { admin, client_id, client_secret, token } = await shop();
    const other = await appWithToken(app, admin);
    const revoke = (body: unknown, headers = {}) => app.call('POST', '/oauth/revoke', { body, headers });
    const alive = async () => (await app.call('GET', '/api/v2/me', { token })).status;
    for (const unknown of ['nonsense', 'a.b.c', admin]) t.is((await revoke({ token: unknown })).status, 200);
    t.is((await app.call('GET', '/api/v1/me', { token: admin })).status, 200, 'not for administrators');
    t.is((await revoke({})).body.error, 'invalid_request');
    t.is((await revoke({ token: { $ne: '' } })).status, 400);
    t.is((await revoke({ token, client_id, client_secret: 'wrong' })).body.error, 'invalid_client');
    t.is((await revoke({ token }, basic(client_id, 'wrong'))).status, 401);
    t.is((await revoke({ token, client_id: other.client_id, client_secret: other.client_secret })).status, 200);
    t.is((await revoke({ token, client_id: other.client_id })).status, 200);
    t.is(await alive(), 200, 'not revoked by another client');
    const form = new URLSearchParams({ token, token_type_hint: 'refresh_token', client_id, client_secret });
    const done = await revoke(form);
    t.deepEqual([done.status, done.body], [200, {}]);
    t.is(await alive(), 401);
  },
);

test.serial('the scopes of a token shrink with its application, and admin includes the other scopes', async (t) => {
  const { admin, client_id, client_secret, token } = await shop({ scopes: ['admin'], trusted: true });
  const narrow = await tokenOf(app, { client_id, client_secret }, { scope: 'payment:write user:read' });
  const change = { scopes: ['payment:read', 'payment:write'] };
  await app.call('PUT', `/api/v1/api-apps/${client_id}`, { token: admin, body: change });
  const scopesOf = async (of: string) => (await app.call('GET', '/api/v2/me', { token: of })).body.data.scopes;
  t.deepEqual(await scopesOf(token), ['payment:write', 'payment:read']);
  t.deepEqual(await scopesOf(narrow), ['payment:write']);
});

test.serial('test applications and their tokens work only while Debug is on', async (t) => {
  const debug = await identityApp(t, { debug: true });
  const plain = await identityApp(t, { on: debug.on });
  const admin = await debug.login();
  for (const [client_id, client_secret] of Object.entries(testSecrets)) {
    const token = await tokenOf(debug, { client_id, client_secret });
    t.is((await debug.call('GET', '/api/v2/me', { token })).body.data.mode, 'test');
    t.is((await plain.call('GET', '/api/v2/me', { token })).status, 401);
    const body = { grant_type: grant, client_id, client_secret };
    t.is((await plain.call('POST', '/oauth/token', { body })).status, 401);
    t.is((await plain.call('GET', `/api/v1/api-apps/${client_id}`, { token: admin })).status, 404);
    t.is((await plain.call('DELETE', `/api/v1/api-apps/${client_id}`, { token: admin })).status, 404);
  }
  t.is((await debug.call('GET', '/api/v1/api-apps', { token: admin })).body.data.length, 2);
  t.is((await plain.call('GET', '/api/v1/api-apps', { token: admin })).body.data.length, 0);
});

test.serial('an address with bad credentials is limited, and correct credentials still work', async (t) => {
  const app = await identityApp(t, { badCredentialsPerMinute: 3 });
  const admin = await app.login();
  const { client_id, client_secret, token } = await appWithToken(app, admin);
  const wrong = { grant_type: grant, client_id, client_secret: 'wrong' };
  const seen = [];
  for (let at = 0; at < 3; at += 1) seen.push((await app.call('POST', '/oauth/token', { body: wrong })).status);
  const over = await app.call('POST', '/oauth/token', { body: wrong });
  t.deepEqual([...seen, over.status], [401, 401, 401, 429]);
  t.truthy(over.headers.get('retry-after'));
  t.is((await app.call('GET', '/api/v2/me', { token: 'nonsense' })).status, 429, 'tokens count with them');
  t.is((await app.call('GET', '/api/v2/me', { token })).status, 200);
  t.truthy(await tokenOf(app, { client_id, client_secret }));
});

test.serial('an application has its own request limit, counted over all replicas', async (t) => {
  const app = await identityApp(t);
  const replica = await identityApp(t, { on: app.on });
  const { token } = await appWithToken(app, await app.login(), { rateLimit: 3 });
  const seen = [];
  for (const at of [app, replica, app, replica]) seen.push((await at.call('GET', '/api/v2/me', { token })).status);
  t.deepEqual(seen, [200, 200, 200, 429]);
});

test.serial('another JWT.SecretKey invalidates every token', async (t) => {
  const app = await identityApp(t);
  const admin = await app.login();
  const { token } = await appWithToken(app, admin);
  const after = await identityApp(t, { on: app.on, secretKey: 'another-test-secret-of-32-bytes-or-more' });
  t.is((await after.call('GET', '/api/v2/me', { token })).status, 401);
  t.is((await after.call('GET', '/api/v1/me', { token: admin })).status, 401);
});

test.serial('an application gets no token from an address outside its list', async (t) => {
  const settings = { name: 'shop', scopes: ['payment:read'], allowedIps: ['192.0.2.0/24'] };
  const made = await app.call('POST', '/api/v1/api-apps', { token: await app.login(), body: settings });
  const { client_id, client_secret } = made.body.data;
  const answer = await app.call('POST', '/oauth/token', { body: { grant_type: grant, client_id, client_secret } });
  t.deepEqual([answer.status, answer.body.error], [403, 'unauthorized_client']);
});

test.serial('an empty parameter counts as missing, in a form, in JSON and in the address', async (t) => {
  const { client_id, client_secret, token } = await shop();
  const right = { grant_type: grant, client_id, client_secret };
  const inBoth = async (path: string, body: Record<string, string>, headers = {}) => {
    const form = await app.call('POST', path, { body: new URLSearchParams(body), headers });
    const json = await app.call('POST', path, { body, headers });
    t.deepEqual([json.status, json.body.error], [form.status, form.body.error]);
    return form;
  };
  t.is((await inBoth('/oauth/token', { ...right, scope: '' })).status, 200);
  t.is((await inBoth('/oauth/token?client_secret=&grant_type=', right)).status, 200);
  const byHeader = basic(client_id, client_secret);
  t.is((await inBoth('/oauth/token', { ...right, client_id: '', client_secret: '' }, byHeader)).status, 200);
  const cases: [string, Record<string, string>, number, string][] = [
    ['/oauth/token', { ...right, grant_type: '' }, 400, 'invalid_request'],
    ['/oauth/token', { ...right, client_secret: '' }, 401, 'invalid_client'],
    ['/oauth/token', { ...right, client_id: '' }, 400, 'invalid_request'],
    ['/oauth/token', { ...right, client_id: '', client_secret: '' }, 401, 'invalid_client'],
    ['/oauth/revoke', { token: '' }, 400, 'invalid_request'],
  ];
  for (const [path, body, status, error] of cases) {
    const answer = await inBoth(path, body);
    t.deepEqual([answer.status, answer.body.error], [status, error], JSON.stringify(body));
  }
  t.is((await app.call('GET', '/api/v2/me', { token })).status, 200);
  t.is((await inBoth('/oauth/revoke', { token, client_id: '', client_secret: '' })).status, 200);
  t.is((await app.call('GET', '/api/v2/me', { token })).status, 401);
});

test.serial(
  'a refused token request is logged with the attempted client id, shortened and without control characters',
  async (t) => {
    const lines: string[] = [];
    const logger = createLogger({ log: { level: 'info' } }, { write: (line) => void lines.push(line) });
    const app = await identityApp(t, { logger });
    const { client_id, client_secret } = await appWithToken(app, await app.login());
    const tried = async (body: object, headers: Record<string, string> = {}, path = '/oauth/token') => {
      const before = lines.length;
      const { status } = await app.call('POST', path, { body, headers });
      while (lines.length === before) await new Promise((resolve) => setImmediate(resolve));
      const [line = ''] = lines.slice(before);
      t.false(line.includes(client_secret));
      return { status, line, ...(JSON.parse(line) as { clientId?: string }) };
    };
    const wrong = { grant_type: grant, client_secret: 'wrong-wrong-wrong' };
    t.like(await tried({ ...wrong, client_id }), { status: 401, clientId: client_id });
    t.like(await tried({ grant_type: grant }, basic(client_id, 'wrong')), { status: 401, clientId: client_id });
    t.like(await tried({ grant_type: 'password', client_id, client_secret }), { status: 400, clientId: client_id });
    t.like(await tried({ client_id }), { status: 400, clientId: client_id });
    const scope = { grant_type: grant, client_id, client_secret, scope: 'admin' };
    t.like(await tried(scope), { status: 400, clientId: client_id });
    const revoked = await tried({ token: 'x', client_id, client_secret: 'wrong' }, {}, '/oauth/revoke');
    t.like(revoked, { status: 401, clientId: client_id });
    const hostile = await tried({ ...wrong, client_id: `a\u001b[31m\n\u009b\u2028${'x'.repeat(500)}` });
    // oxlint-disable-next-line no-control-regex -- no control character may reach the log reader
    t.notRegex(hostile.line.trimEnd(), /[\u0000-\u001f\u007f-\u009f\u2028]/);
    t.true(hostile.clientId!.length <= 64);
    t.is((await tried({ ...wrong, client_id: client_secret })).clientId, '[redacted]', 'a secret in the wrong place');
    t.is(
      (await tried({ grant_type: grant, client_id, client_secret })).clientId,
      undefined,
      'granted: nothing was tried',
    );
    t.is((await tried({ grant_type: grant, client_id: ['x'], client_secret })).clientId, undefined);
  },
);
