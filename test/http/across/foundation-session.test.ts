import test from 'ava';
import { z } from 'zod';
import { endpoint } from '../../../server/http/endpoint.ts';
import type { Answer, KeyedRequest, WithKey } from '../../../server/payments/idempotency.ts';
import { type RouteGroup, routeGroup } from '../../../server/http/router.ts';
import { type EdgeOptions, startEdge, withoutKeys } from '../../support/edge.ts';

function groups(): RouteGroup[] {
  const v1 = routeGroup('/api/v1');
  v1.get(
    '/me',
    endpoint({ auth: { admin: 'viewer', projectScope: 'own' } }, ({ caller, request }) => ({
      via: caller.via,
      ip: request.ip,
    })),
  );
  v1.put(
    '/me',
    endpoint({ auth: { admin: 'viewer', projectScope: 'own' } }, ({ caller }) => ({ via: caller.via })),
  );
  v1.post(
    '/login',
    endpoint({ auth: 'none', sameSite: true }, () => ({ ok: true })),
  );
  v1.delete(
    '/things',
    endpoint({ auth: { admin: 'admin', projectScope: 'own' }, status: 204 }, () => {}),
  );
  const v2 = routeGroup('/api/v2');
  v2.get(
    '/me',
    endpoint({ auth: 'any-token' }, ({ caller }) => ({ clientId: caller.clientId })),
  );
  v2.post(
    '/pay',
    endpoint(
      { auth: 'any-token', idempotent: true, body: z.object({ n: z.number() }), status: 201 },
      ({ body, claim }) => ({
        n: body.n,
        key: claim?.key ?? null,
      }),
    ),
  );
  return [v1, v2];
}

const start = (t: Parameters<typeof startEdge>[0], options: Partial<EdgeOptions> = {}) =>
  startEdge(t, { groups: groups(), ...options });
const session = 'auth_token=root-jwt; csrf_token=csrf-j1';

test('the cookie is used only if there is no Authorization header', async (t) => {
  const { url } = await start(t);
  const me = async (headers: Record<string, string>) => fetch(`${url}/api/v1/me`, { headers });
  t.is((await me({ cookie: session })).status, 200);
  t.is((await me({ cookie: session, authorization: 'Bearer wrong' })).status, 401);
  t.is((await me({ cookie: session, authorization: '' })).status, 401);
  t.is((await me({ cookie: `auth_token=other; ${session}` })).status, 403);
  const response = await me({ cookie: session, authorization: 'Bearer root-jwt' });
  t.like(await response.json(), { data: { via: 'bearer' } });
  t.is((await fetch(`${url}/api/v2/me`, { headers: { cookie: 'auth_token=read-token' } })).status, 401);
});

test('an unsafe method of a cookie session needs the csrf value of that session', async (t) => {
  const { url } = await start(t);
  const put = async (headers: Record<string, string>) =>
    (await fetch(`${url}/api/v1/me`, { method: 'PUT', headers: { cookie: session, ...headers } })).status;
  const csrf = { 'x-csrf-token': 'csrf-j1' };
  t.is(await put(csrf), 200);
  t.is(await put({}), 403);
  t.is(await put({ 'x-csrf-token': 'csrf-j2' }), 403);
  t.is(await put({ cookie: 'auth_token=root-jwt; csrf_token=csrf-j2', 'x-csrf-token': 'csrf-j2' }), 403);
  t.is(await put({ cookie: `csrf_token=csrf-j1; ${session}`, ...csrf }), 403);
  t.is(await put({ ...csrf, 'sec-fetch-site': 'same-origin' }), 200);
  t.is(await put({ ...csrf, 'sec-fetch-site': 'same-site' }), 403);
  t.is(await put({ ...csrf, 'sec-fetch-site': 'cross-site' }), 403);
  t.is(await put({ ...csrf, origin: 'https://evil.example' }), 403);
  t.is(await put({ ...csrf, origin: 'http://pay.example' }), 200);
  t.is(await put({ cookie: '', authorization: 'Bearer root-jwt' }), 200);
});

test('login from another site is refused', async (t) => {
  const { url } = await start(t);
  const login = async (headers: Record<string, string>) =>
    (await fetch(`${url}/api/v1/login`, { method: 'POST', headers })).status;
  t.is(await login({}), 200);
  t.is(await login({ origin: 'https://evil.example' }), 403);
});

test('a viewer may read and not change', async (t) => {
  const { url } = await start(t);
  const remove = async (token: string) =>
    (await fetch(`${url}/api/v1/things`, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } })).status;
  t.is(await remove('viewer-jwt'), 403);
  t.is(await remove('root-jwt'), 204);
});

test('wrong credentials are limited by address, correct ones are not', async (t) => {
  const { url } = await start(t, { rateLimit: { badCredentialsPerMinute: 2 } });
  const me = (token: string) => fetch(`${url}/api/v2/me`, { headers: { authorization: `Bearer ${token}` } });
  t.is((await me('wrong')).status, 401);
  t.is((await me('wrong')).status, 401);
  const limited = await me('wrong');
  t.is(limited.status, 429);
  t.regex(limited.headers.get('retry-after') ?? '', /^\d+$/);
  t.is((await me('read-token')).status, 200);
});

test('the limit of an application is reported and enforced', async (t) => {
  const { url } = await start(t);
  const me = () => fetch(`${url}/api/v2/me`, { headers: { authorization: 'Bearer limited-token' } });
  const first = await me();
  t.is(first.headers.get('ratelimit-policy'), '"default";q=2;w=60');
  t.regex(first.headers.get('ratelimit') ?? '', /^"default";r=1;t=\d+$/);
  await me();
  t.is((await me()).status, 429);
});

test('the client address comes from the trusted proxies, never from the left-most entry', async (t) => {
  const address = async (trustedProxies: number, forwarded: string) => {
    const { url } = await start(t, { server: { trustedProxies } });
    const response = await fetch(`${url}/api/v1/me`, {
      headers: { authorization: 'Bearer root-jwt', 'x-forwarded-for': forwarded },
    });
    return ((await response.json()) as { data: { ip: string } }).data.ip;
  };
  t.is(await address(0, '203.0.113.9'), '127.0.0.1');
  t.is(await address(1, '203.0.113.9, 198.51.100.7'), '198.51.100.7');
  t.is(await address(2, '203.0.113.9, 198.51.100.7, 192.0.2.1'), '198.51.100.7');
  t.is(await address(1, 'not an address'), '127.0.0.1');
});

test('the console is closed to addresses that are not listed', async (t) => {
  const open = await start(t, { server: { adminNetworks: ['127.0.0.0/8'] } });
  const closed = await start(t, { server: { adminNetworks: ['10.0.0.0/8', '2001:db8::/32'] } });
  const me = async (url: string, path = '/api/v1/me', token = 'root-jwt') =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).status;
  t.is(await me(open.url), 200);
  t.is(await me(closed.url), 403);
  t.is((await fetch(`${closed.url}/api/v1/login`, { method: 'POST' })).status, 403);
  t.is(await me(closed.url, '/api/v2/me', 'read-token'), 200);
});

test('an Idempotency-Key reaches the handler; a stored answer is replayed byte for byte', async (t) => {
  const stored = new Map<string, Answer>();
  const requests: KeyedRequest[] = [];
  const withKey: WithKey = async (request, run) => {
    requests.push(request);
    const known = stored.get(request.key);
    if (known) return { ...known, replayed: true };
    const answer = await withoutKeys(request, run);
    stored.set(request.key, answer);
    return answer;
  };
  const { url } = await start(t, { withKey });
  const pay = (key: string | undefined, n: number) =>
    fetch(`${url}/api/v2/pay`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer read-token',
        'content-type': 'application/json',
        ...(key ? { 'idempotency-key': key } : {}),
      },
      body: JSON.stringify({ n }),
    });
  t.deepEqual(await (await pay(undefined, 1)).json(), { data: { n: 1, key: null } });
  const first = await pay('"k-1"', 1);
  const again = await pay('k-1', 2);
  t.is(first.status, 201);
  t.is(again.status, 201);
  t.is(again.headers.get('idempotent-replayed'), 'true');
  t.is(await again.text(), await first.text());
  t.like(requests[0], { scope: 'app:app_reader', route: 'POST /api/v2/pay', key: 'k-1', body: { n: 1 } });
  for (const bad of ['""', '"', 'a b', 'x'.repeat(256)]) t.is((await pay(bad, 1)).status, 400, bad);
});

test('pages of listed origins may call /api/v2 and read the response, and other origins may not', async (t) => {
  const { url } = await start(t, { server: { corsOrigins: ['https://shop.example'] } });
  const preflight = (path: string, origin: string) =>
    fetch(url + path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
  const allowed = await preflight('/api/v2/pay', 'https://shop.example');
  t.is(allowed.status, 204);
  t.is(allowed.headers.get('access-control-allow-origin'), 'https://shop.example');
  t.is(allowed.headers.get('access-control-allow-credentials'), null);
  t.is((await preflight('/api/v2/pay', 'https://evil.example')).headers.get('access-control-allow-origin'), null);
  t.is((await preflight('/api/v1/me', 'https://shop.example')).headers.get('access-control-allow-origin'), null);
  const refused = await fetch(`${url}/api/v2/me`, { headers: { origin: 'https://shop.example' } });
  t.is(refused.status, 401);
  t.is(refused.headers.get('access-control-allow-origin'), 'https://shop.example');
});
