import test from 'ava';
import { runUntilQuiet } from '../../support/books.ts';
import { stateOf } from '../../support/orders.ts';
import { startService } from '../../support/service.ts';

const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;
/** What a payment of the amount is answered with, and where its order ends. PayPal's approved money is captured at once. */
const FIXED: [amount: number, answer: number, code: string | null, end: string, paidAtOnce: readonly string[]][] = [
  [0.01, 201, null, 'paid', ['paypal']],
  [0.02, 422, 'channel_refused', 'failed', []],
  [0.03, 201, null, 'paid', []],
  [0.04, 201, null, 'paid', ['paypal']],
  [0.05, 201, null, 'paid', ['paypal']],
  [0.06, 504, 'channel_outcome_unknown', 'closed', []],
];

for (const payWay of PAY_WAYS)
  for (const [amount, answer, code, end, paidAtOnce] of FIXED)
    test.serial(`${payWay} ${amount}: ${answer}, and in the end ${end}`, async (t) => {
      const service = await startService(t, amount === 0.06 ? { timeoutMs: 3_000 } : {});
      const shop = await service.merchant();
      const order = { subject: 'Fixed', amount, payWay };
      // Some amounts are paid by themselves: on a slow machine the message would be here before the answer is.
      await service.sim('/sim/notices', { payWay, enabled: false });
      const { status, body } = await shop.call('POST', '/api/v2/payment/pay', order);
      t.deepEqual([status, body.code ?? null], [answer, code], JSON.stringify(body));
      const { orderNo } = body.data ?? body;
      if (answer === 201) {
        const isPaid = paidAtOnce.includes(payWay);
        t.is(body.data.status, isPaid ? 'paid' : 'pending');
        t.is('payment' in body.data, !isPaid, 'what the payer needs');
      }
      await runUntilQuiet(service, 12 * 3600, 600);
      t.is(await stateOf(service, orderNo), end);
    });

for (const [fault, status, end] of [
  ['capture-pending', 'pending', 'paid'],
  ['capture-declined', 'closed', 'closed'],
  ['timeout', 'pending', 'paid'],
] as const)
  test.serial(`paypal: an order that is approved at once whose capture meets ${fault} is ${status}`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    await service.sim('/sim/faults', { payWay: 'paypal', call: 'capture', fault, times: 1, hangUpMs: 100 });
    const order = { subject: 'Fixed', amount: 0.01, payWay: 'paypal' };
    const { status: answer, body } = await shop.call('POST', '/api/v2/payment/pay', order);
    t.is(answer, 201, JSON.stringify(body));
    t.is(body.data.status, status);
    t.false('payment' in body.data);
    await runUntilQuiet(service, 12 * 3600, 600);
    t.is(await stateOf(service, body.data.orderNo), end);
  });
