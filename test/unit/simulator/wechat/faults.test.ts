import test from 'ava';
import type { OrderRef, PlaceOrder, RefundOrder } from '../../../../server/payments/channel.ts';
import { until, type World } from '../world.ts';
import { channelOf, configOf, newNo, startWechat } from './merchant.ts';

let world: World;
test.before(async () => {
  world = await startWechat();
});
test.after.always(() => world.close());

const CNY = (minor: bigint) => ({ minor, currency: 'CNY' });

function newOrder(): PlaceOrder & OrderRef {
  return {
    orderNo: newNo(),
    subject: 'A cup of tea',
    amount: CNY(1234n),
    scene: 'qr',
    expiresAt: new Date(Date.now() + 3_600_000),
    sentAt: new Date(),
    notifyUrl: 'http://127.0.0.1:9/notify',
    returnUrl: '',
    cancelUrl: '',
    clientIp: null,
    openId: null,
    payCode: null,
    options: {},
    channelOrderId: null,
    channelTradeNo: null,
  };
}

function refundOf(order: PlaceOrder & OrderRef): RefundOrder & { channelRefundNo: null } {
  const { notifyUrl } = order;
  return {
    ...order,
    refundNo: newNo(),
    refundAmount: CNY(234n),
    reason: '',
    notifyUrl,
    refundSentAt: new Date(),
    channelRefundNo: null,
  };
}

test('with 30 % of all responses lost, repeats with the same numbers have no second effect', async (t) => {
  const account = 'lossy';
  const channel = channelOf(world, await configOf(world, account), 400);
  for (const call of ['create', 'query', 'refund', 'refund-query']) {
    await world.post('/sim/faults', {
      payWay: 'wechat',
      call,
      fault: 'commit-then-timeout',
      probability: 0.3,
      account,
    });
  }
  const orders = Array.from({ length: 20 }, newOrder);
  await Promise.all(
    orders.map(async (order) => {
      await until(async () => (await channel.place(order)).kind === 'pending');
      await world.post('/sim/pay', { payWay: 'wechat', account, orderNo: order.orderNo });
      await until(async () => (await channel.query(order)).kind === 'paid');
      const refund = refundOf(order);
      await until(async () => (await channel.refund(refund)).kind !== 'unknown');
      await until(async () => (await channel.queryRefund(refund)).kind === 'succeeded');
    }),
  );
  const sums = (await world.get<{ orders: object[] }>(`/sim/ledger?account=${account}`)).orders;
  t.is(sums.length, orders.length);
  for (const sum of sums) t.like(sum, { created: 1, payments: 1, paid: 1234, refunds: 1, refunded: 234 });
});

for (const fault of ['bad-tag', 'bad-aad', 'wrong-key', 'no-signature', 'clock-skew', 'signtest', 'tampered', '502']) {
  test(`certificates with ${fault} are not trusted, and those of the next fetch are`, async (t) => {
    const account = `certificates-${fault}`;
    const config = await configOf(world, account, { mode: 'certificate' });
    const bare = { ...config, pems: { ...config.pems, wechat_platform_cert: [] } };
    await world.post('/sim/faults', { payWay: 'wechat', call: 'certificates', fault, account });
    const order = newOrder();
    t.like(await channelOf(world, bare).place(order), { kind: 'unknown', cause: 'serial_unknown' });
    t.is((await channelOf(world, bare).place(order)).kind, 'pending');
  });
}

test('a payment missing in a lagging query is found by the next one', async (t) => {
  const channel = channelOf(world, await configOf(world));
  const order = newOrder();
  await channel.place(order);
  await world.post('/sim/pay', { payWay: 'wechat', orderNo: order.orderNo });
  const refund = refundOf(order);
  for (const call of ['query', 'refund-query']) {
    await world.post('/sim/faults', { payWay: 'wechat', call, fault: 'query-lag', orderNo: order.orderNo });
  }
  t.is((await channel.query(order)).kind, 'pending');
  t.is((await channel.query(order)).kind, 'paid');
  await channel.refund(refund);
  t.is((await channel.queryRefund(refund)).kind, 'absent');
  await until(async () => (await channel.queryRefund(refund)).kind === 'succeeded');
});

for (const [fault, first, last] of [
  ['pending-refund', 'pending', 'succeeded'],
  ['abnormal-refund', 'abnormal', 'abnormal'],
  ['refund-success-then-fail', 'succeeded', 'failed'],
  ['success-after-failed', 'failed', 'succeeded'],
] as const) {
  test(`${fault}: the adapter reports ${first}, then ${last}`, async (t) => {
    const channel = channelOf(world, await configOf(world));
    const order = newOrder();
    await channel.place(order);
    await world.post('/sim/pay', { payWay: 'wechat', orderNo: order.orderNo });
    await world.post('/sim/faults', { payWay: 'wechat', call: 'refund', fault, orderNo: order.orderNo });
    const refund = refundOf(order);
    t.is((await channel.refund(refund)).kind, first);
    await until(async () => (await channel.queryRefund(refund)).kind === last);
    t.like(await channel.query(order), { kind: 'paid', amount: CNY(1234n) });
  });
}

test("an order can be paid on the simulator's payer page", async (t) => {
  const channel = channelOf(world, await configOf(world));
  const order = newOrder();
  const placed = await channel.place(order);
  const url = (placed.kind === 'pending' && placed.pay?.qrCode) || '';
  await fetch(url, { method: 'POST', body: new URLSearchParams({ choice: 'pay' }) });
  t.is((await channel.query(order)).kind, 'paid');
});
