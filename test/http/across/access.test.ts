import test from 'ava';
import { scopes } from '../../../server/domain.ts';
import { GUIDES } from '../../../server/pages/guides.ts';
import type { Route } from '../../../server/http/router.ts';
import { firstAdmin } from '../../support/admin.ts';
import { allRoutes } from '../../support/routes.ts';
import { request, startService, type Answer, type Service } from '../../support/service.ts';
import { fingerprints } from '../../support/tables.ts';

/** Routes that need no credential. A new open route must be added here. */
const OPEN = [
  'GET /',
  'GET /.well-known/did.json',
  'GET /.well-known/jwks.json',
  'GET /openapi.json',
  'POST /pay/{orderNo}/choose/{payWay}',
  'GET /.well-known/oauth-authorization-server',
  'GET /api/v1/payment/channels',
  'GET /docs',
  ...GUIDES.map(({ slug }) => `GET /docs/${slug}`).filter((name) => name !== 'GET /docs/index'),
  'GET /docs/api',
  'GET /docs/api/webhooks/{event}',
  'GET /docs/api/{operationId}',
  'GET /docs/assets/guide.js',
  'GET /docs/errors/{code}',
  'GET /docs/search',
  'GET /health',
  'GET /health/db',
  'GET /pay/assets/pages.css',
  'GET /pay/assets/payer.js',
  'GET /pay/{orderNo}',
  'GET /pay/{orderNo}/state',
  'GET /return/{payWay}/{orderNo}',
  'GET /staging.css',
  'GET /pay/{orderNo}/open',
  'POST /api/v1/login',
  'POST /notify/{payWay}/{project}',
  'POST /oauth/revoke',
  'POST /oauth/token',
];

/** The path with a valid value for each parameter. */
function pathOf({ path }: Route): string {
  const values: Record<string, string> = { payWay: 'alipay', id: '00000000-0000-4000-8000-000000000000' };
  return path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'nothing');
}

function ask(service: Service, route: Route, headers: Record<string, string> = {}): Promise<Answer> {
  const body = route.contract.body && route.method !== 'GET' ? {} : undefined;
  return request(service.url, route.method, pathOf(route), body, headers);
}

const nameOf = ({ method, path }: Route) => `${method} ${path}`;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const guarded = async () => (await allRoutes()).filter(({ contract }) => contract.auth !== 'none');

test('the open routes are exactly those listed', async (t) => {
  const open = (await allRoutes())
    .filter(({ contract, path }) => contract.auth === 'none' && !path.startsWith('/swagger'))
    .map(nameOf);
  t.deepEqual(open.toSorted(), OPEN.toSorted());
});

test('every other route answers 401 without a credential and with an invalid one, whatever else is sent', async (t) => {
  const service = await startService(t);
  const before = await fingerprints(service);
  const routes = await guarded();
  const removedScheme = {
    'x-client-id': 'test-app',
    'x-app-id': 'test-app',
    'x-timestamp': String(Math.floor(Date.now() / 1000)),
    'x-nonce': 'b0f1a2',
    'x-signature': 'a'.repeat(64),
    'x-sign': 'a'.repeat(64),
  };
  const attempts: Record<string, Record<string, string>> = {
    nothing: {},
    'the headers of the removed scheme': removedScheme,
    'a bad token': bearer('eyJhbGciOiJub25lIn0.e30.'),
    'an empty token': { authorization: 'Bearer ' },
    Basic: { authorization: `Basic ${btoa('test-app:pays_test-app-secret-for-debug-only')}` },
    'HMAC in Authorization': { authorization: 'HMAC-SHA256 test-app:abc' },
    'a bad cookie': { cookie: 'auth_token=abc; csrf_token=abc' },
    'a bad header beside a cookie': { ...bearer('abc'), cookie: 'auth_token=abc' },
  };
  for (const route of routes) {
    const answers = await Promise.all(Object.values(attempts).map((headers) => ask(service, route, headers)));
    for (const [index, { status, headers, body }] of answers.entries()) {
      const which = `${nameOf(route)} with ${Object.keys(attempts)[index]}`;
      t.is(status, 401, `${which}: ${JSON.stringify(body)}`);
      t.is(body.code, 'unauthenticated', which);
      t.truthy(headers.get('www-authenticate'), which);
      t.is(headers.get('content-type'), 'application/problem+json; charset=utf-8', which);
    }
  }
  t.deepEqual(await fingerprints(service), before);
  t.log(`${routes.length} routes × ${Object.keys(attempts).length} attempts: 401`);
});

test('the console rejects application tokens, and the API rejects administrator sessions', async (t) => {
  const service = await startService(t);
  const admin = await firstAdmin(service);
  const app = await service.merchant({ scopes: ['admin'], trusted: true });
  const routes = await guarded();
  let wrong = 0;
  for (const route of routes) {
    const isConsole = typeof route.contract.auth === 'object' && 'admin' in route.contract.auth;
    const { status, body } = await ask(service, route, bearer(isConsole ? app.token : admin.token));
    t.is(status, 401, `${nameOf(route)}: ${JSON.stringify(body)}`);
    wrong += 1;
  }
  t.log(`${wrong} routes with the other kind of credential: 401`);
});

test('every v2 route answers 403 to a token with all scopes except the required one', async (t) => {
  const service = await startService(t);
  const tokens = new Map<string, string>();
  for (const left of scopes) {
    const scopesOfApp = scopes.filter((scope) => scope !== left && scope !== 'admin');
    tokens.set(left, (await service.merchant({ scopes: scopesOfApp, trusted: true })).token);
  }
  let refused = 0;
  for (const route of await guarded()) {
    const { auth } = route.contract;
    if (auth === 'any-token' || auth === 'none' || 'admin' in auth) continue;
    const token = tokens.get(auth.scope);
    t.truthy(token, `${nameOf(route)}: ${auth.scope} is a scope that there is`);
    const { status, body, headers } = await ask(service, route, bearer(token ?? ''));
    t.is(status, 403, `${nameOf(route)}: ${JSON.stringify(body)}`);
    t.is(body.code, 'insufficient_scope');
    t.is(headers.get('www-authenticate'), `Bearer error="insufficient_scope", scope="${auth.scope}"`);
    refused += 1;
  }
  t.log(`${refused} routes without their scope: 403`);
});

test('the paths of the removed scheme answer 401 without a session and 404 with one', async (t) => {
  const service = await startService(t);
  const admin = await firstAdmin(service);
  for (const path of ['pay', 'query', 'close', 'refund', 'query/P1', 'close/P1'].map(
    (end) => `/api/v1/payment/${end}`,
  )) {
    t.is((await request(service.url, 'POST', path, {})).status, 401, path);
    const known = await admin.call('POST', path, {});
    t.is(known.status, 404, path);
    t.is(known.body.code, 'not_found', path);
  }
});
