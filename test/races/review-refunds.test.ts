import test from 'ava';
import type { Channel, RefundOutcome } from '../../server/payments/channel.ts';
import { checkOrder } from '../../server/payments/orders/order.ts';
import { checkRefund } from '../../server/payments/refunds/lookups.ts';
import { claimKey, createWithKey } from '../../server/payments/idempotency.ts';
import { operatorRepairs } from '../../server/payments/exceptions/operator.ts';
import { placePayment } from '../../server/payments/orders/place.ts';
import type { Ports } from '../../server/payments/ports.ts';
import { refundPayment, sendRefund } from '../../server/payments/refunds/refund.ts';
import { settle } from '../../server/payments/settle.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, unexplained } from '../support/merchant-ledger.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startService, type Service } from '../support/service.ts';

const ADMIN = { owner: 'any', actor: 'admin:test' } as const;
const VIA = { cause: 'test', actor: 'test' };

test('a refund of another amount waits for an operator, stays listed, and can be resolved', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  await service.sim('/sim/faults', {
    payWay: 'alipay',
    call: 'refund',
    fault: 'commit-then-timeout',
    times: 1,
    delayMs: 100,
  });
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'refund-query', fault: 'wrong-amount', times: 1 });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const { refundNo } = body.data;
  service.clock.advance(12);
  await service.app.sweep.once();
  t.is((await refundOf(service, refundNo)).state, 'abnormal');
  t.deepEqual(await unexplained(service), []);
  const repairs = operatorRepairs(service.app.ports);
  const open = await service.app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
  for (const { id } of open)
    await t.throwsAsync(repairs.resolveException(ADMIN, id, 'acknowledge', 'seen'), { message: /has not ended/ });
  await repairs.resolveRefund(ADMIN, refundNo, 'paid_elsewhere', 'counted by hand');
  t.is((await refundOf(service, refundNo)).state, 'succeeded');
  t.is(await service.app.store.read((tx) => tx.exceptions.count({ orderNo, state: 'open' })), 0);
  await assertLedgersMatch(t, service);
});

test('a claim that was rolled back does not finish the key of the following request', async (t) => {
  const service = await startService(t);
  const { store, ports } = service.app;
  const once = createWithKey({ store, now: ports.now });
  const request = { scope: 'app:shop', route: 'POST /x', key: 'k', body: {} } as const;
  const refused = { status: 409, headers: {}, body: '{"code":"refused"}' };
  await once(request, async (first) => {
    const rollBack = store.transaction(async (tx) => {
      await claimKey(tx, first, 'R1', ports.now());
      throw new Error('refused');
    });
    await t.throwsAsync(rollBack);
    service.clock.advance(1);
    const second = { ...first, taken: false };
    await store.transaction((tx) => claimKey(tx, second, 'R2', ports.now()));
    return refused;
  });
  const key = await store.read((tx) => tx.keys.find({ key: 'k' }));
  t.is(key?.state, 'running');
  t.is(key?.intentNo, 'R2');
  t.not(key?.leasedUntil, null);
});

test('a check that read a failed refund does not undo a concurrent retry', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  const { store, ports } = service.app;
  const refundNo = await failedRefund(service, orderNo, shop.requester);
  let reads = 0;
  const read: typeof store.read = async (work) => {
    const result = await store.read(work);
    if (reads++ === 0) await store.transaction((tx) => reopen(tx, refundNo, ports.now()));
    return result;
  };
  await checkRefund({ ...ports, store: { ...store, read } })(refundNo);
  t.not((await refundOf(service, refundNo)).nextCheckAt, null);
});

test('a refund that settled since it was read is not sent', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  const refundNo = await failedRefund(service, orderNo, shop.requester);
  const { refund } = await sendRefund(service.app.ports)(refundNo, VIA);
  t.is(refund.state, 'failed');
  t.is((await ledgerOf(service)).get(orderNo)?.refunded, 0);
});

test('a call that died before its answer was settled counts as one that may still land', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  const { ports } = service.app;
  const dying = {
    ...ports,
    checkpoint: (name: string) => {
      if (name === 'refund.asked') throw new Error('killed');
    },
  };
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'timeout', times: 1, delayMs: 100 });
  await t.throwsAsync(refundPayment(dying)(shop.requester, { orderNo, refundAmount: 3 }), {
    code: 'channel_outcome_unknown',
  });
  const [refund] = await ports.store.read((tx) => tx.refunds.list({ orderNo }));
  t.is(refund!.unknownAt, null);
  const refusing = withChannel(service, { refund: async () => REFUSED, queryRefund: async () => ABSENT });
  for (const seconds of [11, 61, 61, 61]) {
    service.clock.advance(seconds);
    await checkRefund(refusing)(refund!.refundNo);
  }
  t.is((await refundOf(service, refund!.refundNo)).state, 'processing', 'within ten minutes nothing fails');
  service.clock.advance(600);
  await checkRefund(refusing)(refund!.refundNo);
  t.is((await refundOf(service, refund!.refundNo)).state, 'failed');
});

test('a refused refund of a late payment is listed and sent again until it succeeds', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { orderNo, refundNo } = await lateMoney(service, shop);
  const refusing = withChannel(service, { refund: async () => REFUSED, queryRefund: async () => ABSENT });
  for (let check = 0; check < 5; check++) {
    await checkRefund(refusing)(refundNo);
    service.clock.advance(61);
  }
  const listed = await service.app.store.read((tx) => tx.exceptions.find({ orderNo, kind: 'refund_abnormal' }));
  t.is(listed?.state, 'open');
  t.not((await refundOf(service, refundNo)).nextCheckAt, null);
  const page = async () => (await fetch(`${service.url}/pay/${orderNo}/state`)).json() as Promise<{ data: object }>;
  t.like(await page(), { data: { state: 'not_returned' } }, 'the page does not promise a refund to the payer');
  const { body } = await (await firstAdmin(service)).call('GET', `/api/v1/orders/${orderNo}/explain`);
  t.is(body.data.situation, 'late_refund_stuck', JSON.stringify(body.data));
  const willing = withChannel(service, { refund: async () => done(1000n), queryRefund: async () => ABSENT });
  for (let check = 0; check < 4; check++) {
    service.clock.advance(601);
    await checkRefund(willing)(refundNo);
  }
  t.is((await refundOf(service, refundNo)).state, 'succeeded');
  t.is(
    await service.app.store.read((tx) => tx.exceptions.count({ orderNo, kind: 'refund_abnormal', state: 'open' })),
    0,
  );
});

test('an effect that fails does not stop the refund of a late payment', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const broken = async () => {
    throw new Error('no coins today');
  };
  const { effects } = service.app.ports;
  const { orderNo, refundNo } = await lateMoney(service, shop, { effects: { ...effects, refundReserved: broken } });
  t.is((await refundOf(service, refundNo)).state, 'pending');
  t.truthy(await service.app.store.read((tx) => tx.exceptions.find({ orderNo, kind: 'effect_failed' })));
});

test('a reserved refund is returned, even if its channel cannot be opened', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  const { ports } = service.app;
  const forOrder = async () => {
    throw new Error('the seal is broken');
  };
  const shut = { ...ports, channels: { ...ports.channels, forOrder } };
  const { refund } = await refundPayment(shut)(shop.requester, { orderNo, refundAmount: 2 });
  t.is(refund.state, 'processing');
  t.not(refund.nextCheckAt, null);
});

test('a surplus payment in another currency is refunded in its own currency', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'paypal', amount: 10 });
  const { ports, store } = service.app;
  const paid = {
    kind: 'paid',
    channelNo: 'C1',
    amount: { minor: 900n, currency: 'EUR' },
    at: ports.now(),
  } as const;
  await settle(ports, orderNo, { outcome: paid }, VIA);
  const exception = await store.read((tx) => tx.exceptions.find({ orderNo, kind: 'amount_mismatch' }));
  const asked: string[] = [];
  const willing = withChannel(service, {
    refund: async ({ refundAmount, amount }) => {
      asked.push(refundAmount.currency, amount.currency);
      return { kind: 'succeeded', amount: refundAmount, at: ports.now() };
    },
  });
  await operatorRepairs(willing).resolveException(ADMIN, exception!.id, 'refund', 'not ours');
  t.deepEqual(asked, ['EUR', 'EUR']);
  await settle(ports, orderNo, { outcome: paid }, VIA);
  const closed = await store.read((tx) => tx.orders.find({ orderNo }));
  t.is(closed?.state, 'closed');
  const last = await store.read((tx) => tx.transitions.list({ orderNo, toState: 'closed' }));
  t.deepEqual(
    last.map(({ fromState, rule }) => [fromState, rule]),
    [['pending', 'close_requested']],
  );
});

test('an inconclusive refusal is not stored as the answer: the order stays open and reports it', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { ports } = service.app;
  const active = await ports.channels.forNew('default', 'alipay');
  const place: Channel['place'] = async () => ({ kind: 'declined', code: 'ODD', reason: 'odd', definite: false });
  const forNew = async () => ({ ...active, channel: { ...active.channel, place } });
  const payee = {
    clientId: shop.clientId,
    project: 'default',
    latePayment: { afterExpiry: 'accept', afterClose: 'refund', afterFailed: 'refund' },
    limits: null,
    actor: 'test',
  } as const;
  const odd = placePayment({ ...ports, channels: { ...ports.channels, forNew } });
  const error = await t.throwsAsync(odd(payee, { subject: 'odd', amount: 1, payWay: 'alipay' }));
  t.is((error as unknown as { status: number }).status, 502);
});

test('a channel that is silent at a late check is queried again: the check is not used up', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'wechat' });
  await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  t.is(await stateOf(service, orderNo), 'closed');
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'query', fault: 'timeout', times: 1, delayMs: 100 });
  service.clock.advance(301);
  await service.app.sweep.once();
  const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  t.is(order?.checks, 0);
  t.true(order!.nextCheckAt! > service.clock.now());
});

test('hints about an ended order use up none of its late checks', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'wechat' });
  await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  const order = () => service.app.store.read((tx) => tx.orders.find({ orderNo }));
  const before = await order();
  for (let hint = 0; hint < 4; hint += 1) await checkOrder(service.app.ports)(orderNo);
  t.like(await order(), { checks: 0, nextCheckAt: before!.nextCheckAt });
  service.clock.advance(301);
  await service.app.sweep.once();
  t.is((await order())?.checks, 1, 'the check at its time counts');
});

const REFUSED = { kind: 'refused', code: 'NO', reason: 'not now' } as const;
const ABSENT = { kind: 'absent' } as const;

function done(minor: bigint): RefundOutcome {
  return { kind: 'succeeded', amount: { minor, currency: 'CNY' }, at: new Date() };
}

/** The service's ports with a channel that returns test answers. */
function withChannel({ app: { ports } }: Service, says: Partial<Channel>): Ports {
  const forOrder: Ports['channels']['forOrder'] = async (order) => ({
    ...(await ports.channels.forOrder(order)),
    ...says,
  });
  return { ...ports, channels: { ...ports.channels, forOrder } };
}

async function refundOf({ app }: Service, refundNo: string) {
  const refund = await app.store.read((tx) => tx.refunds.find({ refundNo }));
  if (!refund) throw new Error('no refund');
  return refund;
}

/** A refund that its channel finally refused before it was made. */
async function failedRefund(
  service: Service,
  orderNo: string,
  requester: Parameters<ReturnType<typeof refundPayment>>[0],
): Promise<string> {
  const refusing = withChannel(service, { refund: async () => ({ kind: 'failed', code: 'NO', reason: 'no' }) });
  const { refund } = await refundPayment(refusing)(requester, { orderNo, refundAmount: 3 });
  return refund.refundNo;
}

type Tx = Parameters<Parameters<Service['app']['store']['transaction']>[0]>[0];

async function reopen(tx: Tx, refundNo: string, now: Date): Promise<void> {
  await tx.refunds.update({ refundNo }, { state: 'pending', nextCheckAt: now });
}

/** A closed order, and the refund of its late payment. */
async function lateMoney(
  service: Service,
  shop: Awaited<ReturnType<Service['merchant']>>,
  otherwise: Partial<Ports> = {},
): Promise<{ orderNo: string; refundNo: string }> {
  const ports = { ...service.app.ports, ...otherwise };
  const orderNo = await placeOrder(shop, { payWay: 'wechat', amount: 10 });
  await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  const amount = { minor: 1000n, currency: 'CNY' };
  const paid = { kind: 'paid', channelNo: `T${orderNo}`, amount, at: ports.now() } as const;
  await settle(ports, orderNo, { outcome: paid }, VIA);
  return { orderNo, refundNo: `R${orderNo}L` };
}
