import test from 'ava';
import { newPayCode } from '../../support/order-scenes.ts';
import { placeOrder } from '../../support/orders.ts';
import { refused } from '../../support/route-file.ts';
import { startService } from '../../support/service.ts';

const atTheTill = () => ({
  subject: 'Two coffees',
  amount: 12.5,
  payWay: 'wechat',
  scene: 'code',
  payCode: newPayCode(13),
  clientIp: '192.0.2.9',
});

test("a payer's code of WeChat Pay is paid when the payer confirms, and refunded like any other payment", async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const placed = await shop.call('POST', '/api/v2/payment/pay', atTheTill());
  t.is(placed.status, 201);
  const { orderNo, payment } = placed.body.data;
  t.is(payment.type, 'code');
  await service.sim('/sim/pay', { orderNo });
  service.clock.advance(6);
  t.is((await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data.status, 'paid');
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 12.5 });
  t.is(refund.body.data.status, 'processing', 'WeChat Pay has it');
});

test('a code that is paid immediately is paid in the answer; a code that is already used is refused with its reason', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const request = { ...atTheTill(), amount: 0.01 };
  const { status, body } = await shop.call('POST', '/api/v2/payment/pay', request);
  t.is(status, 201);
  t.is(body.data.status, 'paid');
  const again = await shop.call('POST', '/api/v2/payment/pay', request);
  refused(t, again, 422, 'channel_refused');
  t.is(again.body.channel.code, 'AUTH_CODE_INVALID');
});

test('a close reverses a code that is unpaid, and never one that is paid', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const [unpaid, paid] = [await placeOrder(shop, atTheTill()), await placeOrder(shop, atTheTill())];
  t.is((await shop.call('POST', `/api/v2/payment/close/${unpaid}`)).body.data.status, 'closed');
  t.like(await service.sim(`/sim/trades/${unpaid}`), { state: 'closed' });
  await service.sim('/sim/pay', { orderNo: paid });
  refused(t, await shop.call('POST', `/api/v2/payment/close/${paid}`), 409, 'order_already_paid');
  t.is((await shop.call('GET', `/api/v2/payment/query/${paid}`)).body.data.refundedAmount, 0);
});

test('money refunded by a reverse is recorded on both sides of the ledger', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, atTheTill());
  await service.sim('/sim/pay', { orderNo });
  // The query before the reverse does not see the payment yet.
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'query', fault: 'query-lag', orderNo, times: 1 });
  const { body } = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  t.is(body.data.status, 'refunded', JSON.stringify(body));
  t.like(body.data.refunds[0], { status: 'succeeded', refundAmount: 12.5 });
  const { orders } = (await service.sim(`/sim/ledger?orderNo=${orderNo}`)) as unknown as { orders: object[] };
  t.like(orders[0], { paid: 1250, refunded: 1250, refunds: 1 });
});
