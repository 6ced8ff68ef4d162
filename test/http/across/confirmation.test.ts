import test, { type ExecutionContext } from 'ava';
import type { Route } from '../../../server/http/router.ts';
import { firstAdmin } from '../../support/admin.ts';
import { refused } from '../../support/route-file.ts';
import { allRoutes } from '../../support/routes.ts';
import { request, startService, type Service, type ServiceOptions } from '../../support/service.ts';

/**
 * How each writing route of an administrator requires the password and second factor again, and why. A new route must be added here.
 * `always` and `where-live`: the contract requires it, before any other check. `above`: if more than `Approval.RefundAbove` is
 * refunded. `widens`: if a credential is issued or gets more rights. `itself`: the request contains the password. `never`: the route
 * gives no new access to money or rights.
 */
const ASKS: Record<Way, Record<string, string>> = {
  always: {
    'DELETE /api/v1/admins/{id}': 'administrators',
    'DELETE /api/v1/admins/{id}/sessions': 'administrators: would lock others out',
    'DELETE /api/v1/admins/{id}/sessions/{sessionId}': 'administrators: would lock others out',
    'POST /api/v1/admins': 'administrators',
    'POST /api/v1/admins/{id}/reset-second-factor': 'second factors',
    'POST /api/v1/me/second-factor/recovery-codes': 'the own second factor',
    'POST /api/v1/me/second-factor/start': 'the own second factor',
    'PUT /api/v1/admins/{id}': 'administrators, their passwords, roles and projects',
    'PUT /api/v1/admins/{id}/toggle': 'administrators',
  },
  'where-live': {
    'DELETE /api/v1/skillpay/agent-pay': 'keys',
    'POST /api/v1/api-apps': 'gives out a credential',
    'POST /api/v1/api-apps/{client_id}/rotate-secret': 'gives out a credential, or brings a former one back',
    'POST /api/v1/api-apps/{client_id}/webhook/rotate-secret': 'gives out what shows that a message is ours',
    'POST /api/v1/approvals/{refundNo}/approve': 'approvals',
    'POST /api/v1/certs/upload': 'keys and certificates',
    'POST /api/v1/certs/{id}/default': 'keys and certificates',
    'POST /api/v1/certs/{id}/delete': 'keys and certificates',
    'POST /api/v1/certs/{id}/distrust': 'trust',
    'POST /api/v1/certs/{id}/trust': 'trust',
    'POST /api/v1/payment/config/{payWay}': 'configuration of channels',
    'POST /api/v1/payment/config/{payWay}/certificates': 'trust: what is downloaded is trusted',
    'POST /api/v1/payment/config/{payWay}/notices': 'configuration of channels',
    'PUT /api/v1/payment/config/{payWay}/toggle': 'configuration of channels',
    'PUT /api/v1/skillpay/agent-pay': 'keys',
  },
  above: {
    'POST /api/v1/console/payment/refund': 'refunds',
    'POST /api/v1/disputes/{disputeNo}/accept': 'gives the amount of the dispute away',
    'POST /api/v1/exceptions/{id}/resolve':
      '`accept` takes other money for that of the order, `refund` gives it back, `acknowledge` of an accepted dispute lets refunds go on',
    'POST /api/v1/orders/{orderNo}/refunds': 'refunds',
    'POST /api/v1/refunds/{refundNo}/retry': 'refunds',
  },
  widens: {
    'POST /api/v1/coins/{code}/adjustments': 'more coins than `Approval.CoinsAbove`, which contents are paid with',
    'PUT /api/v1/api-apps/{client_id}': 'trust, scopes, addresses, looser limits',
    'PUT /api/v1/api-apps/{client_id}/toggle': 'enabling',
    'PUT /api/v1/api-apps/{client_id}/webhook': 'where an application is told',
  },
  itself: {
    'POST /api/v1/me/confirm': 'this is the question',
    'POST /api/v1/me/password': 'brings the current password, and a code',
    'POST /api/v1/me/second-factor/remove': 'brings the password and a code',
  },
  never: {
    'DELETE /api/v1/api-apps/{client_id}': 'takes power away',
    'DELETE /api/v1/api-apps/{client_id}/webhook': 'sends nothing more',
    'DELETE /api/v1/coins/{code}': 'only one that nobody has',
    'DELETE /api/v1/me/sessions/{id}': 'takes power away',
    'DELETE /api/v1/products/{code}': 'moves no money',
    'DELETE /api/v1/projects/{code}': 'only one that has nothing',
    'DELETE /api/v1/users/{userId}': 'moves no money',
    'POST /api/v1/api-apps/{client_id}/revoke-tokens': 'takes power away',
    'POST /api/v1/api-apps/{client_id}/webhook/test': 'only sends',
    'POST /api/v1/approvals/{refundNo}/reject': 'moves no money',
    'DELETE /api/v1/bills/{billNo}/quiet': 'moves no money',
    'POST /api/v1/bills': 'only asks the channel',
    'POST /api/v1/bills/import': 'a bill is never a fact',
    'POST /api/v1/bills/{billNo}/quiet': 'moves no money',
    'POST /api/v1/bills/{billNo}/rerun': 'a bill is never a fact',
    'POST /api/v1/certs/list': 'only reads',
    'POST /api/v1/certs/{id}/download': 'only reads',
    'POST /api/v1/coins': 'moves no money',
    'POST /api/v1/console/payment/capture/{orderNo}': 'takes money that the payer has approved',
    'POST /api/v1/console/payment/close/{orderNo}': 'takes and gives no money',
    'POST /api/v1/console/payment/pay': 'asks a payer for money',
    'POST /api/v1/disputes/{disputeNo}/answer': 'moves no money',
    'POST /api/v1/disputes/{disputeNo}/finish': 'moves no money',
    'POST /api/v1/events/{id}/resend': 'only sends',
    'POST /api/v1/logout': 'takes power away',
    'POST /api/v1/me/second-factor/confirm': 'the secret was shown to whoever was asked',
    'POST /api/v1/orders/{orderNo}/close': 'takes and gives no money',
    'POST /api/v1/orders/{orderNo}/sync': 'only asks the channel',
    'POST /api/v1/payment/config/{payWay}/test': 'only asks the channel',
    'POST /api/v1/products': 'moves no money',
    'POST /api/v1/projects': 'moves no money',
    'POST /api/v1/refunds/{refundNo}/resolve': 'moves no money: it has gone another way, or not at all',
    'POST /api/v1/refunds/{refundNo}/sync': 'only asks the channel',
    'POST /api/v1/skillpay/agent-pay/test': 'only asks',
    'POST /api/v1/users': 'moves no money',
    'PUT /api/v1/coins/{code}': 'moves no money',
    'PUT /api/v1/coins/{code}/toggle': 'moves no money',
    'PUT /api/v1/products/{code}': 'moves no money',
    'PUT /api/v1/products/{code}/toggle': 'moves no money',
    'PUT /api/v1/projects/{code}': 'moves no money',
    'PUT /api/v1/projects/{code}/toggle': 'moves no money',
    'PUT /api/v1/users/{userId}': 'moves no money',
    'PUT /api/v1/users/{userId}/toggle': 'moves no money',
  },
};
type Way = 'always' | 'where-live' | 'above' | 'widens' | 'itself' | 'never';
const ALWAYS = Object.keys(ASKS.always).toSorted();
const WHERE_LIVE = Object.keys(ASKS['where-live']).toSorted();

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
  const id = '00000000-0000-4000-8000-000000000000';
  const values: Record<string, string> = { payWay: 'alipay', id, sessionId: id };
  return path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'nothing');
}

/** Requests that need a confirmation once the password is older than five minutes, out of all writes of an administrator. */
async function asking(service: Service): Promise<string[]> {
  const admin = await firstAdmin(service);
  service.clock.advance(301);
  const found: string[] = [];
  for (const route of await writes()) {
    // An invalid body, so that nothing is changed. Logout has no invalid body and is sent without one.
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

test('every writing route states whether it requires a confirmation, and why', async (t) => {
  const listed = Object.values(ASKS).flatMap((ways) => Object.keys(ways));
  t.deepEqual(listed.toSorted(), (await writes()).map(nameOf).toSorted());
});

test('exactly the listed writes of an administrator require the password again', async (t) => {
  t.deepEqual(await asking(await startService(t, atLive)), [...ALWAYS, ...WHERE_LIVE].toSorted());
});

test('under Debug, where no channel is live, only account routes require a confirmation', async (t) => {
  t.deepEqual(await asking(await startService(t)), ALWAYS);
});

test('the contracts match the behaviour of the service', async (t) => {
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

/** Two replicas with a clock that moves only when the test advances it. */
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
  let bearer = { authorization: `Bearer ${admin.token}` };
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
  bearer = { authorization: `Bearer ${confirmed.body.data.token}` };
  for (const at of [one, other]) t.is((await change(at)).status, 200);
  pass(301);
  refused(t, await change(other), 403, CODE);

  const fresh = await admin.logIn();
  t.is((await change(other, { authorization: `Bearer ${fresh.token}` })).status, 200);
  refused(t, await change(other), 403, CODE);
});

test('a confirmation starts a new session: a copy of the old token reads for thirty seconds and changes nothing', async (t) => {
  const { one, other, pass } = await two(t);
  const owner = await firstAdmin(one);
  const copy = { authorization: `Bearer ${owner.token}` };
  const create = (at: Service, username: string) =>
    request(at.url, 'POST', '/api/v1/admins', { ...bob, username }, copy);
  pass(301);
  refused(t, await create(one, 'mallory'), 403, CODE);
  const confirmed = await owner.call('POST', '/api/v1/me/confirm', { password });
  t.is(confirmed.status, 200);
  t.is((await owner.call('POST', '/api/v1/admins', bob)).status, 201, 'the owner continues in the new session');
  for (const at of [one, other]) {
    refused(t, await create(at, 'mallory'), 401, 'unauthenticated');
    refused(t, await request(at.url, 'POST', '/api/v1/me/second-factor/start', {}, copy), 401, 'unauthenticated');
    refused(t, await request(at.url, 'POST', '/api/v1/me/confirm', { password }, copy), 401, 'unauthenticated');
    t.is((await request(at.url, 'GET', '/api/v1/me', undefined, copy)).status, 200);
  }
  const { data: sessions } = (await owner.call('GET', '/api/v1/me/sessions')).body;
  t.deepEqual(
    sessions.map(({ current }: { current: boolean }) => current),
    [true],
  );
  pass(31);
  for (const at of [one, other]) t.is((await request(at.url, 'GET', '/api/v1/me', undefined, copy)).status, 401);
  t.is((await owner.call('GET', '/api/v1/me')).status, 200);
});

test('a browser receives the cookies of the new session, which has its own csrf value', async (t) => {
  const { one } = await two(t);
  const admin = await firstAdmin(one);
  const csrf = (
    await request(one.url, 'POST', '/api/v1/login', { username: 'alice', password })
  ).headers.getSetCookie();
  const answer = await admin.call('POST', '/api/v1/me/confirm', { password });
  const set = answer.headers.getSetCookie();
  const valueOf = (name: string, from = set) =>
    from.find((line) => line.startsWith(`${name}=`))?.split(/[=;]/)[1] ?? '';
  t.is(valueOf('auth_token'), answer.body.data.token);
  const post = (value: string) =>
    request(one.url, 'POST', '/api/v1/admins', bob, {
      cookie: `auth_token=${valueOf('auth_token')}; csrf_token=${value}`,
      'x-csrf-token': value,
    });
  refused(t, await post(valueOf('csrf_token', csrf)), 403, 'csrf_failed');
  t.is((await post(valueOf('csrf_token'))).status, 201);
});

test('concurrent confirmations create one session, and logging out everywhere ends it too', async (t) => {
  const { one, other } = await two(t);
  const admin = await firstAdmin(one);
  const bearer = { authorization: `Bearer ${admin.token}` };
  const confirm = (at: Service) => request(at.url, 'POST', '/api/v1/me/confirm', { password }, bearer);
  const answers = await Promise.all([one, other, one, other].map(confirm));
  const [begun, ...more] = answers.filter(({ status }) => status === 200).map(({ body }) => body.data.token as string);
  t.deepEqual([more.length, answers.filter(({ status }) => status === 401).length], [0, 3]);
  const next = { authorization: `Bearer ${begun}` };
  t.is((await request(other.url, 'GET', '/api/v1/me', undefined, next)).status, 200);
  t.is((await request(one.url, 'POST', '/api/v1/logout', { everywhere: true }, next)).status, 200);
  for (const headers of [bearer, next])
    t.is((await request(other.url, 'GET', '/api/v1/me', undefined, headers)).status, 401);
});

test('a request refused for lack of a confirmation is written to the audit log, ten times in a quarter of an hour', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  service.clock.advance(301);
  for (let at = 0; at < 12; at += 1) refused(t, await admin.call('POST', '/api/v1/admins', bob), 403, CODE);
  const trusted = { name: 'shop', scopes: ['config:write'], trusted: true };
  refused(t, await admin.call('POST', '/api/v1/api-apps', trusted), 403, CODE);
  const other = await admin.logIn();
  service.clock.advance(301);
  refused(t, await other.call('POST', '/api/v1/api-apps', trusted), 403, CODE);
  const { data } = (await other.call('GET', '/api/v1/audit-log?action=admin.unconfirmed')).body;
  t.is(data.length, 11);
  t.like(data[0], { actor: 'alice', target: 'alice', after: { operation: 'POST /api/v1/api-apps' } });
  t.like(data[1], { after: { operation: 'POST /api/v1/admins' } });
  t.not(data[0].after.session, data[1].after.session);
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

test('a request that issues or widens a credential requires a confirmation, and one that removes rights does not', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  const create = (settings: object) => admin.call('POST', '/api/v1/api-apps', { name: 'shop', ...settings });
  const allowedIps = ['10.0.0.0/8', '192.0.2.7'];
  const [weak, off, strong] = [
    await create({ scopes: ['payment:read'], allowedIps }),
    await create({ scopes: ['payment:read'] }),
    await create({ scopes: ['config:write'], trusted: true }),
  ];
  const pathTo = ({ body }: typeof weak) => `/api/v1/api-apps/${body.data.client_id}`;
  t.is((await admin.call('PUT', `${pathTo(off)}/toggle`, { enabled: false })).status, 200);
  const url = 'https://shop.example/told';
  t.is((await admin.call('PUT', `${pathTo(weak)}/webhook`, { url })).status, 201);
  await admin.call('POST', '/api/v1/coins?project=default', { code: 'gold', name: 'Gold' });
  service.clock.advance(301);

  const adjust = (amount: number) =>
    admin.call('POST', '/api/v1/coins/gold/adjustments?project=default', { userId: 'payer-1', amount, reason: 'gift' });
  const asking: [string, () => ReturnType<typeof adjust>][] = [
    ['a new application', () => create({ scopes: ['payment:read'] })],
    ['a new secret', () => admin.call('POST', `${pathTo(weak)}/rotate-secret`)],
    ['a prepared secret', () => admin.call('POST', `${pathTo(weak)}/rotate-secret`, { prepare: true })],
    ['enabling', () => admin.call('PUT', `${pathTo(off)}/toggle`, { enabled: true })],
    ['flipping to enabled', () => admin.call('PUT', `${pathTo(off)}/toggle`, {})],
    ['another scope', () => admin.call('PUT', pathTo(weak), { scopes: ['payment:read', 'payment:write'] })],
    ['another address', () => admin.call('PUT', pathTo(weak), { allowedIps: [...allowedIps, '198.51.100.1'] })],
    ['a wider network', () => admin.call('PUT', pathTo(weak), { allowedIps: ['10.0.0.0/7'] })],
    [
      'a network in the notation of the other family',
      () => admin.call('PUT', pathTo(weak), { allowedIps: ['::ffff:10.0.0.0/96'] }),
    ],
    ['no address list', () => admin.call('PUT', pathTo(weak), { allowedIps: [] })],
    ['trust', () => admin.call('PUT', pathTo(weak), { trusted: true })],
    ['any change of a trusted one', () => admin.call('PUT', pathTo(strong), { name: 'store' })],
    ['another webhook address', () => admin.call('PUT', `${pathTo(weak)}/webhook`, { url: `${url}/elsewhere` })],
    ['a first webhook', () => admin.call('PUT', `${pathTo(strong)}/webhook`, { url })],
    ['a webhook secret', () => admin.call('POST', `${pathTo(weak)}/webhook/rotate-secret`)],
    ['coins', () => adjust(1)],
  ];
  for (const [what, ask] of asking) t.is((await ask()).body.code, CODE, what);

  const free: [string, () => ReturnType<typeof adjust>][] = [
    ['a name', () => admin.call('PUT', pathTo(weak), { name: 'store' })],
    ['the same scopes', () => admin.call('PUT', pathTo(weak), { scopes: ['payment:read'] })],
    ['a narrower network', () => admin.call('PUT', pathTo(weak), { allowedIps: ['10.1.0.0/16'] })],
    ['a first address list', () => admin.call('PUT', pathTo(off), { allowedIps: ['192.0.2.7'] })],
    ['the same webhook address', () => admin.call('PUT', `${pathTo(weak)}/webhook`, { url, types: ['order.paid'] })],
    ['disabling', () => admin.call('PUT', `${pathTo(weak)}/toggle`, { enabled: false })],
    ['ending tokens', () => admin.call('POST', `${pathTo(weak)}/revoke-tokens`)],
  ];
  for (const [what, ask] of free) t.is((await ask()).status, 200, what);

  t.is((await admin.call('POST', '/api/v1/me/confirm', { password })).status, 200);
  for (const [what, ask] of asking) t.true((await ask()).status < 300, what);
  t.is((await adjust(-1)).status, 201);
  service.clock.advance(301);
  t.is(
    (await adjust(-1)).body.code,
    'coins_insufficient',
    'taking coins requires no confirmation, and the balance is zero',
  );
});

test('restoring a former secret requires the password, too', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  const made = (await admin.call('POST', '/api/v1/api-apps', { name: 'shop', scopes: ['payment:read'] })).body.data;
  const path = `/api/v1/api-apps/${made.client_id}`;
  const hook = await admin.call('PUT', `${path}/webhook`, { url: 'https://shop.example/told' });
  const former: [string, string][] = [
    [`${path}/rotate-secret`, made.client_secret],
    [`${path}/webhook/rotate-secret`, hook.body.data.secret],
  ];
  for (const [at] of former) t.is((await admin.call('POST', at, { graceSeconds: 86_400 })).status, 200);
  service.clock.advance(301);
  for (const [at, secret] of former)
    refused(t, await admin.call('POST', at, { graceSeconds: 86_400, secret }), 403, CODE);
  t.is((await admin.call('POST', '/api/v1/me/confirm', { password })).status, 200);
  for (const [at, secret] of former) t.is((await admin.call('POST', at, { graceSeconds: 86_400, secret })).status, 200);
});

test('coins below the limit are added without a confirmation', async (t) => {
  const service = await startService(t, { env: { PAY_DEBUG: 'false', PAY_APPROVAL_COINS_ABOVE: '100' } });
  const admin = await firstAdmin(service);
  await admin.call('POST', '/api/v1/coins?project=default', { code: 'gold', name: 'Gold' });
  service.clock.advance(301);
  const adjust = (amount: number) =>
    admin.call('POST', '/api/v1/coins/gold/adjustments?project=default', { userId: 'payer-1', amount, reason: 'gift' });
  t.is((await adjust(100)).status, 201);
  refused(t, await adjust(101), 403, CODE);
});

test('administrators see in the event log which administrator issued a credential, and merchants do not', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  const made = await admin.call('POST', '/api/v1/api-apps', { name: 'shop', scopes: ['payment:read'] });
  const id = made.body.data.client_id as string;
  const path = `/api/v1/api-apps/${id}`;
  await admin.call('PUT', `${path}/webhook`, { url: 'https://shop.example/told' });
  await admin.call('PUT', `${path}/webhook`, { types: [] });
  await admin.call('POST', `${path}/webhook/rotate-secret`);
  await admin.call('PUT', path, { scopes: ['payment:read', 'payment:write'] });
  await admin.call('PUT', path, { name: 'store' });
  await admin.call('POST', `${path}/rotate-secret`);
  await admin.call('PUT', `${path}/toggle`, { enabled: false });
  await admin.call('PUT', `${path}/toggle`, { enabled: true });
  const { data } = (await admin.call('GET', '/api/v1/events?types=app.credentials_changed')).body;
  t.deepEqual(
    data.map((event: { data: { object: object } }) => event.data.object),
    ['created', 'webhook', 'webhook_secret', 'widened', 'secret', 'enabled'].map((change) => ({
      clientId: id,
      change,
      by: 'alice',
    })),
  );
  t.deepEqual((await admin.call('GET', `${path}/webhook/deliveries`)).body.data, []);
});

test('granting webhook:write requires the password; the application then changes its webhook with its token', async (t) => {
  const service = await startService(t, atLive);
  const admin = await firstAdmin(service);
  const shop = await service.merchant({ scopes: ['payment:read'] });
  service.clock.advance(301);
  const grant = () =>
    admin.call('PUT', `/api/v1/api-apps/${shop.clientId}`, {
      scopes: ['payment:read', 'webhook:read', 'webhook:write'],
    });
  refused(t, await grant(), 403, CODE);
  refused(t, await shop.call('GET', '/api/v2/webhook'), 403, 'insufficient_scope');
  t.is((await admin.call('POST', '/api/v1/me/confirm', { password })).status, 200);
  t.is((await grant()).status, 200);
  const own = await service.merchant({ scopes: ['webhook:write'] });
  service.clock.advance(301);
  t.is((await own.call('PUT', '/api/v2/webhook', { url: 'https://shop.example/told' })).status, 201);
  t.is((await own.call('POST', '/api/v2/webhook/rotate-secret', {})).status, 200);
});

test('loosening the limits of an application requires the password, and tightening them does not', async (t) => {
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
