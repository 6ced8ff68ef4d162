import test, { type ExecutionContext } from 'ava';
import type { Route } from '../../../server/routes/index.ts';
import { firstAdmin } from '../../support/admin.ts';
import { refused } from '../../support/route-file.ts';
import { allRoutes } from '../../support/routes.ts';
import { request, startService, type Service, type ServiceOptions } from '../../support/service.ts';

/** What asks for the caller's password again; a new route that writes has to be written down here or is deliberately open. */
const ALWAYS = [
  'DELETE /api/v1/admins/{id}',
  'POST /api/v1/admins',
  'PUT /api/v1/admins/{id}',
  'PUT /api/v1/admins/{id}/toggle',
];
/** The same, where a channel may be live. */
const WHERE_LIVE = [
  'DELETE /api/v1/skillpay/agent-pay',
  'POST /api/v1/approvals/{refundNo}/approve',
  'POST /api/v1/certs/upload',
  'POST /api/v1/certs/{id}/default',
  'POST /api/v1/certs/{id}/delete',
  'POST /api/v1/certs/{id}/distrust',
  'POST /api/v1/certs/{id}/trust',
  'POST /api/v1/payment/config/{payWay}',
  'POST /api/v1/payment/config/{payWay}/certificates',
  'POST /api/v1/payment/config/{payWay}/notices',
  'PUT /api/v1/payment/config/{payWay}/toggle',
  'PUT /api/v1/skillpay/agent-pay',
];
/** Has its own way of asking. */
const ASKS_ITSELF = 'POST /api/v1/me/password';

const CODE = 'password_confirmation_required';
const password = 'seven-quiet-otters-swim';
const nameOf = ({ method, path }: Route) => `${method} ${path}`;

async function writes(): Promise<Route[]> {
  const routes = await allRoutes();
  return routes.filter(
    ({ method, contract: { auth } }) => method !== 'GET' && typeof auth === 'object' && 'admin' in auth,
  );
}

function pathOf({ path }: Route): string {
  const values: Record<string, string> = { payWay: 'alipay', id: '00000000-0000-4000-8000-000000000000' };
  return path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'nothing');
}

/** What needs a confirmation when the password is older than five minutes, of all that an administrator can write. */
async function asking(service: Service): Promise<string[]> {
  const admin = await firstAdmin(service);
  service.clock.advance(301);
  const found: string[] = [];
  for (const route of await writes()) {
    // A body that nothing takes, so that nothing is changed; logging out has none that is wrong.
    const answer = await admin.call(route.method, pathOf(route), nameOf(route).endsWith('/logout') ? undefined : []);
    if (answer.body.code === CODE) found.push(nameOf(route));
    if (answer.status === 401) return ['the session ended'];
    if (nameOf(route).endsWith('/logout')) Object.assign(admin, await olderSession(service, admin));
  }
  return found.toSorted();
}

async function olderSession(service: Service, admin: Awaited<ReturnType<typeof firstAdmin>>) {
  const next = await admin.logIn();
  service.clock.advance(301);
  return next;
}

const atLive: ServiceOptions = { env: { PAY_DEBUG: 'false' } };

test('of all that administrators can write exactly what is listed asks for the password again', async (t) => {
  t.deepEqual(await asking(await startService(t, atLive)), [...ALWAYS, ...WHERE_LIVE].toSorted());
  t.true((await writes()).map(nameOf).includes(ASKS_ITSELF));
});

test('under Debug, where no channel is live, only accounts ask', async (t) => {
  t.deepEqual(await asking(await startService(t)), ALWAYS);
});

test('the contracts say the same as the service does', async (t) => {
  const named = (how: string) =>
    writes().then((routes) =>
      routes
        .filter(({ contract: { auth } }) => typeof auth === 'object' && 'admin' in auth && auth.confirmed === how)
        .map(nameOf)
        .toSorted(),
    );
  t.deepEqual(await named('always'), ALWAYS);
  t.deepEqual(await named('where-live'), WHERE_LIVE);
});

const bob = { username: 'bob', password: 'nine-tidy-green-anchors', role: 'viewer' };

/** Two replicas whose clock moves only when it is told to. */
async function two(t: ExecutionContext) {
  let time = Date.now();
  const now = () => new Date(time);
  const one = await startService(t, { ...atLive, now });
  const { simulator, databaseUrl: url } = one;
  const other = await startService(t, { ...atLive, simulator, url, now });
  return { one, other, now, pass: (seconds: number) => void (time += seconds * 1000) };
}

test('a login and a confirmation count for five minutes, for this session, on every replica', async (t) => {
  const { one, other, now, pass } = await two(t);
  const admin = await firstAdmin(one);
  const { id } = (await admin.call('POST', '/api/v1/admins', bob)).body.data;
  const path = `/api/v1/admins/${id}`;
  const bearer = { authorization: `Bearer ${admin.token}` };
  const change = (at: Service, headers = bearer) => request(at.url, 'PUT', path, { role: 'viewer' }, headers);
  pass(300);
  t.is((await change(other)).status, 200);
  pass(1);
  for (const at of [one, other]) refused(t, await change(at), 403, CODE);
  const own = (await admin.call('GET', '/api/v1/me')).body.data.id;
  const takeOver = { password: 'ten-brave-little-foxes' };
  refused(t, await request(other.url, 'PUT', `/api/v1/admins/${own}`, takeOver, bearer), 403, CODE);

  const confirmed = await admin.call('POST', '/api/v1/me/confirm', { password });
  t.is(confirmed.status, 200);
  t.is(Date.parse(confirmed.body.data.confirmedUntil), now().getTime() + 300_000);
  for (const at of [one, other]) t.is((await change(at)).status, 200);
  pass(301);
  refused(t, await change(other), 403, CODE);

  const fresh = await admin.logIn();
  t.is((await change(other, { authorization: `Bearer ${fresh.token}` })).status, 200);
  refused(t, await change(other), 403, CODE);
});

test('wrong passwords at the confirmation count as failed logins and confirm nothing', async (t) => {
  const service = await startService(t, { env: { PAY_DEBUG: 'false', PAY_RATE_LIMIT_LOGIN_FAILURES: '2' } });
  const admin = await firstAdmin(service);
  service.clock.advance(301);
  const confirm = (word: string) => admin.call('POST', '/api/v1/me/confirm', { password: word });
  for (let at = 0; at < 2; at += 1) {
    const wrong = await confirm('wrong-wrong-wrong');
    refused(t, wrong, 400, 'invalid_request');
    t.like(wrong.body.errors[0], { pointer: '/password', code: 'password_wrong' });
  }
  refused(t, await confirm(password), 429, 'rate_limited');
  refused(t, await admin.call('POST', '/api/v1/admins', bob), 403, CODE);
  refused(t, await request(service.url, 'POST', '/api/v1/login', { username: 'alice', password }), 429, 'rate_limited');
});

test('a session of the release before is asked, and can confirm', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  await service.app.store.transaction((tx) => tx.sessions.delete({}));
  refused(t, await admin.call('POST', '/api/v1/admins', bob), 403, CODE);
  t.is((await admin.call('POST', '/api/v1/me/confirm', { password })).status, 200);
  t.is((await admin.call('POST', '/api/v1/admins', bob)).status, 201);
});

test('an application that may configure channels is made, changed and given a secret with the password only', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  const create = (settings: object) => admin.call('POST', '/api/v1/api-apps', { name: 'shop', ...settings });
  const trusted = { scopes: ['config:write', 'cert:manage'], trusted: true };
  const [strong, weak] = [await create(trusted), await create({ scopes: ['payment:read'] })];
  const pathTo = ({ body }: typeof weak) => `/api/v1/api-apps/${body.data.client_id}`;
  service.clock.advance(301);
  refused(t, await create(trusted), 403, CODE);
  refused(t, await admin.call('PUT', pathTo(weak), trusted), 403, CODE);
  refused(t, await admin.call('PUT', pathTo(strong), { allowedIps: [] }), 403, CODE);
  refused(t, await admin.call('POST', `${pathTo(strong)}/rotate-secret`), 403, CODE);
  t.is((await create({ scopes: ['payment:read'] })).status, 201);
  t.is((await admin.call('PUT', pathTo(weak), { name: 'store' })).status, 200);
  t.is((await admin.call('POST', `${pathTo(weak)}/rotate-secret`)).status, 200);
  t.is((await admin.call('POST', '/api/v1/me/confirm', { password })).status, 200);
  t.is((await admin.call('PUT', pathTo(weak), trusted)).status, 200);
});

test('limits of an application are loosened with the password only, and tightened without', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  const made = await admin.call('POST', '/api/v1/api-apps', {
    name: 'agent',
    scopes: ['payment:write'],
    limits: { CNY: { perDay: 100 } },
  });
  const path = `/api/v1/api-apps/${made.body.data.client_id}`;
  service.clock.advance(301);
  const put = (limits: unknown) => admin.call('PUT', path, { limits });
  t.is((await put({ CNY: { perDay: 50, perOrder: 5 } })).status, 200);
  for (const looser of [{ CNY: { perDay: 51 } }, { CNY: { perOrder: null } }, { USD: {} }, null])
    refused(t, await put(looser), 403, CODE);
  t.is((await admin.call('POST', '/api/v1/me/confirm', { password })).status, 200);
  t.is((await put(null)).status, 200);
});
