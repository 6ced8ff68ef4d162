import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket, openOwnMarket } from '../../support/market.ts';
import { placeOrder } from '../../support/orders.ts';
import { PAY_REFUSALS, REFUND_REFUSALS } from '../../support/payment-refusals.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { service, admin, viewer, nobody } = file;
coverRoutes(test, file);

const NOBODYS = 'P20300101000000ABCDEFGHJK';
const demonstration = { subject: 'Demonstration', amount: 1.5, payWay: 'alipay' };

for (const { when, status, code, request } of PAY_REFUSALS) {
  test.serial(`a payment of the console is refused ${when}`, async (t) => {
    const market = await openOwnMarket(file);
    const { project } = market;
    const body = { ...(await request(market)), project };
    refused(t, await admin('POST', '/api/v1/console/payment/pay', body), status, code);
  });
}

for (const { when, status, code, request } of REFUND_REFUSALS) {
  test.serial(`a refund by the console is refused ${when}`, async (t) => {
    const body = await request(await openMarket(file));
    refused(t, await admin('POST', '/api/v1/console/payment/refund', body), status, code);
  });
}

test.serial('the console places an order as the console application of the project', async (t) => {
  const project = await file.project();
  const { status, body } = await admin('POST', '/api/v1/console/payment/pay', { ...demonstration, project });
  t.is(status, 201);
  t.like(body.data, { ...demonstration, project, amountMinor: 150, status: 'pending', mode: 'simulator' });
  const row = await service.app.store.read((tx) => tx.apps.find({ clientId: body.data.clientId }));
  t.like(row, { kind: 'console', project });
});

test.serial('an amount that the parser would round, or that is sent twice, creates no order', async (t) => {
  const project = await file.project();
  const { token } = (await nobody('POST', '/api/v1/login', { username: 'alice', password: 'seven-quiet-otters-swim' }))
    .body.data;
  for (const amount of ['4.349999999999999999', '1.00000000000000001', '1,"amount":2']) {
    const answer = await fetch(`${service.url}/api/v1/console/payment/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: `{"subject":"Tea","payWay":"alipay","project":"${project}","amount":${amount}}`,
    });
    const body = (await answer.json()) as { code: string; errors: { pointer: string }[] };
    refused(t, { status: answer.status, body }, 400, 'invalid_request');
    t.is(body.errors[0]?.pointer, '/amount');
  }
  t.is(await service.app.store.read((tx) => tx.orders.count({ project })), 0);
});

test.serial('without a project the order belongs to the project default', async (t) => {
  const { body } = await admin('POST', '/api/v1/console/payment/pay', demonstration);
  t.is(body.data.project, 'default');
});

test.serial('the console refuses a second order with the same merchantOrderNo and another amount', async (t) => {
  const project = await file.project();
  const pay = (amount: number) =>
    admin('POST', '/api/v1/console/payment/pay', { ...demonstration, project, merchantOrderNo: 'cart-1', amount });
  t.is((await pay(1)).status, 201);
  refused(t, await pay(2), 409, 'merchant_number_used');
});

test.serial('a rejected pay request of the console names the invalid member', async (t) => {
  for (const [change, pointer] of [
    [{ project: 'a b' }, '/project'],
    [{ payWay: 'cash' }, '/payWay'],
    [{ subject: '' }, '/subject'],
  ] as const) {
    const answer = await admin('POST', '/api/v1/console/payment/pay', { ...demonstration, ...change });
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});

test.serial('an unknown project has no console application to pay with', async (t) => {
  const answer = await admin('POST', '/api/v1/console/payment/pay', { ...demonstration, project: 'nothing' });
  t.true(answer.status >= 400 && answer.status < 500, JSON.stringify(answer.body));
});

test.serial('a viewer queries the order of any application', async (t) => {
  const { paid, shop } = await openMarket(file);
  const orderNo = await paid();
  const { status, body } = await viewer('GET', `/api/v1/console/payment/query/${orderNo}`);
  t.is(status, 200);
  t.like(body.data, { orderNo, clientId: shop.clientId, status: 'paid', amount: 10, refundableAmount: 10 });
});

test.serial('the console closes the order of any application, and the order shows it', async (t) => {
  const { shop } = await openMarket(file);
  const orderNo = await placeOrder(shop, { payWay: 'wechat' });
  const { status, body } = await admin('POST', `/api/v1/console/payment/close/${orderNo}`);
  t.is(status, 200);
  t.like(body.data, { orderNo, status: 'closed', closeReason: 'admin' });
});

test.serial('the console captures a PayPal payment that its payer has approved', async (t) => {
  const { shop } = await openMarket(file);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  const orderNo = await placeOrder(shop, { payWay: 'paypal', amount: 10 });
  await service.sim('/sim/approve', { orderNo });
  const { status, body } = await admin('POST', `/api/v1/console/payment/capture/${orderNo}`);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: true });
  t.is(status, 200);
  t.like(body.data, { orderNo, status: 'paid' });
});

test.serial('the console cannot close a paid order', async (t) => {
  const { paid } = await openMarket(file);
  refused(t, await admin('POST', `/api/v1/console/payment/close/${await paid()}`), 409, 'order_already_paid');
});

test.serial('the console refunds the order of any application, and the refund shows it', async (t) => {
  const { paid } = await openMarket(file);
  const request = { orderNo: await paid(), refundAmount: 2.5, reason: 'Returned' };
  const { status, body } = await admin('POST', '/api/v1/console/payment/refund', request);
  t.is(status, 200);
  t.like(body.data, { ...request, origin: 'admin', refundAmountMinor: 250, refundableAmount: 7.5 });
});

test.serial('a rejected refund request of the console names the invalid member', async (t) => {
  const answer = await admin('POST', '/api/v1/console/payment/refund', { orderNo: NOBODYS });
  refused(t, answer, 400, 'invalid_request');
  t.is(answer.body.errors[0].pointer, '/refundAmount');
});

test.serial('an unknown order is 404 at every operation', async (t) => {
  refused(t, await viewer('GET', `/api/v1/console/payment/query/${NOBODYS}`), 404, 'not_found');
  refused(t, await admin('POST', `/api/v1/console/payment/close/${NOBODYS}`), 404, 'not_found');
  refused(t, await admin('POST', `/api/v1/console/payment/capture/${NOBODYS}`), 404, 'not_found');
  const refund = { orderNo: NOBODYS, refundAmount: 1 };
  refused(t, await admin('POST', '/api/v1/console/payment/refund', refund), 404, 'not_found');
});

test.serial('an Idempotency-Key of the console returns the stored answer', async (t) => {
  const project = await file.project();
  const pay = () =>
    admin('POST', '/api/v1/console/payment/pay', { ...demonstration, project }, { 'idempotency-key': project });
  const first = await pay();
  const again = await pay();
  t.deepEqual([again.status, again.body], [201, first.body]);
  t.is(again.headers.get('idempotent-replayed'), 'true');
});

test.serial('an Idempotency-Key of the console is refused with another request', async (t) => {
  const { paid, shop } = await openMarket(file);
  const key = { 'idempotency-key': shop.clientId };
  const orderNo = await paid();
  const twice = async (path: string, one: object, other: object) => {
    t.true((await admin('POST', `/api/v1/console/payment/${path}`, one, key)).status < 300);
    refused(t, await admin('POST', `/api/v1/console/payment/${path}`, other, key), 422, 'idempotency_conflict');
  };
  await twice('pay', demonstration, { ...demonstration, amount: 2 });
  await twice('refund', { orderNo, refundAmount: 1 }, { orderNo, refundAmount: 2 });
  const close = async () =>
    admin('POST', `/api/v1/console/payment/close/${await placeOrder(shop, {})}`, undefined, key);
  t.is((await close()).status, 200);
  refused(t, await close(), 422, 'idempotency_conflict');
});
