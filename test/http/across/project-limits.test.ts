import test from 'ava';
import { randomUUID } from 'node:crypto';
import { newBill } from '../../../server/payments/bills/payees.ts';
import { type AdminAuth, NAMED_BY, type Thing } from '../../../server/http/contract.ts';
import { scopes } from '../../../server/domain.ts';
import { as, type Call, firstAdmin } from '../../support/admin.ts';
import { disputed } from '../../support/disputes.ts';
import { payee } from '../../support/bill-rows.ts';
import { payOrder } from '../../support/orders.ts';
import { allRoutes } from '../../support/routes.ts';
import { type Answer, type Merchant, request, type Service, startService, until } from '../../support/service.ts';
import { addSkill, offerSkill } from '../../support/skillpay.ts';
import { fingerprints } from '../../support/tables.ts';

/** The kinds of object of a project that the tests request. */
type Things = Record<Thing, string>;

/** Creates one object of each kind in a project. */
async function furnish(service: Service, admin: Call, project: string): Promise<Things> {
  const shop = await service.merchant({ project, trusted: true, scopes: scopes.filter((one) => one !== 'admin') });
  await admin('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, { url: 'http://127.0.0.1:9/hook' });
  const order = await payOrder(service, shop, { userId: 'payer-1', merchantOrderNo: 'same-number' });
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo: order, refundAmount: 6 });
  const disputedOrder = await payOrder(service, shop, { payWay: 'paypal' });
  await addSkill(service, { project });
  await offerSkill(shop);
  await admin('POST', `/api/v1/coins?project=${project}`, { code: 'gold', name: 'Gold' });
  const gift = { userId: 'payer-1', amount: 5, reason: 'A gift' };
  await admin('POST', `/api/v1/coins/gold/adjustments?project=${project}`, gift);
  const certs = (await shop.call('POST', '/api/v2/certs/list', {})).body.data;
  const { data: events } = (await admin('GET', `/api/v1/events?project=${project}&types=order.paid`)).body;
  return {
    project,
    app: shop.clientId,
    order,
    refund: refund.body.data.refundNo,
    approval: refund.body.data.refundNo,
    dispute: await disputed(service, disputedOrder, 'open', 'open'),
    exception: await mismatch(service, admin, shop),
    event: events[0].id,
    bill: await bill(service, project),
    cert: certs[0].id,
  };
}

async function mismatch(service: Service, admin: Call, shop: Merchant): Promise<string> {
  const asked = { subject: 'Test', amount: 10, payWay: 'wechat' };
  const { orderNo } = (await shop.call('POST', '/api/v2/payment/pay', asked)).body.data;
  const fault = { payWay: 'wechat', orderNo };
  await service.sim('/sim/faults', { ...fault, call: 'query', fault: 'wrong-amount', times: 1 });
  await service.sim('/sim/faults', { ...fault, call: 'notice', fault: 'drop-notify', probability: 1 });
  await service.sim('/sim/pay', { orderNo });
  await admin('POST', `/api/v1/orders/${orderNo}/sync`);
  return (await admin('GET', `/api/v1/exceptions?orderNo=${orderNo}`)).body.data[0].id;
}

/** A bill of the Alipay account of the project. */
async function bill({ app, clock }: Service, project: string): Promise<string> {
  const [config] = await app.store.read((tx) => tx.channelConfigs.list({ project, payWay: 'alipay' }));
  const { account, mode } = config!;
  const row = newBill({ payWay: 'alipay', account, mode, project, day: '2026-01-31' }, null, clock.now());
  await app.store.transaction((tx) => tx.bills.insert(row));
  return row.billNo;
}

const NOTHING: Things = {
  project: 'nothing',
  app: 'app_nothing',
  order: 'P20300131080000ABCDEFGHJK',
  refund: 'R20300131080000ABCDEFGHJK',
  approval: 'R20300131080000ABCDEFGHJK',
  dispute: 'D20300131080000ABCDEFGHJK',
  exception: randomUUID(),
  event: 'evt_nothing',
  bill: 'B20300131080000ABCDEFGHJK',
  cert: randomUUID(),
};

/** Bodies that match the schemas, so that no answer is about an invalid body. */
const BODIES: Record<string, unknown> = {
  'PUT /api/v1/api-apps/{client_id}': { name: 'stolen' },
  'PUT /api/v1/api-apps/{client_id}/toggle': {},
  'POST /api/v1/api-apps/{client_id}/rotate-secret': {},
  'PUT /api/v1/api-apps/{client_id}/webhook': { url: 'http://127.0.0.1:9/stolen' },
  'POST /api/v1/api-apps/{client_id}/webhook/rotate-secret': {},
  'POST /api/v1/approvals/{refundNo}/reject': { reason: 'No' },
  'POST /api/v1/bills/{billNo}/quiet': { reason: 'Not mine' },
  'POST /api/v1/disputes/{disputeNo}/answer': { text: 'Ours' },
  'POST /api/v1/disputes/{disputeNo}/accept': { note: 'Yours' },
  'POST /api/v1/disputes/{disputeNo}/finish': {},
  'POST /api/v1/exceptions/{id}/resolve': { action: 'accept', reason: 'Why not' },
  'POST /api/v1/orders/{orderNo}/refunds': {},
  'POST /api/v1/refunds/{refundNo}/resolve': { action: 'paid_elsewhere', reason: 'In cash' },
  'PUT /api/v1/projects/{code}': { name: 'Stolen' },
  'PUT /api/v1/projects/{code}/toggle': {},
  'POST /api/v1/certs/list': {},
  'POST /api/v1/certs/upload': { payWay: 'alipay', kind: 'alipay_public_key', content: 'x' },
  'POST /api/v1/coins': { code: 'silver', name: 'Silver' },
  'PUT /api/v1/coins/{code}': { name: 'Lead' },
  'PUT /api/v1/coins/{code}/toggle': {},
  'POST /api/v1/coins/{code}/adjustments': { userId: 'payer-1', amount: -5, reason: 'Theft' },
  'POST /api/v1/payment/config/{payWay}': {},
  'POST /api/v1/payment/config/{payWay}/test': {},
  'PUT /api/v1/payment/config/{payWay}/toggle': {},
  'POST /api/v1/products': {
    code: 'tea',
    name: 'Tea',
    kind: 'goods',
    price: 1,
    currency: 'CNY',
    payWays: ['alipay'],
  },
  'PUT /api/v1/products/{code}': { name: 'Stolen' },
  'PUT /api/v1/products/{code}/toggle': {},
  'PUT /api/v1/skillpay/agent-pay': {},
  'POST /api/v1/users': { userId: 'payer-2' },
  'PUT /api/v1/users/{userId}': { nickname: 'Stolen' },
  'PUT /api/v1/users/{userId}/toggle': {},
};

interface Asked {
  name: string;
  method: string;
  path: string;
  auth: AdminAuth;
}

async function routesAbout(is: (projectScope: AdminAuth['projectScope']) => boolean): Promise<Asked[]> {
  return (await allRoutes()).flatMap(({ method, path, contract: { auth } }) =>
    typeof auth === 'object' && 'admin' in auth && is(auth.projectScope)
      ? [{ name: `${method} ${path}`, method, path, auth }]
      : [],
  );
}

/** An answer without the members that differ between any two answers. */
function same({ status, headers, body }: Answer) {
  const { requestId: _, ...rest }: Record<string, unknown> = typeof body === 'object' ? body : { body };
  const kept = [...headers.entries()].filter(
    ([name]) => !['x-request-id', 'date', 'idempotency-key-ignored'].includes(name),
  );
  return { status, body: rest, headers: kept };
}

const ends: (() => unknown)[] = [];
const service = await startService(
  { teardown: (end) => void ends.push(end) },
  { env: { PAY_APPROVAL_REFUND_ABOVE: '5', PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } },
);
const { call: admin } = await firstAdmin(service);
for (const code of ['ours', 'theirs']) await admin('POST', '/api/v1/projects', { code, name: code });
const ours = await furnish(service, admin, 'ours');
const theirs = await furnish(service, admin, 'theirs');
const ann = { username: 'ann', password: 'nine-slow-herons-wade' };
await admin('POST', '/api/v1/admins', { ...ann, role: 'admin', projects: ['ours'] });
const { token } = (await request(service.url, 'POST', '/api/v1/login', ann)).body.data;
const limited = as(service, token);

test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

test.serial('an object of another project is answered at every route exactly like a missing one', async (t) => {
  const routes = await routesAbout((projectScope) => Object.hasOwn(NAMED_BY, projectScope));
  const before = await fingerprints(service);
  for (const { name, method, path, auth } of routes) {
    const thing = auth.projectScope as Thing;
    const member = NAMED_BY[thing];
    const ask = (by: Call, id: string) => {
      const body = path.includes(`{${member}}`) ? BODIES[name] : { [member]: id, refundAmount: 1 };
      return by(method, path.replace(`{${member}}`, id), body);
    };
    const [other, none] = [await ask(limited, theirs[thing]), await ask(limited, NOTHING[thing])];
    t.is(other.status, 404, `${name}: ${JSON.stringify(other.body)}`);
    t.deepEqual(same(other), same(none), name);
  }
  t.deepEqual(await fingerprints(service), before, 'nothing was changed');
  for (const { name, path, auth } of routes.filter(({ method }) => method === 'GET')) {
    const thing = auth.projectScope as Thing;
    const ask = (by: Call, id: string) => by('GET', path.replace(`{${NAMED_BY[thing]}}`, id));
    const [own, free] = [await ask(limited, ours[thing]), await ask(admin, theirs[thing])];
    t.deepEqual([own.status, free.status], [200, 200], `${name}: ${JSON.stringify(own.body)}`);
  }
  t.log(`${routes.length} routes`);
});

test.serial(
  'a request that names another project is answered exactly like one that names a missing project',
  async (t) => {
    const routes = await routesAbout((projectScope) => projectScope === 'query');
    const before = await fingerprints(service);
    for (const { name, method, path } of routes) {
      const values: Record<string, string> = {
        payWay: 'alipay',
        userId: 'payer-1',
        code: name.includes('product') ? 'weather' : 'gold',
      };
      const filled = path.replace(/\{(\w+)\}/g, (_, member: string) => values[member] ?? '');
      const ask = (by: Call, project: string) => by(method, `${filled}?project=${project}`, BODIES[name]);
      const [other, none] = [await ask(limited, 'theirs'), await ask(limited, 'nothing')];
      t.is(other.status, 404, `${name}: ${JSON.stringify(other.body)}`);
      t.deepEqual(same(other), same(none), name);
      if (method !== 'GET' || path.includes('agent-pay')) continue;
      t.is((await ask(admin, 'theirs')).status, 200, name);
      const own = await by(filled);
      t.is(own.status, 200, `${name}: the only project is meant when none is named`);
    }
    t.deepEqual(await fingerprints(service), before, 'nothing was changed');
    t.log(`${routes.length} routes`);

    function by(path: string) {
      return limited('GET', path);
    }
  },
);

/** Figures name no project, so they are compared with the figures of the project. */
const FIGURES = ['GET /api/v1/stats/overview', 'GET /api/v1/stats/settlement'];
const STREAM = 'GET /api/v1/events/stream';
const EXPORT = 'GET /api/v1/orders/export';

test.serial("lists show only objects of the administrator's projects, whatever filter is used", async (t) => {
  const routes = await routesAbout((projectScope) => projectScope === 'filter');
  for (const { name, path } of routes) {
    if (path !== '/api/v1/projects') {
      const other = await limited('GET', `${path}?project=theirs`);
      t.is(other.status, 404, name);
      t.deepEqual(same(other), same(await limited('GET', `${path}?project=nothing`)), name);
    }
    if ([...FIGURES, STREAM, EXPORT].includes(name)) continue;
    const mode = path.endsWith('skillpay') ? '?mode=simulator' : '';
    const { data } = (await limited('GET', path + mode)).body;
    t.true(data.length > 0, name);
    for (const one of data as Record<string, string>[]) {
      const whose = path.endsWith('/projects') ? one['code'] : one['project'];
      if (whose !== undefined) t.is(whose, 'ours', name);
      for (const id of Object.values(theirs)) t.false(JSON.stringify(one).includes(id), `${name}: ${id}`);
    }
    const everybody = (await admin('GET', path + mode)).body.data as unknown[];
    t.true(everybody.length > data.length, `${name} has more than that`);
  }
  for (const filter of [`clientId=${theirs.app}`, `orderNo=${theirs.order}`, 'merchantOrderNo=same-number'])
    t.false(JSON.stringify((await limited('GET', `/api/v1/orders?${filter}`)).body).includes(theirs.order), filter);
  t.deepEqual((await limited('GET', `/api/v1/refunds?refundNo=${theirs.refund}`)).body.data, []);
  t.deepEqual((await limited('GET', `/api/v1/exceptions?orderNo=${theirs.order}`)).body.data, []);
  t.deepEqual((await limited('GET', `/api/v1/events?objectNo=${theirs.order}`)).body.data, []);
});

test.serial("figures, exports and streams cover only the administrator's projects", async (t) => {
  for (const path of [
    '/api/v1/stats/overview?mode=simulator',
    '/api/v1/stats/settlement?mode=simulator&to=2026-01-31',
  ]) {
    const [mine, project, all] = await Promise.all([
      limited('GET', path),
      admin('GET', `${path}&project=ours`),
      admin('GET', path),
    ]);
    const figures = ({ body: { data } }: Answer) => data.totals;
    t.deepEqual(figures(mine), figures(project), path);
    if (path.includes('overview')) t.notDeepEqual(figures(mine), figures(all), path);
  }
  const exported = String((await limited('GET', '/api/v1/orders/export')).body);
  t.true(exported.includes(ours.order));
  t.false(exported.includes(theirs.order));
  const stream = await fetch(`${service.url}/api/v1/events/stream?after=0`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data: last } = (await limited('GET', '/api/v1/events?limit=200')).body;
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(last.at(-1).id)) text += (await reader.read()).value ?? '';
  await reader.cancel();
  t.false(text.includes('"project":"theirs"'));
  t.true(text.includes('"project":"ours"'));
});

test.serial(
  'a request that names its project in the body may name only an own project, and the only one is the default',
  async (t) => {
    const app = { name: 'mine', scopes: ['payment:read'] };
    const pay = { subject: 'Tea', amount: 1, payWay: 'alipay' };
    const paths = [
      ['/api/v1/api-apps', app],
      ['/api/v1/console/payment/pay', pay],
    ] as const;
    t.deepEqual(
      (await routesAbout((projectScope) => projectScope === 'body')).map(({ path }) => path).toSorted(),
      paths.map(([path]) => path),
    );
    for (const [path, body] of paths) {
      const [other, none] = await Promise.all([
        limited('POST', path, { ...body, project: 'theirs' }),
        limited('POST', path, { ...body, project: 'nothing' }),
      ]);
      t.is(other.status, 404, path);
      t.deepEqual(same(other), same(none), path);
      t.is((await limited('POST', path, body)).status, 201, path);
    }
    t.is((await limited('GET', '/api/v1/api-apps?name=mine')).body.data[0].project, 'ours');
  },
);

test.serial(
  'bills of an account shared by several projects are visible to administrators of all of those projects',
  async (t) => {
    const routes = await routesAbout((projectScope) => projectScope === 'account');
    t.is(routes.length, 2);
    const of = { payWay: 'alipay', day: '2026-01-30' };
    t.is((await limited('POST', '/api/v1/bills', { ...of, project: 'theirs' })).status, 404);
    t.is(
      (
        await limited('POST', '/api/v1/bills/import?payWay=alipay&day=2026-01-30&project=theirs', new Uint8Array(1), {
          'content-type': 'application/octet-stream',
        })
      ).status,
      404,
    );
    t.is((await limited('POST', '/api/v1/bills', of)).body.data.project, 'ours');
    t.is((await limited('GET', '/api/v1/bills')).body.data.length, 2);
    const [config] = await service.app.store.read((tx) =>
      tx.channelConfigs.list({ project: 'ours', payWay: 'alipay' }),
    );
    const shared = { ...config!, id: randomUUID(), project: 'theirs', version: 99 };
    await service.app.store.transaction((tx) => tx.channelConfigs.insert(shared));
    const statuses = () =>
      Promise.all(
        ['', '/differences', '/lines'].map(
          async (path) => (await limited('GET', `/api/v1/bills/${ours.bill}${path}`)).status,
        ),
      );
    await service.app.bills.plan();
    t.deepEqual(await statuses(), [200, 200, 200], 'an account that another project only names stays ours');
    const isListed = async () =>
      (await limited('GET', '/api/v1/bills')).body.data.some((one: { billNo: string }) => one.billNo === ours.bill);
    t.true(await isListed());
    t.is((await limited('POST', '/api/v1/bills', of)).body.data.project, 'ours');
    await service.app.store.transaction(async (tx) => {
      for (const { project, version } of [config!, shared]) {
        await tx.payees.delete({ project, payWay: 'alipay', version });
        await tx.payees.insert(payee({ ...config!, project, account: config!.account }, version));
      }
    });
    t.deepEqual(await statuses(), [404, 404, 404], 'the channel answered to the keys of both');
    t.is((await limited('POST', `/api/v1/bills/${ours.bill}/quiet`, { reason: 'Not mine alone' })).status, 404);
    t.is((await limited('DELETE', `/api/v1/bills/${ours.bill}/quiet`)).status, 404);
    t.deepEqual(await service.app.store.read((tx) => tx.quietAccounts.list({})), []);
    t.false(await isListed());
    const asked = await limited('POST', '/api/v1/bills', of);
    t.deepEqual([asked.status, asked.body.code], [403, 'beyond_projects']);
    t.is((await limited('GET', '/api/v1/stats/settlement?mode=simulator')).status, 200);
    t.is((await admin('GET', `/api/v1/bills/${ours.bill}`)).status, 200);
  },
);

test.serial('an administrator limited to several projects sees objects of all of them', async (t) => {
  const both = { username: 'both', password: 'nine-slow-herons-wade' };
  const made = await admin('POST', '/api/v1/admins', { ...both, role: 'viewer', projects: ['theirs', 'ours'] });
  t.is(made.status, 201);
  const login = await request(service.url, 'POST', '/api/v1/login', both);
  const call = as(service, login.body.data.token);
  const { data } = (await call('GET', '/api/v1/orders?limit=200')).body;
  const whose = new Set(data.map((one: { project: string }) => one.project));
  t.deepEqual([...whose].toSorted(), ['ours', 'theirs']);
  t.is((await call('GET', '/api/v1/products')).status, 404, 'the project must be named');
  t.is((await call('GET', '/api/v1/products?project=theirs')).status, 200);
  t.is((await call('GET', `/api/v1/orders/${theirs.order}`)).status, 200);
});

test.serial('an open stream ends when its administrator is limited to other projects', async (t) => {
  const eve = { username: 'eve', password: 'nine-slow-herons-wade' };
  const { id } = (await admin('POST', '/api/v1/admins', { ...eve, role: 'viewer' })).body.data;
  const login = await request(service.url, 'POST', '/api/v1/login', eve);
  const stream = await fetch(`${service.url}/api/v1/events/stream`, {
    headers: { authorization: `Bearer ${login.body.data.token}` },
  });
  t.is((await admin('PUT', `/api/v1/admins/${id}`, { projects: ['ours'] })).status, 200);
  t.true((await stream.text()).endsWith('event: error\ndata: {"code":"unauthenticated"}\n\n'));
  await until(
    'eve can log in again',
    async () => (await request(service.url, 'POST', '/api/v1/login', eve)).status === 200,
  );
});
