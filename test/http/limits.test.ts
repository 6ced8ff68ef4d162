import test, { type ExecutionContext } from 'ava';
import { serviceOfFile } from '../support/file-service.ts';
import { openMarket } from '../support/market.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { coverRoutes, refused } from '../support/route-file.ts';
import type { Answer, Merchant } from '../support/service.ts';
import { addSkill, callSkill } from '../support/skillpay.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

const { service, admin } = file;
// No hour and no day begins while a limit is counted.
service.clock.stop();
const pay = (shop: Merchant, amount: number, more: object = {}) =>
  shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount, payWay: 'alipay', ...more });
const limitsOf = async (shop: Merchant) => (await shop.call('GET', '/api/v2/limits')).body.data;
const leftOf = async (shop: Merchant, limit: string) =>
  (await limitsOf(shop)).find((one: { limit: string }) => one.limit === limit).left;

function exceeded(t: ExecutionContext, answer: Answer, members: object): void {
  refused(t, answer, 403, 'limit_exceeded');
  t.like(answer.body, members);
}

test.serial(
  'an application and administrators see the remaining amount; without limits the list is empty',
  async (t) => {
    const free = await file.shop();
    t.deepEqual(await limitsOf(free), []);
    const shop = await file.shop({ limits: { CNY: { perOrder: 50, perDay: '100.50', ordersPerHour: 7 } } });
    await placeOrder(shop, { amount: 20.25 });
    const shown = await limitsOf(shop);
    t.like(shown[0], { currency: 'CNY', limit: 'perOrder', allowed: 50, used: null, left: 50, resetsAt: null });
    t.like(shown[1], { currency: 'CNY', limit: 'perDay', allowed: 100.5, used: 20.25, left: 80.25 });
    t.like(shown[2], { limit: 'ordersPerHour', allowed: 7, used: 1, left: 6 });
    t.is(new Date(shown[1].resetsAt).toISOString().slice(11), '16:00:00.000Z', 'midnight in Asia/Shanghai');
    const path = `/api/v1/api-apps/${shop.clientId}/limits`;
    t.deepEqual((await file.viewer('GET', path)).body.data, shown);
    refused(t, await admin('GET', '/api/v1/api-apps/app_unknown/limits'), 404, 'not_found');
    refused(t, await admin('GET', '/api/v1/api-apps/console/limits'), 404, 'not_found');
  },
);

test.serial(
  'each limit refuses an order one cent above it, reports the limit and the remainder, and stores nothing',
  async (t) => {
    const shop = await file.shop({
      limits: { CNY: { perOrder: 30, perDay: 50, perMonth: 60, ordersPerHour: 4 }, USD: { ordersPerHour: 1 } },
    });
    exceeded(t, await pay(shop, 30.01), { limit: 'perOrder', currency: 'CNY', allowed: 30, left: 30, resetsAt: null });
    await placeOrder(shop, { amount: 30 });
    exceeded(t, await pay(shop, 20.01), { limit: 'perDay', allowed: 50, left: 20 });
    await placeOrder(shop, { amount: 20 });
    exceeded(t, await pay(shop, 0.01), { limit: 'perDay', allowed: 50, left: 0 });
    await admin('PUT', `/api/v1/api-apps/${shop.clientId}`, { limits: { CNY: { perDay: null } } });
    exceeded(t, await pay(shop, 10.01), { limit: 'perMonth', allowed: 60, left: 10 });
    for (const amount of [1, 1]) await placeOrder(shop, { amount });
    exceeded(t, await pay(shop, 1), { limit: 'ordersPerHour', allowed: 4, left: 0 });
    exceeded(t, await pay(shop, 1, { payWay: 'paypal', currency: 'EUR' }), { limit: 'currency', currency: 'EUR' });
    t.is((await pay(shop, 1, { payWay: 'paypal', currency: 'USD' })).status, 201);
    t.is(await service.app.store.read((tx) => tx.orders.count({ clientId: shop.clientId })), 5);
  },
);

test.serial('a repeat counts once, a refused key stays unused, and a lower limit applies immediately', async (t) => {
  const shop = await file.shop({ limits: { CNY: { perDay: 10 } } });
  const key = { 'idempotency-key': 'k-1' };
  const send = (amount: number, headers = {}) =>
    shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount, payWay: 'alipay' }, headers);
  exceeded(t, await send(11, key), { left: 10 });
  const first = await send(6, { 'idempotency-key': 'k-2' });
  t.is((await send(6, { 'idempotency-key': 'k-2' })).body.data.orderNo, first.body.data.orderNo);
  const numbered = { merchantOrderNo: 'm-1' };
  const second = await pay(shop, 3, numbered);
  t.is((await pay(shop, 3, numbered)).body.data.orderNo, second.body.data.orderNo);
  t.is(await leftOf(shop, 'perDay'), 1);
  await admin('PUT', `/api/v1/api-apps/${shop.clientId}`, { limits: { CNY: { perDay: 5 } } });
  exceeded(t, await pay(shop, 0.01), { allowed: 5, left: 0 });
  t.is((await pay(shop, 3, numbered)).body.data.orderNo, second.body.data.orderNo, 'a repeat is no new order');
  await admin('PUT', `/api/v1/api-apps/${shop.clientId}`, { limits: { CNY: { perDay: 20 } } });
  t.is((await send(11, key)).status, 201, 'a refused request does not use up its key');
});

test.serial(
  'an order that ended unpaid frees its amount and keeps its place in the hour; a paid order keeps both',
  async (t) => {
    const shop = await file.shop({ limits: { CNY: { perDay: 20, ordersPerHour: 3 } } });
    const closed = await placeOrder(shop, { amount: 10, payWay: 'wechat' });
    await payOrder(service, shop, { amount: 10 });
    exceeded(t, await pay(shop, 1), { limit: 'perDay', left: 0 });
    t.is((await shop.call('POST', `/api/v2/payment/close/${closed}`)).body.data.status, 'closed');
    t.is(await leftOf(shop, 'perDay'), 10);
    await placeOrder(shop, { amount: 10 });
    exceeded(t, await pay(shop, 1), { limit: 'perDay', left: 0 });
    await admin('PUT', `/api/v1/api-apps/${shop.clientId}`, { limits: { CNY: { perDay: null } } });
    exceeded(t, await pay(shop, 1), { limit: 'ordersPerHour', left: 0 });
  },
);

test.serial(
  'refunds count by the day, for every kind of order; administrators and the service itself are not limited',
  async (t) => {
    const market = await openMarket(file, { limits: { CNY: { refundPerDay: 12 } } });
    const { shop } = market;
    const [one, two] = [await market.paid(), await market.paid()];
    const refund = (orderNo: string, refundAmount: number, more: object = {}) =>
      shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount, ...more });
    t.is((await refund(one, 8, { merchantRefundNo: 'r-1' })).status, 200);
    exceeded(t, await refund(two, 4.01), { limit: 'refundPerDay', allowed: 12, left: 4 });
    t.is((await refund(one, 8, { merchantRefundNo: 'r-1' })).status, 200, 'a repeat is no new refund');
    t.is((await refund(two, 4)).status, 200);
    exceeded(t, await refund(two, 0.01), { left: 0 });
    const byAdmin = await admin('POST', `/api/v1/orders/${two}/refunds`, { refundAmount: 6 });
    t.is(byAdmin.status, 201);
    t.is(await leftOf(shop, 'refundPerDay'), 0);
  },
);

test.serial('pay-per-call offers and products are counted like payments', async (t) => {
  const market = await openMarket(file, { limits: { CNY: { perDay: 1 } } });
  await addSkill(service, { code: 'limited-weather' });
  const offer = () => callSkill(market.shop, { resource: 'limited-weather' });
  t.is((await offer()).status, 402);
  t.is((await offer()).status, 402);
  exceeded(t, await offer(), { limit: 'perDay', left: 0 });
  await market.product({ code: 'limited-tea', price: 2 });
  const rich = await file.shop({ limits: { CNY: { perDay: 3, refundPerDay: 1 } } });
  t.is(
    (await rich.call('POST', '/api/v2/payment/pay', { subject: 'Tea', payWay: 'alipay', product: 'limited-tea' }))
      .status,
    201,
  );
  exceeded(
    t,
    await rich.call('POST', '/api/v2/payment/pay', { subject: 'Tea', payWay: 'alipay', product: 'limited-tea' }),
    {
      limit: 'perDay',
      left: 1,
    },
  );
});

test.serial('a limit of zero allows nothing, and stays when another limit is changed', async (t) => {
  const shop = await file.shop({ limits: { CNY: { refundPerDay: 0, perDay: 100 } } });
  const orderNo = await payOrder(service, shop, { amount: 5 });
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 0.01 });
  exceeded(t, refund, { limit: 'refundPerDay', allowed: 0, left: 0 });
  t.is(await leftOf(shop, 'refundPerDay'), 0);
  const set = (limits: object) => admin('PUT', `/api/v1/api-apps/${shop.clientId}`, { limits: { CNY: limits } });
  for (const [limit, value] of [
    ['perOrder', '0.00'],
    ['perDay', 0],
    ['perMonth', '0'],
    ['ordersPerHour', 0],
  ] as const) {
    const { status, body } = await set({ [limit]: value });
    t.is(status, 200, JSON.stringify(body));
    t.like(body.data.limits.CNY, { [limit]: 0, refundPerDay: 0 });
    exceeded(t, await pay(shop, 0.01), { limit, allowed: 0, left: 0 });
    await set({ [limit]: null });
  }
  for (const wrong of [-1, '-0', '0.0000', '']) refused(t, await set({ perDay: wrong }), 400, 'invalid_request');
});
