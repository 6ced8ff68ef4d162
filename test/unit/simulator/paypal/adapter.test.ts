import test from 'ava';
import { paypalKind } from '../../../../server/channels/paypal/kind.ts';
import type { RefundOrder } from '../../../../server/payments/channel.ts';
import { exponentOf, readAmount } from '../../../../server/money.ts';
import { until } from '../world.ts';
import { approve, openShop, paid, place, placeOrder, type Shop } from './shop.ts';

let shop: Shop;
test.before(async () => {
  shop = await openShop();
});
test.after.always(() => shop?.close());

let count = 0;
const nextNo = () => `ADAPT${String(++count).padStart(6, '0')}`;
const sums = async (orderNo: string) => (await shop.world.ledger(orderNo)).orders[0];

function refundOf(ref: Awaited<ReturnType<typeof paid>>, amount = '2.30'): RefundOrder & { channelRefundNo: null } {
  return {
    ...ref,
    refundNo: `${ref.orderNo}R`,
    refundAmount: readAmount(amount, ref.amount.currency),
    reason: 'It leaks',
    notifyUrl: 'http://127.0.0.1:9/notify',
    refundSentAt: new Date(),
    channelRefundNo: null,
  };
}

test.serial('20 callers with the same capture number capture once', async (t) => {
  const ref = await approve(shop, nextNo());
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => shop.channel.capture?.(ref)));
  t.deepEqual(
    outcomes.filter((outcome) => outcome?.kind !== 'paid'),
    [],
  );
  t.is(new Set(outcomes.map((outcome) => outcome?.kind === 'paid' && outcome.channelNo)).size, 1);
  t.like(await sums(ref.orderNo), { payments: 1, paid: 1230 });
});

test.serial('callers with different capture numbers capture once', async (t) => {
  const ref = await approve(shop, nextNo());
  const numbers = ['c1', 'c2', 'c3', 'c4'];
  const outcomes = await Promise.all(
    numbers.map((n) => shop.channel.capture?.({ ...ref, captureNo: `${ref.orderNo}-${n}` })),
  );
  t.deepEqual(
    outcomes.filter((outcome) => outcome?.kind !== 'paid'),
    [],
  );
  t.like(await sums(ref.orderNo), { payments: 1, paid: 1230 });
});

test.serial('a capture refused during an identical one is in progress and found by a query', async (t) => {
  const ref = await approve(shop, nextNo());
  await shop.fault('capture', 'same-id-concurrent-refusal', { orderNo: ref.orderNo });
  t.like(await shop.channel.capture?.(ref), { kind: 'unknown', cause: 'in_progress' });
  t.like(await shop.channel.query(ref), { kind: 'paid' });
  t.like(await sums(ref.orderNo), { payments: 1 });
});

test.serial('payments and refunds use the decimals of every currency', async (t) => {
  for (const currency of paypalKind.currencies) {
    const whole = exponentOf(currency) === 0;
    const ref = await paid(shop, nextNo(), whole ? '1234' : '12.34', currency);
    t.like(await shop.channel.refund(refundOf(ref, whole ? '234' : '2.34')), {
      kind: 'succeeded',
      amount: { minor: 234n, currency },
    });
    t.like(await sums(ref.orderNo), { currency, paid: 1234, refunded: 234 });
  }
});

test.serial('a pending capture is flagged, blocks the close and completes', async (t) => {
  const ref = await approve(shop, nextNo());
  await shop.fault('capture', 'capture-pending', { orderNo: ref.orderNo });
  t.like(await shop.channel.capture?.(ref), { kind: 'pending', capturePending: 'PENDING_REVIEW' });
  t.like(await shop.channel.query(ref), { kind: 'pending', capturePending: 'PENDING_REVIEW' });
  t.like(await shop.channel.close(ref), { kind: 'refused' });
  const refused = await shop.channel.refund({ ...refundOf(ref), channelTradeNo: await captureIdOf(ref.orderNo) });
  t.like(refused, { kind: 'refused', code: 'PENDING_CAPTURE' });
  t.is((await sums(ref.orderNo))?.paid, 0);
  await shop.advance(61);
  t.like(await shop.channel.query(ref), { kind: 'paid' });
  t.like(await sums(ref.orderNo), { paid: 1230, payments: 1 });
});

async function captureIdOf(orderNo: string): Promise<string> {
  const { payments } = await shop.world.get<{ payments: { number: string }[] }>(`/sim/trades/${orderNo}`);
  return payments[0]?.number ?? '';
}

test.serial('a declined capture is not paid, although the order is completed', async (t) => {
  const ref = await approve(shop, nextNo());
  await shop.fault('capture', 'capture-declined', { orderNo: ref.orderNo });
  t.like(await shop.channel.capture?.(ref), { kind: 'closed' });
  t.deepEqual(await shop.channel.close(ref), { kind: 'closed' });
  t.is((await sums(ref.orderNo))?.paid, 0);
});

test.serial('a lagging query causes no second capture', async (t) => {
  const ref = await paid(shop, nextNo());
  await shop.fault('query', 'query-lag', { orderNo: ref.orderNo });
  t.like(await shop.channel.query(ref), { kind: 'approved' });
  await shop.fault('query', 'query-lag', { orderNo: ref.orderNo });
  t.like(await shop.channel.capture?.({ ...ref, captureNo: `${ref.orderNo}-c2` }), { kind: 'paid' });
  t.like(await sums(ref.orderNo), { payments: 1 });
});

test.serial('an order with another amount than ours is not captured', async (t) => {
  const ref = await approve(shop, nextNo());
  await shop.fault('query', 'wrong-amount', { orderNo: ref.orderNo });
  t.like(await shop.channel.capture?.(ref), { kind: 'unknown', cause: 'mismatch' });
  t.is((await sums(ref.orderNo))?.paid, 0);
});

test.serial('a close succeeds before the capture, never after it', async (t) => {
  const open = await place(shop, placeOrder(nextNo()));
  t.deepEqual(await shop.channel.close(open), { kind: 'closed' });
  t.deepEqual(await shop.channel.close(await approve(shop, nextNo())), { kind: 'closed' });
  t.deepEqual(await shop.channel.close(await paid(shop, nextNo())), { kind: 'paid' });
});

test.serial('an expired order is absent', async (t) => {
  const ref = await place(shop, placeOrder(nextNo()));
  await shop.world.post('/sim/expire', { orderNo: ref.orderNo });
  t.deepEqual(await shop.channel.query(ref), { kind: 'absent' });
  t.deepEqual(await shop.channel.close(ref), { kind: 'absent' });
});

test.serial('a pending refund succeeds later', async (t) => {
  const refund = refundOf(await paid(shop, nextNo()));
  await shop.fault('refund', 'pending-refund', { orderNo: refund.orderNo });
  t.like(await shop.channel.refund(refund), { kind: 'pending' });
  t.like(await shop.channel.queryRefund(refund), { kind: 'pending' });
  await shop.advance(61);
  t.like(await shop.channel.queryRefund(refund), { kind: 'succeeded', amount: refund.refundAmount });
});

for (const fault of ['refund-success-then-fail', 'abnormal-refund']) {
  test.serial(`a refund reported as succeeded is later reported as failed: ${fault}`, async (t) => {
    const refund = refundOf(await paid(shop, nextNo()));
    await shop.fault('refund', fault, { orderNo: refund.orderNo });
    const first = await shop.channel.refund(refund);
    t.like(first, { kind: 'succeeded' });
    await shop.advance(61);
    const channelRefundNo = first.kind === 'succeeded' ? (first.channelRefundNo ?? null) : null;
    t.like(await shop.channel.queryRefund({ ...refund, channelRefundNo }), { kind: 'failed', code: 'FAILED' });
    t.like(await sums(refund.orderNo), { refunded: 0 });
  });
}

test.serial('a refund made elsewhere gives a hint and does not count as ours', async (t) => {
  const ref = await paid(shop, nextNo());
  await shop.world.post('/sim/refund-elsewhere', { orderNo: ref.orderNo, amount: '2.30' });
  t.like(await shop.channel.query(ref), { kind: 'paid', refundsHint: true });
  t.deepEqual(await shop.channel.queryRefund(refundOf(ref)), { kind: 'absent' });
});

test.serial('a foreign refund next to ours leaves ours unchanged', async (t) => {
  const refund = refundOf(await paid(shop, nextNo()));
  await shop.fault('refund', 'foreign-refund', { orderNo: refund.orderNo });
  t.like(await shop.channel.refund(refund), { kind: 'succeeded', amount: refund.refundAmount });
  t.like(await sums(refund.orderNo), { refunds: 2, refunded: 231 });
});

test.serial('a refund with another amount is reported with that amount', async (t) => {
  const refund = refundOf(await paid(shop, nextNo()));
  await shop.fault('refund', 'wrong-amount', { orderNo: refund.orderNo });
  t.like(await shop.channel.refund(refund), { kind: 'succeeded', amount: { minor: 330n, currency: 'USD' } });
  t.like(await shop.channel.queryRefund(refund), { kind: 'succeeded', amount: refund.refundAmount });
});

test.serial('fixed amounts approve themselves, are refused or fail refunds', async (t) => {
  const self = await place(shop, placeOrder(nextNo(), '0.01')).catch(() => undefined);
  t.is(self, undefined, 'a self-approving order is approved in its first answer');
  t.like(await shop.channel.place(placeOrder(nextNo(), '0.02')), { kind: 'declined', definite: true });
  const order = placeOrder(nextNo(), '0.05');
  const placed = await shop.channel.place(order);
  t.is(placed.kind, 'approved');
  const channelOrderId = placed.kind === 'approved' ? (placed.channelOrderId ?? null) : null;
  const ref = { ...order, channelOrderId, channelTradeNo: null, captureNo: `${order.orderNo}-c1` };
  const money = await shop.channel.capture?.(ref);
  const channelTradeNo = money?.kind === 'paid' ? money.channelNo : null;
  t.like(await shop.channel.refund({ ...refundOf({ ...ref, channelTradeNo }, '0.05') }), { kind: 'refused' });
});

test.serial('a probe distinguishes a valid configuration from a wrong secret and a wrong webhook', async (t) => {
  t.like(await shop.channel.probe(), { ok: true, note: undefined });
  const { create } = paypalKind;
  const { createTransport } = await import('../../../../server/channels/transport.ts');
  const input = {
    mode: 'simulator',
    pems: {},
    simulatorUrl: shop.world.url,
    send: createTransport({ timeoutMs: 120_000 }),
    now: () => new Date(),
  } as const;
  const wrong = (fields: Record<string, string>) => create({ ...input, fields: { ...shop.fields, ...fields } }).probe();
  t.like(await wrong({ clientSecret: 'wrong' }), { ok: false, field: 'clientSecret' });
  t.like(await wrong({ webhookId: 'WRONG123' }), { ok: false, field: 'webhookId' });
});

test.serial(
  'the webhook of the service is created once, found again, and completed when events are missing',
  async (t) => {
    const { createTransport } = await import('../../../../server/channels/transport.ts');
    const { webhookId: _, ...fields } = shop.fields;
    const notifyUrl = 'https://pay.example/notify/paypal/default';
    const input = {
      mode: 'simulator',
      fields,
      pems: {},
      simulatorUrl: shop.world.url,
      notifyUrl,
      send: createTransport({ timeoutMs: 120_000 }),
      now: () => new Date(),
    } as const;
    const first = await paypalKind.registerNotifications?.(input);
    t.true(first?.ok);
    t.deepEqual(await paypalKind.registerNotifications?.(input), first);
    const webhookId = first?.ok ? (first.fields['webhookId'] ?? '') : '';
    const { create } = paypalKind;
    const probe = () => create({ ...input, fields: { ...fields, webhookId } }).probe();
    t.like(await probe(), { ok: true, note: undefined });
    const path = `/v1/notifications/webhooks/${webhookId}`;
    const fewer = [{ op: 'replace', path: '/event_types', value: [{ name: 'PAYMENT.CAPTURE.COMPLETED' }] }];
    t.is((await shop.call('PATCH', path, fewer, { 'content-type': 'application/json' })).status, 200);
    t.like(await probe(), { ok: false, code: 'webhook_events' });
    t.deepEqual(await paypalKind.registerNotifications?.(input), first);
    t.like(await probe(), { ok: true, note: undefined });
    const strange = [{ op: 'replace', path: '/event_types', value: [{ name: 'NO.SUCH.EVENT' }] }];
    t.is((await shop.call('PATCH', path, strange, { 'content-type': 'application/json' })).status, 400);
  },
);

test.serial('merchant options for PayPal are accepted, and invalid ones are refused', async (t) => {
  const paypal = {
    brandName: '茶'.repeat(60),
    locale: 'zh-Hant-TW',
    landingPage: 'GUEST_CHECKOUT',
    immediatePayment: true,
    softDescriptor: 'KETTLES*1',
  } as const;
  const order = placeOrder(nextNo());
  t.is((await shop.channel.place({ ...order, options: { paypal } })).kind, 'pending');
  const { details } = await shop.world.get<{ details: object }>(`/sim/trades/${order.orderNo}`);
  t.like(details, { isImmediate: true });
  const wrong = await shop.channel.place({ ...placeOrder(nextNo()), options: { paypal: { locale: 'english' } } });
  t.like(wrong, { kind: 'declined', code: 'INVALID_PARAMETER_VALUE', definite: true });
});

test.serial('a token that expires early is renewed transparently', async (t) => {
  const own = await openShop();
  t.teardown(() => own.close());
  await paid(own, 'BEFORE0001');
  await own.advance(10 * 3600);
  await until(async () => (await own.call('GET', '/v2/checkout/orders/X')).status === 401);
  t.is((await paid(own, 'AFTER00001')).orderNo, 'AFTER00001');
});
