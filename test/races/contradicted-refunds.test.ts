import test, { type ExecutionContext } from 'ava';
import type { Delivery } from '../../server/simulator/notification.ts';
import type { RefundOutcome } from '../../server/payments/channel.ts';
import { operatorRepairs, type RefundAction } from '../../server/payments/exceptions/operator.ts';
import type { Ports } from '../../server/payments/ports.ts';
import { refundLookups } from '../../server/payments/refunds/lookups.ts';
import { settleRefund } from '../../server/payments/settle.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { payOrder } from '../support/orders.ts';
import { type Service, startService, until } from '../support/service.ts';

/** A message of a channel as it was sent. */
type RefundState = 'processing' | 'succeeded' | 'failed' | 'abnormal';

const VIA = { cause: 'test', actor: 'test' };
const ADMIN = { owner: 'any', actor: 'admin:test' } as const;

const ABOUT_REFUNDS = /^(REFUND|PAYMENT\.(REFUND|CAPTURE\.REFUNDED))/;

const ends: (() => unknown)[] = [];
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

async function stage(on: Pick<ExecutionContext, 'teardown'>) {
  const service = await startService(on);
  return { service, logIn: (await firstAdmin(service)).logIn };
}

let common: ReturnType<typeof stage> | undefined;

/** The service of all tests whose ledger checks pass: they run serially, each with its own order. */
const commonOne = () => (common ??= stage({ teardown: (end) => void ends.push(end) }));

/** A refund that succeeded and was reported, and whose later messages are delivered one by one. */
async function refunded(t: ExecutionContext, payWay: 'wechat' | 'paypal', at = commonOne()) {
  const { service, logIn } = await at;
  const shop = await service.merchant();
  const admin = await logIn();
  await service.sim('/sim/notices', { payWay, enabled: true });
  const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
  await service.sim('/sim/notices', { payWay, enabled: false });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const refundNo: string = body.data.refundNo;
  await runUntilQuiet(service, 600, 200);
  const told = async () => {
    const all = await service.deliveries(orderNo);
    return all.filter(({ event }) => ABOUT_REFUNDS.test(event));
  };
  const hand = async ({ headers, bodyBase64 }: Delivery) => {
    const sent = { method: 'POST', headers, body: Buffer.from(bodyBase64, 'base64') };
    t.true((await fetch(`${service.url}/notify/${payWay}/default`, sent)).ok);
  };
  const [done] = await told();
  return {
    service,
    admin,
    orderNo,
    refundNo,
    hand,
    told,
    /** The success message, which was not delivered. */
    done: done!,
    /** Changes the refund's state at the channel; returns the message. */
    async becomes(state: RefundState, which = refundNo) {
      const before = (await told()).length;
      await service.sim('/sim/refund-state', { orderNo, refundNo: which, state });
      await until(`told ${state}`, async () => (await told()).length > before);
      return (await told()).at(-1)!;
    },
    /** A refund in the portal of the channel; returns its message. */
    async portal(amount: number) {
      const before = (await told()).length;
      const { refundNo: theirs } = await service.sim('/sim/refund-elsewhere', { orderNo, amount });
      await until('told', async () => (await told()).length > before);
      return { theirs: String(theirs), message: (await told()).at(-1)! };
    },
    /** The stored refunds of the portal. */
    foreign: () => service.app.store.read((tx) => tx.refunds.list({ orderNo, origin: 'channel' })),
    resolve: (action: RefundAction, which = refundNo) =>
      admin.call('POST', `/api/v1/refunds/${which}/resolve`, { action, reason: 'The bank sent it back' }),
    async state() {
      await runUntilQuiet(service, 600, 200);
      const { app } = service;
      const refund = await app.store.read((tx) => tx.refunds.find({ refundNo }));
      const open = await app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
      return [refund?.state, ...open.map(({ kind }) => kind)];
    },
  };
}

for (const payWay of ['wechat', 'paypal'] as const) {
  test.serial(
    `${payWay}: a refund returned after it succeeded opens an exception, and an older message does not hide it`,
    async (t) => {
      const on = await refunded(t, payWay);
      t.deepEqual(await on.state(), ['succeeded']);
      await on.hand(await on.becomes('failed'));
      t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
      await on.hand(on.done);
      t.deepEqual(await on.state(), ['abnormal', 'refund_reversed'], 'an earlier success changes nothing');
      t.is((await on.resolve('failed_at_channel')).status, 200);
      t.deepEqual(await on.state(), ['failed']);
      await assertLedgersMatch(t, on.service);
    },
  );

  test.serial(`${payWay}: a refund that was returned and then succeeds closes its exception`, async (t) => {
    const on = await refunded(t, payWay);
    await on.hand(await on.becomes('failed'));
    t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
    await on.hand(await on.becomes('succeeded'));
    t.deepEqual(await on.state(), ['succeeded']);
    await assertLedgersMatch(t, on.service);
  });

  test.serial(
    `${payWay}: a refund that an operator marked failed succeeds if the channel reports success`,
    async (t) => {
      const on = await refunded(t, payWay);
      await on.hand(await on.becomes('failed'));
      await on.state();
      t.is((await on.resolve('failed_at_channel')).status, 200);
      await on.hand(on.done);
      t.deepEqual(await on.state(), ['failed'], 'an earlier success changes nothing');
      await on.hand(await on.becomes('succeeded'));
      t.deepEqual(await on.state(), ['succeeded']);
      await assertLedgersMatch(t, on.service);
    },
  );
}

for (const payWay of ['wechat', 'paypal'] as const) {
  test.serial(`${payWay}: a return message is ignored once the refund has succeeded after it`, async (t) => {
    const on = await refunded(t, payWay);
    const back = await on.becomes('failed');
    await on.hand(await on.becomes('succeeded'));
    await on.hand(back);
    t.deepEqual(await on.state(), ['succeeded'], 'the refund is queried, and its exception closes by itself');
    await assertLedgersMatch(t, on.service);
  });

  test.serial(
    `${payWay}: a refund that an operator paid by another way and that then succeeds opens an exception`,
    async (t) => {
      const on = await refunded(t, payWay);
      const back = await on.becomes('failed');
      await on.hand(back);
      await on.state();
      t.is((await on.resolve('paid_elsewhere')).status, 200);
      await on.hand(on.done);
      t.deepEqual(await on.state(), ['succeeded'], 'an earlier success changes nothing');
      await on.hand(await on.becomes('succeeded'));
      t.deepEqual(await on.state(), ['succeeded', 'refund_elsewhere']);
      const { body } = await on.admin.call('GET', `/api/v1/orders/${on.orderNo}/explain`);
      t.like(body.data.refunds[0], { situation: 'paid_twice' });
      t.true(body.data.refunds[0].reason.includes('The bank sent it back'), body.data.refunds[0].reason);
      const [listed] = body.data.exceptions;
      const seen = { action: 'acknowledge', reason: 'The payer sent it back' };
      t.is((await on.admin.call('POST', `/api/v1/exceptions/${listed.id}/resolve`, seen)).status, 200);
      t.deepEqual(await on.state(), ['succeeded']);
      await assertLedgersMatch(t, on.service);
    },
  );

  test.serial(`${payWay}: a portal refund is recorded with its message, unless it was returned before`, async (t) => {
    const on = await refunded(t, payWay);
    const { theirs, message } = await on.portal(2);
    const back = await on.becomes('failed', theirs);
    await on.hand(back);
    await on.hand(message);
    t.deepEqual(await on.foreign(), [], 'the older message is not believed');
    const other = await on.portal(3);
    await on.hand(other.message);
    const [known] = await on.foreign();
    t.like(known, { state: 'succeeded', amount: 300n, elsewhere: true });
    t.deepEqual(await on.state(), ['succeeded', 'refund_elsewhere']);
    await assertLedgersMatch(t, on.service);
  });
}

test.serial('wechat: an answer from before the message is discarded, and the channel is queried again', async (t) => {
  const on = await refunded(t, 'wechat');
  const { ports } = on.service.app;
  const failed = { kind: 'failed', code: 'CLOSED', reason: 'closed' } as const;
  await settleRefund(ports, on.refundNo, { outcome: failed }, VIA);
  t.deepEqual(await on.state(), ['succeeded'], 'it has succeeded since');
  await on.hand(await on.becomes('failed'));
  t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
  t.is((await on.resolve('failed_at_channel')).status, 200);
  await settleRefund(ports, on.refundNo, { outcome: { kind: 'pending' } }, VIA);
  t.deepEqual(await on.state(), ['failed'], 'it has ended since');
  await on.service.sim('/sim/refund-state', { orderNo: on.orderNo, refundNo: on.refundNo, state: 'processing' });
  await settleRefund(ports, on.refundNo, { outcome: { kind: 'pending' } }, VIA);
  t.deepEqual(await on.state(), ['processing'], 'it is pending again');
  const order = await on.service.app.store.read((tx) => tx.orders.find({ orderNo: on.orderNo }));
  t.deepEqual([order?.refunded, order?.refunding], [0n, 400n], 'its money is reserved');
  await on.hand(await on.becomes('succeeded'));
  t.deepEqual(await on.state(), ['succeeded']);
  await assertLedgersMatch(t, on.service);
});

test.serial('wechat: a message that arrives during a query overrides the answer', async (t) => {
  const on = await refunded(t, 'wechat', stage(t));
  const { store, ports } = on.service.app;
  await on.hand(await on.becomes('failed'));
  await on.hand(await on.becomes('succeeded'));
  t.deepEqual(await on.state(), ['succeeded']);
  await on.service.sim('/sim/faults', { payWay: 'wechat', call: 'refund-query', fault: '502', times: 1 });
  await on.hand(await on.becomes('failed'));
  const [open] = await store.read((tx) => tx.refundLookups.list({ orderNo: on.orderNo, state: 'open' }));
  const done = {
    kind: 'succeeded',
    amount: { minor: 400n, currency: 'CNY' },
    at: ports.now(),
  } as const;
  const again = await on.becomes('abnormal');
  const late = asking(on.service, async () => {
    await on.service.sim('/sim/faults', { payWay: 'wechat', call: 'refund-query', fault: '502', times: 1 });
    await on.hand(again);
    return done;
  });
  await refundLookups(late)(open!.id);
  t.deepEqual(await on.state(), ['abnormal', 'refund_reversed'], 'the answer is older');
});

test.serial(
  'wechat: an operator resolves a refund only if it is unchanged since the channel was queried',
  async (t) => {
    const on = await refunded(t, 'wechat');
    await on.hand(await on.becomes('failed'));
    t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
    const news = await on.becomes('succeeded');
    const late = asking(on.service, async () => {
      await on.hand(news);
      return { kind: 'failed', code: 'CLOSED', reason: 'closed' };
    });
    const ending = operatorRepairs(late).resolveRefund(ADMIN, on.refundNo, 'failed_at_channel', 'closed');
    await t.throwsAsync(ending, { code: 'changed_meanwhile' });
    t.deepEqual(await on.state(), ['succeeded']);
    await assertLedgersMatch(t, on.service);
  },
);

/** The service's ports with this refund query. */
function asking({ app: { ports } }: Service, queryRefund: () => Promise<RefundOutcome>): Ports {
  const forOrder: Ports['channels']['forOrder'] = async (order) => ({
    ...(await ports.channels.forOrder(order)),
    queryRefund,
  });
  return { ...ports, channels: { ...ports.channels, forOrder } };
}

test.serial('paypal: a message about a succeeded refund is not lost if the PayPal query fails', async (t) => {
  const on = await refunded(t, 'paypal', stage(t));
  const news = await on.becomes('failed');
  await on.service.sim('/sim/faults', { payWay: 'paypal', call: 'refund-query', fault: '502', times: 1 });
  await on.hand(news);
  t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
  await on.service.sim('/sim/faults', { payWay: 'paypal', call: 'refund-query', fault: '502', times: 1 });
  await on.hand(await on.becomes('succeeded'));
  t.deepEqual(await on.state(), ['succeeded']);
});

for (const payWay of ['wechat', 'paypal'] as const)
  test.serial(
    `${payWay}: a portal refund that was returned opens an exception, reserves its amount, and an operator resolves it`,
    async (t) => {
      const on = await refunded(t, payWay);
      const { service, admin, orderNo } = on;
      const { theirs, message } = await on.portal(2);
      await on.hand(message);
      const [known] = await on.foreign();
      t.like(known, { state: 'succeeded', amount: 200n });
      await on.hand(await on.becomes('failed', theirs));
      await runUntilQuiet(service, 600, 200);
      const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
      t.deepEqual([order?.refunded, order?.refunding], [400n, 200n]);
      t.true((await on.state()).includes('refund_reversed'));
      const again = await admin.call('POST', `/api/v1/refunds/${known!.refundNo}/retry`);
      t.is(again.body.code, 'refund_not_retryable', 'the service did not make it');
      const told = JSON.stringify((await admin.call('GET', `/api/v1/orders/${orderNo}/explain`)).body);
      t.true(told.includes(`payctl refund resolve ${known!.refundNo}`), told);
      t.false(told.includes(`payctl refund retry ${known!.refundNo}`), 'a refused command is not suggested');
      const released = await on.resolve('release', known!.refundNo);
      t.is(released.body.code, 'refund_not_released', 'an unknown number at the channel proves nothing');
      t.is((await on.resolve('failed_at_channel', known!.refundNo)).status, 200);
      t.deepEqual(await on.state(), ['succeeded']);
      await assertLedgersMatch(t, service);
    },
  );

test.serial('paypal: a portal refund that succeeded cannot be marked failed', async (t) => {
  const on = await refunded(t, 'paypal', stage(t));
  const { theirs, message } = await on.portal(2);
  await on.hand(message);
  const [known] = await on.foreign();
  await on.hand(await on.becomes('failed', theirs));
  await on.state();
  await on.becomes('succeeded', theirs);
  t.is((await on.resolve('failed_at_channel', known!.refundNo)).body.code, 'refund_not_released');
});
