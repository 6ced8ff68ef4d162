import test from 'ava';
import { accepted, catalogApp, notText, spoiled } from '../../support/catalog-app.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin: desk } = file;
coverRoutes(test, file);

const V1 = '/api/v1/users';
const V2 = '/api/v2/users';

test.serial(
  'POST creates a payer (201), POST again changes it (200), omitted members are unchanged, null clears',
  async (t) => {
    const { shop, admin } = await catalogApp(t);
    const made = await shop('POST', V2, {
      userId: 'ann 安',
      nickname: 'Ann',
      email: 'ann@example.com',
      metadata: { a: [1] },
    });
    t.is(made.status, 201);
    t.like(made.body.data, { userId: 'ann 安', project: 'default', nickname: 'Ann', status: 'active' });
    const again = await shop('POST', V2, { userId: 'ann 安', phone: '+86 138-0000-0000' });
    t.is(again.status, 200);
    t.like(again.body.data, { nickname: 'Ann', phone: '+86 138-0000-0000', email: 'ann@example.com' });
    const path = encodeURIComponent('ann 安');
    t.like((await shop('PUT', `${V2}/${path}`, { nickname: null })).body.data, {
      nickname: null,
      email: 'ann@example.com',
    });
    t.like((await admin('GET', `${V1}/${path}`)).body.data, {
      phone: '+86 138-0000-0000',
      totals: [],
      metadata: { a: [1] },
    });
  },
);

test.serial(
  'a payment creates its payer; a blocked payer is refused and an unblocked one pays; totals show payments and refunds',
  async (t) => {
    const { admin, place, pay, refund, finish } = await catalogApp(t);
    const order = await pay(await place({ amount: 12.5, userId: 'ann' }));
    t.like((await admin('PUT', `${V1}/ann/toggle`)).body.data, { status: 'blocked' });
    await t.throwsAsync(place({ amount: 1, userId: 'ann' }), { message: /blocked/ });
    await finish(await refund(order.orderNo, 2.5), 'succeeded');
    t.like((await admin('PUT', `${V1}/ann/toggle`, { enabled: true })).body.data, { status: 'active' });
    await place({ amount: 1, userId: 'ann' });
    const { totals } = (await admin('GET', `${V1}/ann`)).body.data as { totals: unknown[] };
    t.deepEqual(totals, [
      {
        mode: 'simulator',
        payWay: 'alipay',
        currency: 'CNY',
        orders: 2,
        paidOrders: 1,
        paidAmount: 12.5,
        paidAmountMinor: 1250,
        refundedAmount: 2.5,
        refundedAmountMinor: 250,
      },
    ]);
    const orders = await admin('GET', `${V1}/ann/orders?limit=1`);
    t.is((orders.body.data as unknown[]).length, 1);
    t.true(orders.body.page?.hasMore);
    t.is((await admin('GET', `${V1}/bob/orders`)).status, 404);
  },
);

test.serial(
  'DELETE anonymises a payer and keeps orders and the block, and the audit log never contained the personal data',
  async (t) => {
    const { admin, store } = await catalogApp(t);
    await admin('POST', V1, { userId: 'ann', nickname: 'Secret Name', email: 'ann@example.com', status: 'blocked' });
    t.is((await admin('DELETE', `${V1}/ann`)).status, 204);
    const gone = (await admin('GET', `${V1}/ann`)).body.data as { anonymisedAt: string };
    t.like(gone, { nickname: null, email: null, phone: null, metadata: null, status: 'blocked' });
    t.truthy(gone.anonymisedAt);
    t.is((await admin('DELETE', `${V1}/ann`)).status, 204);
    t.is((await admin('DELETE', `${V1}/nobody`)).status, 404);
    const log = JSON.stringify(await store.read((tx) => tx.audit.list({})), (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    t.regex(log, /user\.anonymise/);
    t.notRegex(log, /Secret Name|ann@example/);
  },
);

test.serial('lists are filtered by equality and paged', async (t) => {
  const { shop, admin } = await catalogApp(t);
  for (const userId of ['a', 'b', 'c'])
    await shop('POST', V2, { userId, email: `${userId}@example.com`, phone: '12345' });
  await admin('PUT', `${V1}/b/toggle`);
  const ids = async (query: string) =>
    ((await admin('GET', `${V1}?${query}`)).body.data as { userId: string }[]).map(({ userId }) => userId);
  t.deepEqual(await ids(''), ['c', 'b', 'a']);
  t.deepEqual(await ids('status=blocked'), ['b']);
  t.deepEqual(await ids('email=c@example.com'), ['c']);
  t.deepEqual(await ids('phone=12345&limit=1'), ['c']);
  t.deepEqual(await ids('userId=a'), ['a']);
  t.deepEqual(await ids('project=other'), []);
  const page = await shop('GET', `${V2}?limit=2`);
  const rest = await shop('GET', `${V2}?limit=2&cursor=${page.body.page?.nextCursor}`);
  t.deepEqual(
    (rest.body.data as { userId: string }[]).map(({ userId }) => userId),
    ['a'],
  );
  const crafted = Buffer.from('2030-01-01T00:00:00.000Z|not-a-uuid').toString('base64url');
  for (const query of [`cursor=${crafted}`, 'status=x', 'email=x', 'userId=', 'status[$ne]=x', 'nickname=x'])
    t.is((await shop('GET', `${V2}?${query}`)).status, 400, query);
});

test.serial('invalid bodies are 400 and store nothing', async (t) => {
  const { shop, admin, store } = await catalogApp(t);
  const bad = {
    userId: [...notText, 'x'.repeat(65), 'a\u0007'],
    nickname: [1, {}, '', 'x'.repeat(129)],
    email: [1, 'x', 'a@b', `${'x'.repeat(250)}@example.com`, { $gt: '' }],
    phone: [1, 'abc', '1'.repeat(40)],
    status: ['dead', 1, null, ['active']],
    metadata: [1, 'x', [], { x: 'y'.repeat(5000) }, { ['k'.repeat(65)]: 1 }, { a: 'b\u0000' }],
  };
  const bodies = spoiled({ userId: 'good' }, bad);
  t.deepEqual(await accepted(shop, 'POST', V2, bodies), []);
  t.deepEqual(await accepted(admin, 'POST', V1, bodies), []);
  t.is(await store.read((tx) => tx.users.count({})), 0);
  t.is((await admin('POST', `${V1}?project=nothing`, { userId: 'x' })).status, 400);
  t.is((await shop('PUT', `${V2}/nobody`, { nickname: 'x' })).status, 404);
});

test.serial('a payer is changed, and omitted members are unchanged', async (t) => {
  const project = await file.project();
  await desk('POST', `${V1}?project=${project}`, { userId: 'ann', nickname: 'Ann', email: 'ann@example.com' });
  const { status, body } = await desk('PUT', `${V1}/ann?project=${project}`, { nickname: null });
  t.is(status, 200);
  t.like(body.data, { userId: 'ann', project, nickname: null, email: 'ann@example.com' });
});

test.serial('a payer has one account for each coin', async (t) => {
  const project = await file.project();
  await desk('POST', `/api/v1/coins?project=${project}`, { code: 'gold', name: 'Gold' });
  await desk('POST', `${V1}?project=${project}`, { userId: 'ann' });
  const gift = { userId: 'ann', amount: 30, reason: 'by hand' };
  await desk('POST', `/api/v1/coins/gold/adjustments?project=${project}`, gift);
  const { status, body } = await desk('GET', `${V1}/ann/coins?project=${project}`);
  t.is(status, 200);
  t.is(body.data.length, 1);
  t.like(body.data[0], { userId: 'ann', coin: 'gold', balance: 30, held: 0, available: 30, debt: 0 });
});

const OPERATIONS = [
  ['GET', '', undefined],
  ['PUT', '', { nickname: 'Ann' }],
  ['PUT', '/toggle', {}],
  ['DELETE', '', undefined],
  ['GET', '/orders', undefined],
  ['GET', '/coins', undefined],
] as const;

test.serial('an unknown payer is 404 at every operation', async (t) => {
  for (const [method, path, body] of OPERATIONS)
    refused(t, await desk(method, `${V1}/nobody${path}`, body), 404, 'not_found');
});

test.serial('an invalid project is 400 at every operation', async (t) => {
  refused(t, await desk('GET', `${V1}?project=a%20b`), 400, 'invalid_request');
  for (const [method, path, body] of OPERATIONS)
    refused(t, await desk(method, `${V1}/ann${path}?project=a%20b`, body), 400, 'invalid_request');
});
