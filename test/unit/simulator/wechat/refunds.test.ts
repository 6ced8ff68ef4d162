import test from 'ava';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import { until, type World } from '../world.ts';
import { call, channelOf, configOf, nativeOrder, newNo, startWechat, type Raw } from './merchant.ts';

let world: World;
let config: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  config = await configOf(world);
});
test.after.always(() => world.close());

const REFUNDS = '/v3/refund/domestic/refunds';
const bodyOf = ({ body }: Raw) => JSON.parse(body) as Record<string, unknown>;
const queryRefund = (refundNo: string) => call(world, config, 'GET', `${REFUNDS}/${refundNo}`);
const minutes = (count: number) => world.post('/sim/clock', { advanceSeconds: count * 60 });

async function paid(total = 1234): Promise<string> {
  const orderNo = newNo();
  const order = nativeOrder(config, { out_trade_no: orderNo, amount: { total, currency: 'CNY' } });
  await call(world, config, 'POST', '/v3/pay/transactions/native', order);
  await world.post('/sim/pay', { payWay: 'wechat', orderNo });
  return orderNo;
}

function refund(orderNo: string, refundNo: string, fen = 100, changes: object = {}): Promise<Raw> {
  const amount = { refund: fen, total: 1234, currency: 'CNY' };
  return call(world, config, 'POST', REFUNDS, { out_trade_no: orderNo, out_refund_no: refundNo, amount, ...changes });
}

const succeeded = (refundNo: string) =>
  until(async () => bodyOf(await queryRefund(refundNo)).status === 'SUCCESS' && bodyOf(await queryRefund(refundNo)));

test.serial('a refund is accepted first and completed later', async (t) => {
  const [orderNo, refundNo] = [await paid(), newNo()];
  const accepted = bodyOf(await refund(orderNo, refundNo));
  t.like(accepted, {
    status: 'PROCESSING',
    out_refund_no: refundNo,
    amount: { refund: 100, total: 1234, currency: 'CNY' },
  });
  // The members that every response has (wechatpay-apiv3/wechatpay-go@6dbd7ce services/refunddomestic/models.go, Amount).
  t.like(accepted.amount, { settlement_refund: 100, settlement_total: 1234, discount_refund: 0 });
  const done = await succeeded(refundNo);
  t.is(done.refund_id, accepted.refund_id);
  t.truthy(done.success_time);
  const trade = await call(
    world,
    config,
    'GET',
    `/v3/pay/transactions/out-trade-no/${orderNo}?mchid=${config.fields.mchid}`,
  );
  t.like(bodyOf(trade), { trade_state: 'REFUND', amount: { total: 1234 } });
});

test.serial('a refund number stands for one refund, and a reuse with other facts is refused', async (t) => {
  const [orderNo, refundNo] = [await paid(), newNo()];
  const first = bodyOf(await refund(orderNo, refundNo));
  t.is(bodyOf(await refund(orderNo, refundNo)).refund_id, first.refund_id);
  t.is((await refund(orderNo, refundNo, 101)).code, 'INVALID_REQUEST');
  t.is((await refund(await paid(), refundNo)).code, 'INVALID_REQUEST');
  await succeeded(refundNo);
  t.like((await world.ledger(orderNo)).orders[0], { refunds: 1, refunded: 100 });
});

test.serial('a refund reason is limited in bytes', async (t) => {
  const orderNo = await paid();
  t.is((await refund(orderNo, newNo(), 1, { reason: '茶'.repeat(27) })).code, 'PARAM_ERROR');
  t.is((await refund(orderNo, newNo(), 1, { reason: '茶'.repeat(26) })).status, 200);
});

test.serial('a refund above the paid amount is refused', async (t) => {
  const orderNo = await paid();
  t.is((await refund(orderNo, newNo(), 1235)).code, 'INVALID_REQUEST');
  t.is((await refund(orderNo, newNo(), 1000)).status, 200);
  await minutes(1.1);
  t.is((await refund(orderNo, newNo(), 235)).code, 'INVALID_REQUEST');
  t.is((await refund(orderNo, newNo(), 234)).status, 200);
});

test.serial('a second refund within a minute is refused for now', async (t) => {
  const orderNo = await paid();
  t.is((await refund(orderNo, newNo(), 1)).status, 200);
  const early = await refund(orderNo, newNo(), 1);
  t.is(early.status, 429);
  t.is(early.code, 'FREQUENCY_LIMITED');
  await minutes(1.1);
  t.is((await refund(orderNo, newNo(), 1)).status, 200);
});

test.serial('an order has at most fifty refunds', async (t) => {
  const orderNo = await paid();
  for (let count = 0; count < 50; count += 1) {
    t.is((await refund(orderNo, newNo(), 1)).status, 200);
    await minutes(1.1);
  }
  t.is((await refund(orderNo, newNo(), 1)).code, 'INVALID_REQUEST');
});

test.serial(
  'a refund of an unpaid, unknown or misquoted order is refused, and so is one after the refund window',
  async (t) => {
    const unpaid = newNo();
    await call(world, config, 'POST', '/v3/pay/transactions/native', nativeOrder(config, { out_trade_no: unpaid }));
    t.is((await refund(unpaid, newNo())).code, 'INVALID_REQUEST');
    t.is((await refund(newNo(), newNo())).code, 'RESOURCE_NOT_EXISTS');
    t.is((await refund(await paid(1000), newNo())).code, 'PARAM_ERROR');
    const old = await paid();
    const { refundWindowDays } = wechatKind.limits;
    await minutes((refundWindowDays - 1) * 24 * 60);
    t.is((await refund(old, newNo(), 1)).status, 200);
    await minutes(2 * 24 * 60);
    t.is((await refund(old, newNo(), 1)).code, 'INVALID_REQUEST');
  },
);

test.serial('an order is named by either number, but not by both or none', async (t) => {
  const orderNo = await paid();
  const trade = await world.get<{ payments: { number: string }[] }>(`/sim/trades/${orderNo}`);
  const number = trade.payments[0]?.number;
  t.is((await refund(orderNo, newNo(), 1, { transaction_id: number })).code, 'PARAM_ERROR');
  t.is((await refund(orderNo, newNo(), 1, { out_trade_no: undefined })).code, 'PARAM_ERROR');
  t.is((await refund(orderNo, newNo(), 1, { out_trade_no: undefined, transaction_id: number })).status, 200);
});

test.serial('a refund of an order that is temporarily not found is retried and made once', async (t) => {
  const [orderNo, refundNo] = [await paid(), newNo()];
  const channel = channelOf(world, config);
  const trade = await world.get<{ payments: { number: string }[] }>(`/sim/trades/${orderNo}`);
  const order = {
    orderNo,
    amount: cny(1234n),
    scene: 'qr',
    sentAt: new Date(),
    expiresAt: new Date(),
    channelOrderId: null,
    channelTradeNo: trade.payments[0]!.number,
  } as const;
  const asked = {
    refundNo,
    refundAmount: cny(100n),
    refundSentAt: new Date(),
    reason: '',
    notifyUrl: 'http://127.0.0.1:9/n',
  };
  await world.post('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'payment-not-found', orderNo });
  t.like(await channel.refund({ ...order, ...asked }), { kind: 'unknown', cause: 'in_progress' });
  t.is((await channel.refund({ ...order, ...asked })).kind, 'pending');
  await succeeded(refundNo);
  t.like((await world.ledger(orderNo)).orders[0], { refunds: 1, refunded: 100 });
});

test.serial('an order of 0.05 is paid and its refunds are refused', async (t) => {
  const orderNo = newNo();
  await call(
    world,
    config,
    'POST',
    '/v3/pay/transactions/native',
    nativeOrder(config, { out_trade_no: orderNo, amount: { total: 5 } }),
  );
  const answer = await refund(orderNo, newNo(), 5, { amount: { refund: 5, total: 5, currency: 'CNY' } });
  t.is(answer.status, 403);
  t.regex(answer.code, /^NOT_?ENOUGH$/);
});

test.serial('an abnormal refund is retried by the operator and then completed', async (t) => {
  const [orderNo, refundNo] = [await paid(), newNo()];
  await world.post('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'abnormal-refund', orderNo });
  const stuck = bodyOf(await refund(orderNo, refundNo));
  t.is(stuck.status, 'ABNORMAL');
  const path = `${REFUNDS}/${String(stuck.refund_id)}/apply-abnormal-refund`;
  const wrong = await call(world, config, 'POST', path, { out_refund_no: newNo(), type: 'MERCHANT_BANK_CARD' });
  t.is(wrong.code, 'RESOURCE_NOT_EXISTS');
  const channel = channelOf(world, config);
  const ref = { orderNo, refundNo, amount: cny(1234n), refundAmount: cny(100n), channelRefundNo: null };
  const order = {
    scene: 'qr',
    sentAt: new Date(),
    expiresAt: new Date(),
    channelOrderId: null,
    channelTradeNo: null,
  } as const;
  const retried = await channel.retryAbnormalRefund!({ ...order, ...ref, refundSentAt: new Date() });
  t.is(retried.kind, 'pending');
  await succeeded(refundNo);
  t.is(bodyOf(await queryRefund(refundNo)).user_received_account, '商户结算银行账户');
  const done = await channel.queryRefund({ ...order, ...ref, refundSentAt: new Date() });
  t.like(done, { kind: 'succeeded', toMerchant: true });
  const again = await call(world, config, 'POST', path, { out_refund_no: refundNo, type: 'MERCHANT_BANK_CARD' });
  t.is(again.code, 'INVALID_REQUEST');
});

test.serial('a refund made elsewhere and a reversed refund are visible', async (t) => {
  const [orderNo, refundNo] = [await paid(), newNo()];
  await world.post('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'refund-success-then-fail', orderNo });
  t.is(bodyOf(await refund(orderNo, refundNo)).status, 'SUCCESS');
  await until(async () => bodyOf(await queryRefund(refundNo)).status === 'CLOSED');
  const elsewhere = await world.post<{ refundNo: string }>('/sim/refund-elsewhere', { orderNo, amount: '1.00' });
  t.like(bodyOf(await queryRefund(elsewhere.refundNo)), { status: 'SUCCESS', amount: { refund: 100 } });
});

function cny(minor: bigint) {
  return { minor, currency: 'CNY' };
}
