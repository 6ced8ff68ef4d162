import test from 'ava';
import { loosens } from '../../../server/identity/api-app-rows.ts';
import { appWithToken, identityApp, tokenOf } from '../../support/identity-app.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { until } from '../../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
const app = await identityApp(file);
coverRoutes(test, file);

const base = '/api/v1/api-apps';
const order = `insert into orders (order_no, client_id, kind, project, mode, pay_way, account, config_version, scene,
  subject, amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded,
  refunding, overrun, sequence, place_tries, absent_count, captures, checks, created_at, sent_at, expires_at)
  values ('P1', ?, 'payment', 'default', 'live', 'alipay', 'a', 1, 'qr', 's', 1, 'CNY', '', false, '', 'created', false,
  false, 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), now(), now())`;
const shop = { name: 'shop', scopes: ['payment:write', 'payment:read'] };

test.serial('an application is created with its secret shown once, stored as a hash', async (t) => {
  const token = await app.login();
  const { status, body } = await app.call('POST', base, { token, body: shop });
  t.is(status, 201);
  const { client_secret: secret, ...shown } = body.data;
  t.regex(shown.client_id, /^app_[0-9a-z]{20}$/);
  t.regex(secret, /^pays_[\w-]{43}$/);
  t.like(shown, { name: 'shop', project: 'default', scopes: shop.scopes, enabled: true, trusted: false });
  t.like(shown, { allowedIps: [], rateLimit: null, remark: null, lastUsedAt: null });
  t.deepEqual(shown.latePayment, { afterExpiry: 'accept', afterClose: 'refund', afterFailed: 'refund' });
  t.is(shown.secretHint, `pays_…${secret.slice(-4)}`);
  t.deepEqual((await app.call('GET', `${base}/${shown.client_id}`, { token })).body.data, shown);
  const rows = await app.on.database.em.fork().execute('select * from api_apps, audit_log');
  t.false(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(secret));
});

test.serial('lists are newest first, in pages, filtered, without the console application', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  for (const name of ['one', 'two', 'three']) await app.call('POST', base, { token, body: { ...shop, name } });
  const names = async (query: string) => {
    const { body } = await app.call('GET', `${base}${query}`, { token });
    return { names: body.data.map((one: { name: string }) => one.name), next: body.page.nextCursor };
  };
  const first = await names('?limit=2');
  t.deepEqual(first.names, ['three', 'two']);
  t.deepEqual(await names(`?limit=2&cursor=${first.next}`), { names: ['one'], next: null });
  t.deepEqual((await names('?name=two&enabled=true&project=default')).names, ['two']);
  t.deepEqual((await names('?enabled=false')).names, []);
  for (const path of [`${base}/console`, `${base}/app_x`]) {
    t.is((await app.call('GET', path, { token })).status, 404);
    t.is((await app.call('POST', `${path}/rotate-secret`, { token })).status, 404);
  }
  for (const query of ['?limit=0', '?limit=201', '?cursor=x', '?naem=x', '?name=a&name=b']) {
    t.is((await app.call('GET', `${base}${query}`, { token })).status, 400, query);
  }
});

test.serial('invalid settings are rejected by member and write nothing', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const faults: [object, string][] = [
    [{ ...shop, scopes: [] }, '/scopes'],
    [{ ...shop, scopes: ['payment:all'] }, '/scopes/0'],
    [{ ...shop, scopes: ['admin'] }, '/scopes'],
    [{ ...shop, scopes: ['payment:read', 'cert:manage'], trusted: false }, '/scopes'],
    [{ ...shop, scopes: 'payment:read' }, '/scopes'],
    [{ ...shop, project: 'nowhere' }, '/project'],
    [{ ...shop, project: { $ne: 'x' } }, '/project'],
    [{ ...shop, allowedIps: ['10.0.0.0/33'] }, '/allowedIps/0'],
    [{ ...shop, allowedIps: ['192.0.2.1', 'example.com'] }, '/allowedIps/1'],
    [{ ...shop, rateLimit: -1 }, '/rateLimit'],
    [{ ...shop, rateLimit: '5' }, '/rateLimit'],
    [{ ...shop, latePayment: { afterClose: 'keep' } }, '/latePayment/afterClose'],
    [{ ...shop, name: '' }, '/name'],
    [{ ...shop, name: 'a\u0007b' }, '/name'],
  ];
  for (const [body, pointer] of faults) {
    const answer = await app.call('POST', base, { token, body });
    t.is(answer.status, 400, pointer);
    t.is(answer.body.errors[0].pointer, pointer);
  }
  t.deepEqual((await app.call('GET', base, { token })).body.data, []);
});

test.serial('PUT merges, null clears, and unknown members are rejected', async (t) => {
  const token = await app.login();
  const full = { ...shop, allowedIps: ['192.0.2.1'], rateLimit: 5, remark: 'x', latePayment: { afterClose: 'accept' } };
  const { client_id } = (await app.call('POST', base, { token, body: full })).body.data;
  const put = async (body: object) => (await app.call('PUT', `${base}/${client_id}`, { token, body })).body;
  const others = await put({ name: 'store', project: 'other', enabled: false, secretHash: 'x', client_id: 'y' });
  t.deepEqual(
    others.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`),
    ['/project', '/enabled', '/secretHash', '/client_id'].map((pointer) => `${pointer} unknown_member`),
  );
  const kept = (await put({ name: 'store' })).data;
  t.like(kept, { client_id, name: 'store', project: 'default', enabled: true, rateLimit: 5, remark: 'x' });
  t.deepEqual(kept.allowedIps, ['192.0.2.1/32']);
  const cleared = (await put({ rateLimit: null, remark: null, allowedIps: [], latePayment: null })).data;
  t.like(cleared, { rateLimit: null, remark: null, latePayment: { afterClose: 'refund' } });
  t.is((await put({ scopes: ['config:read'] })).errors[0].code, 'trust_required');
  t.deepEqual((await put({ scopes: ['config:read'], trusted: true })).data.scopes, ['config:read']);
  t.is((await put({ trusted: false })).errors[0].code, 'trust_required');
});

test.serial(
  'rotation without grace ends the old secret and live tokens, and with grace both work until it expires',
  async (t) => {
    let time = Date.now();
    const app = await identityApp(t, { now: () => new Date(time) });
    const admin = await app.login();
    const { client_id, client_secret, token } = await appWithToken(app, admin);
    const rotate = (body?: object) => app.call('POST', `${base}/${client_id}/rotate-secret`, { token: admin, body });
    const works = async (secret: string) => {
      const body = { grant_type: 'client_credentials', client_id, client_secret: secret };
      return (await app.call('POST', '/oauth/token', { body })).status === 200;
    };
    const alive = async (of: string) => (await app.call('GET', '/api/v2/me', { token: of })).status === 200;
    const graceful = (await rotate({ graceSeconds: 60 })).body.data;
    t.is(Date.parse(graceful.previousSecretExpiresAt), time + 60_000);
    t.deepEqual(
      [await works(client_secret), await works(graceful.client_secret), await alive(token)],
      [true, true, true],
    );
    time += 60_000;
    t.deepEqual([await works(client_secret), await works(graceful.client_secret)], [false, true]);
    const revoking = (await rotate({ graceSeconds: 60, revokeTokens: true })).body.data;
    t.deepEqual([await works(graceful.client_secret), await alive(token)], [true, false]);
    const live = await tokenOf(app, { client_id, client_secret: revoking.client_secret });
    const hard = (await rotate()).body.data;
    t.is(hard.previousSecretExpiresAt, null);
    t.deepEqual([await works(graceful.client_secret), await works(revoking.client_secret)], [false, false]);
    t.deepEqual([await works(hard.client_secret), await alive(live)], [true, false]);
    t.is((await rotate({ graceSeconds: 604_801 })).status, 400);
  },
);

test.serial('a prepared secret ends nothing until it is activated, and then acts as the rotation states', async (t) => {
  let time = Date.now();
  const app = await identityApp(t, { now: () => new Date(time) });
  let admin = await app.login();
  const { client_id, client_secret, token } = await appWithToken(app, admin);
  const path = `${base}/${client_id}`;
  const rotate = (body?: object) => app.call('POST', `${path}/rotate-secret`, { token: admin, body });
  const works = async (secret: string) => {
    const body = { grant_type: 'client_credentials', client_id, client_secret: secret };
    return (await app.call('POST', '/oauth/token', { body })).status === 200;
  };
  const alive = async () => (await app.call('GET', '/api/v2/me', { token })).status === 200;
  const prepare = async (more = {}) => (await rotate({ ...more, prepare: true })).body.data;

  const lost = await prepare();
  t.is(lost.previousSecretExpiresAt, null, 'no expiry before the activation');
  const { secretHint } = (await app.call('GET', path, { token: admin })).body.data;
  t.true(secretHint.endsWith(client_secret.slice(-4)), 'the old one is still the one');
  const stored = await prepare();
  t.deepEqual(
    [await works(client_secret), await works(lost.client_secret), await works(stored.client_secret), await alive()],
    [true, false, true, true],
  );
  refused(t, await rotate({ secret: lost.client_secret }), 409, 'changed_meanwhile');
  const done = (await rotate({ secret: stored.client_secret })).body.data;
  t.is(done.client_secret, stored.client_secret);
  t.deepEqual(
    [await works(client_secret), await works(stored.client_secret), await alive()],
    [false, true, false],
    'without grace the old secret and its tokens end',
  );
  t.is((await rotate({ secret: stored.client_secret })).status, 200, 'the same request again changes nothing');

  const next = await prepare({ graceSeconds: 60 });
  t.is(Date.parse(next.previousSecretExpiresAt), time + 60_000);
  time += 1000;
  await rotate({ graceSeconds: 60, secret: next.client_secret });
  t.deepEqual([await works(stored.client_secret), await works(next.client_secret)], [true, true]);
  time += 60_000;
  t.deepEqual([await works(stored.client_secret), await works(next.client_secret)], [false, true]);

  const late = await prepare();
  time += 15 * 60_000;
  admin = await app.login();
  refused(t, await rotate({ secret: late.client_secret }), 409, 'changed_meanwhile');
  t.deepEqual([await works(late.client_secret), await works(next.client_secret)], [false, true]);
});

test.serial('disabling rejects tokens and ends live ones, and enabling does not restore them', async (t) => {
  const admin = await app.login();
  const { client_id, client_secret, token } = await appWithToken(app, admin);
  const toggle = (body?: object) => app.call('PUT', `${base}/${client_id}/toggle`, { token: admin, body });
  t.false((await toggle({ enabled: false })).body.data.enabled);
  t.false((await toggle({ enabled: false })).body.data.enabled);
  const body = { grant_type: 'client_credentials', client_id, client_secret };
  t.is((await app.call('POST', '/oauth/token', { body })).status, 401);
  t.is((await app.call('GET', '/api/v2/me', { token })).status, 401);
  t.true((await toggle()).body.data.enabled);
  t.is((await app.call('GET', '/api/v2/me', { token })).status, 401);
  const fresh = await tokenOf(app, { client_id, client_secret });
  await app.call('POST', `${base}/${client_id}/revoke-tokens`, { token: admin });
  t.is((await app.call('GET', '/api/v2/me', { token: fresh })).status, 401);
  t.truthy(await tokenOf(app, { client_id, client_secret }));
});

test.serial('an address list applies to existing tokens and to requests for new ones', async (t) => {
  const app = await identityApp(t, { trustedProxies: 1 });
  const admin = await app.login();
  const { client_id, client_secret, token } = await appWithToken(app, admin);
  const from = (ip: string) => ({ token, headers: { 'x-forwarded-for': ip } });
  const body = { allowedIps: ['192.0.2.0/24', '2001:db8::/32'] };
  await app.call('PUT', `${base}/${client_id}`, { token: admin, body });
  const seen: Record<string, number> = {};
  for (const ip of ['192.0.2.77', '::ffff:192.0.2.1', '2001:db8::5', '192.0.3.1', '2001:db9::1'])
    seen[ip] = (await app.call('GET', '/api/v2/me', from(ip))).status;
  t.deepEqual(Object.values(seen), [200, 200, 200, 403, 403]);
  const ask = { grant_type: 'client_credentials', client_id, client_secret };
  const refusal = await app.call('POST', '/oauth/token', { body: ask, headers: { 'x-forwarded-for': '192.0.3.1' } });
  t.deepEqual([refusal.status, refusal.body.error], [403, 'unauthorized_client']);
});

test.serial('deleting ends tokens immediately, and an application with orders cannot be deleted', async (t) => {
  const admin = await app.login();
  const { client_id, client_secret, token } = await appWithToken(app, admin);
  t.is((await app.call('DELETE', `${base}/${client_id}`, { token: admin })).status, 204);
  t.is((await app.call('GET', '/api/v2/me', { token })).status, 401);
  const body = { grant_type: 'client_credentials', client_id, client_secret };
  t.is((await app.call('POST', '/oauth/token', { body })).status, 401);
  t.is((await app.call('DELETE', `${base}/${client_id}`, { token: admin })).status, 404);
  const used = await appWithToken(app, admin);
  await app.on.database.em.fork().execute(order, [used.client_id]);
  const kept = await app.call('DELETE', `${base}/${used.client_id}`, { token: admin });
  t.deepEqual([kept.status, kept.body.code], [409, 'in_use']);
  t.is((await app.call('GET', '/api/v2/me', { token: used.token })).status, 200);
});

test.serial('lastUsedAt is updated by use', async (t) => {
  let time = Date.now();
  const app = await identityApp(t, { now: () => new Date(time) });
  const admin = await app.login();
  const { client_id, token } = await appWithToken(app, admin);
  const lastUsed = async () =>
    (await app.call('GET', `${base}/${client_id}`, { token: admin })).body.data.lastUsedAt as string;
  t.is(Date.parse(await lastUsed()), time);
  time += 120_000;
  await app.call('GET', '/api/v2/me', { token });
  await until('the use was noted', async () => Date.parse(await lastUsed()) === time);
});

test.serial('an unknown application is 404 at every operation', async (t) => {
  const { admin } = file;
  refused(t, await admin('GET', `${base}/app_x`), 404, 'not_found');
  refused(t, await admin('PUT', `${base}/app_x`, { name: 'store' }), 404, 'not_found');
  refused(t, await admin('PUT', `${base}/app_x/toggle`, {}), 404, 'not_found');
  refused(t, await admin('POST', `${base}/app_x/rotate-secret`, {}), 404, 'not_found');
  refused(t, await admin('POST', `${base}/app_x/revoke-tokens`), 404, 'not_found');
  refused(t, await admin('DELETE', `${base}/app_x`), 404, 'not_found');
});

test.serial('a switch accepts only true or false', async (t) => {
  const { clientId } = await file.shop();
  refused(t, await file.admin('PUT', `${base}/${clientId}/toggle`, { enabled: 'no' }), 400, 'invalid_request');
});

test.serial('limits are set by currency, merged, shown in major units, audited, and rejected by member', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const made = await app.call('POST', base, { token, body: { ...shop, limits: { CNY: { perDay: '1000.50' } } } });
  t.is(made.status, 201);
  const path = `${base}/${made.body.data.client_id}`;
  const none = { perOrder: null, perDay: null, perMonth: null, refundPerDay: null, ordersPerHour: null };
  t.deepEqual(made.body.data.limits, { CNY: { ...none, perDay: 1000.5 } });
  const put = async (limits: unknown) => (await app.call('PUT', path, { token, body: { limits } })).body;
  const more = { CNY: { ordersPerHour: 60 }, JPY: { perOrder: 5000 } };
  const both = { CNY: { ...none, perDay: 1000.5, ordersPerHour: 60 }, JPY: { ...none, perOrder: 5000 } };
  t.deepEqual((await put(more)).data.limits, both);
  const faults: [object, string, string][] = [
    [{ CNY: { perDay: '' } }, '/limits/CNY/perDay', 'amount_invalid'],
    [{ CNY: { perDay: -1 } }, '/limits/CNY/perDay', 'amount_invalid'],
    [{ CNY: { perDay: 1.001 } }, '/limits/CNY/perDay', 'amount_invalid'],
    [{ CNY: { perMonth: '1e3' } }, '/limits/CNY/perMonth', 'amount_invalid'],
    [{ CNY: { perOrder: 100_000_001 } }, '/limits/CNY/perOrder', 'amount_invalid'],
    [{ JPY: { perOrder: 1.5 } }, '/limits/JPY/perOrder', 'amount_invalid'],
    [{ ZZZ: { perOrder: 1 } }, '/limits/ZZZ', 'currency_unknown'],
  ];
  for (const [limits, pointer, code] of faults)
    t.like((await put(limits)).errors[0], { pointer, code }, JSON.stringify(limits));
  for (const limits of [{ CNY: { perday: 1 } }, { cny: { perDay: 1 } }, { CNY: { ordersPerHour: -1 } }, [], 5])
    t.is((await app.call('PUT', path, { token, body: { limits } })).status, 400, JSON.stringify(limits));
  t.deepEqual((await app.call('GET', path, { token })).body.data.limits, both, 'nothing was written');
  t.deepEqual((await put({ JPY: null, CNY: { perDay: null } })).data.limits, { CNY: { ...none, ordersPerHour: 60 } });
  const last = await put({ CNY: null });
  t.like(last, { code: 'invalid_request', errors: [{ pointer: '/limits/CNY', code: 'last_currency' }] });
  t.deepEqual((await put({ CNY: null, USD: { perDay: 1 } })).data.limits, { USD: { ...none, perDay: 1 } });
  t.deepEqual((await put({ USD: null, CNY: { ordersPerHour: 60 } })).data.limits, {
    CNY: { ...none, ordersPerHour: 60 },
  });
  t.is((await put(null)).data.limits, null);
  t.is((await put({ CNY: null })).data.limits, null, 'there is no limit to remove');
  await put({ CNY: { ordersPerHour: 60 } });
  await put(null);
  const { data } = (await app.call('GET', '/api/v1/audit-log?action=app.update', { token })).body;
  t.deepEqual(data[0].before.limits, { CNY: { ordersPerHour: 60 } });
  t.is(data[0].after.limits, null);
});

test('looser limits are distinguished from tighter ones', (t) => {
  const before = { CNY: { perDay: '100', ordersPerHour: 5 } };
  const cases: [Parameters<typeof loosens>[1], boolean][] = [
    [{ CNY: { perDay: '100', ordersPerHour: 5, perOrder: '1' } }, false],
    [{ CNY: { perDay: '99', ordersPerHour: 4 } }, false],
    [{ CNY: { perDay: '101', ordersPerHour: 5 } }, true],
    [{ CNY: { ordersPerHour: 5 } }, true],
    [{ ...before, USD: {} }, true],
    [null, true],
  ];
  for (const [after, wanted] of cases) t.is(loosens(before, after), wanted, JSON.stringify(after));
  t.false(loosens(null, before));
});
