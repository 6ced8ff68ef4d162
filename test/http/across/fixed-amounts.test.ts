import test, { type ExecutionContext } from 'ava';
import { runUntilQuiet } from '../../support/books.ts';
import { stateOf } from '../../support/orders.ts';
import { startService, type Merchant, type Service } from '../../support/service.ts';

const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** The answer to a payment of an amount, and the last state of its order. PayPal's approved money is captured at once. */
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

/** The channel says nothing at all, so the service waits as long as it ever does. */
const SILENT: Fixed = { amount: 0.06, answer: 504, code: 'channel_outcome_unknown', end: 'closed', paidAtOnce: [] };

/** Pays an amount; the number of the order. */
async function payFixed(t: ExecutionContext, shop: Merchant, payWay: string, fixed: Fixed): Promise<string> {
  const { amount, answer, code, paidAtOnce } = fixed;
  const order = { subject: 'Fixed', amount, payWay };
  const { status, body } = await shop.call('POST', '/api/v2/payment/pay', order);
  const which = `${payWay} ${amount}: ${JSON.stringify(body)}`;
  t.deepEqual([status, body.code ?? null], [answer, code], which);
  if (answer === 201) {
    const isPaid = paidAtOnce.includes(payWay);
    t.is(body.data.status, isPaid ? 'paid' : 'pending', which);
    t.is('payment' in body.data, !isPaid, `${which}: what the payer needs`);
  }
  return (body.data ?? body).orderNo;
}

/** Every order is where it was to end when half a day has gone by. */
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
    // Some amounts are paid by themselves: on a slow machine the message would be here before the answer is.
    await service.sim('/sim/notices', { payWay, enabled: false });
    for (const fixed of amounts)
      ends.set(await payFixed(t, shop, payWay, fixed), [`${payWay} ${fixed.amount}`, fixed.end]);
  }
  t.is(ends.size, PAY_WAYS.length * amounts.length);
  await assertEnds(t, service, ends);
}

test.serial('a fixed amount is answered, and its order ends, as its meaning says, at every channel', async (t) =>
  payAll(t, await startService(t), FIXED),
);

test.serial('an amount about which the channel stays silent is 504, and its order ends closed', async (t) =>
  payAll(t, await startService(t, { timeoutMs: 3_000 }), [SILENT]),
);

test.serial('paypal: an order that is approved at once is what becomes of its capture', async (t) => {
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
