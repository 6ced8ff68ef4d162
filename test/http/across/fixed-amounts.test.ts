import test, { type ExecutionContext } from 'ava';
import { runUntilQuiet } from '../../support/merchant-ledger.ts';
import { payOrder, stateOf } from '../../support/orders.ts';
import { startService, type Merchant, type Service } from '../../support/service.ts';

const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** The answer to a payment of an amount, and the final state of its order. An approved PayPal payment is captured immediately. */
interface Fixed {
  amount: number;
  answer: number;
  code: string | null;
  end: string;
  paidAtOnce: readonly string[];
}

const FIXED: readonly Fixed[] = [
  { amount: 0.01, answer: 201, code: null, end: 'paid', paidAtOnce: ['paypal'] },
  { amount: 0.02, answer: 422, code: 'channel_refused', end: 'failed', paidAtOnce: [] },
  { amount: 0.03, answer: 201, code: null, end: 'paid', paidAtOnce: [] },
  { amount: 0.04, answer: 201, code: null, end: 'paid', paidAtOnce: ['paypal'] },
  { amount: 0.05, answer: 201, code: null, end: 'paid', paidAtOnce: ['paypal'] },
];

/** The channel never answers, so the service waits for its longest timeout. */
const SILENT: Fixed = { amount: 0.06, answer: 504, code: 'channel_outcome_unknown', end: 'closed', paidAtOnce: [] };

/** Pays an amount; returns the order number. */
async function payFixed(t: ExecutionContext, shop: Merchant, payWay: string, fixed: Fixed): Promise<string> {
  const { amount, answer, code, paidAtOnce } = fixed;
  const order = { subject: 'Fixed', amount, payWay };
  const { status, body } = await shop.call('POST', '/api/v2/payment/pay', order);
  const which = `${payWay} ${amount}: ${JSON.stringify(body)}`;
  t.deepEqual([status, body.code ?? null], [answer, code], which);
  if (code === 'channel_refused') t.regex(body.detail, /\b0\.02\b/, `${which}: the refusal names its cause`);
  if (answer === 201) {
    const isPaid = paidAtOnce.includes(payWay);
    t.is(body.data.status, isPaid ? 'paid' : 'pending', which);
    t.is('payment' in body.data, !isPaid, `${which}: what the payer needs`);
  }
  return (body.data ?? body).orderNo;
}

/** Waits until every order has reached its expected end state, after the clock advanced by half a day. */
async function assertEnds(
  t: ExecutionContext,
  service: Service,
  ends: ReadonlyMap<string, [which: string, end: string]>,
) {
  await runUntilQuiet(service, 12 * 3600, 600);
  for (const [orderNo, [which, end]] of ends) t.is(await stateOf(service, orderNo), end, which);
}

/** Pays every amount at every channel in one service. */
async function payAll(t: ExecutionContext, service: Service, amounts: readonly Fixed[]): Promise<void> {
  const shop = await service.merchant();
  const ends = new Map<string, [string, string]>();
  for (const payWay of PAY_WAYS) {
    // Some amounts are paid automatically: on a slow machine the notification would arrive before the answer.
    await service.sim('/sim/notices', { payWay, enabled: false });
    for (const fixed of amounts)
      ends.set(await payFixed(t, shop, payWay, fixed), [`${payWay} ${fixed.amount}`, fixed.end]);
  }
  t.is(ends.size, PAY_WAYS.length * amounts.length);
  await assertEnds(t, service, ends);
}

test.serial(
  'a payment of a fixed amount is answered as documented at every channel, and so does its order end',
  async (t) => payAll(t, await startService(t), FIXED),
);

test.serial('an amount for which the channel stays silent is answered 504, and its order ends closed', async (t) =>
  payAll(t, await startService(t, { timeoutMs: 3_000 }), [SILENT]),
);

test.serial('paypal: an order that is approved immediately ends as its capture ends', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const ends = new Map<string, [string, string]>();
  for (const [fault, status, end] of [
    ['capture-pending', 'pending', 'paid'],
    ['capture-declined', 'closed', 'closed'],
    ['timeout', 'pending', 'paid'],
  ] as const) {
    await service.sim('/sim/faults', { payWay: 'paypal', call: 'capture', fault, times: 1, hangUpMs: 100 });
    const order = { subject: 'Fixed', amount: 0.01, payWay: 'paypal' };
    const { status: answer, body } = await shop.call('POST', '/api/v2/payment/pay', order);
    t.is(answer, 201, `${fault}: ${JSON.stringify(body)}`);
    t.is(body.data.status, status, fault);
    t.false('payment' in body.data, fault);
    ends.set(body.data.orderNo, [fault, end]);
  }
  await assertEnds(t, service, ends);
});

test.serial(
  'the timeline and the list of a merchant name the reason of the channel for a refused refund',
  async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const orderNo = await payOrder(service, shop, { amount: 0.05 });
    const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 0.05 });
    await runUntilQuiet(service, 1800, 60);
    const [refund] = (await shop.call('GET', '/api/v2/payment/refunds')).body.data;
    t.like(refund, { refundNo: body.data.refundNo, status: 'failed' });
    const timeline = await shop.call('GET', `/api/v2/payment/orders/${orderNo}/timeline`);
    const last = timeline.body.data.findLast(({ kind }: { kind: string }) => kind === 'move');
    t.true(last.summary.startsWith(`refund ${refund.refundNo} `), last.summary);
    t.true(last.summary.endsWith(`: ${refund.failure.code}`), last.summary);
  },
);
