import test from 'ava';
import type { RefundOutcome } from '../../server/payments/channel.ts';
import { refundPayment } from '../../server/payments/refunds/refund.ts';
import { settleRefund } from '../../server/payments/settle.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { payOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';

const VIA = { cause: 'test', actor: 'test' };
const FAILED = { kind: 'failed', code: 'CLOSED', reason: 'The channel closed it.' } as const;

test('an answer that arrives after its refund failed and was repeated does not affect the new attempt', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { ports, store } = service.app;
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 10 });
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<RefundOutcome>();
  const refund = () => (asked.resolve(), answer.promise);
  const forOrder: typeof ports.channels.forOrder = async (order) => ({
    ...(await ports.channels.forOrder(order)),
    refund,
  });
  const slow = { ...ports, channels: { ...ports.channels, forOrder } };
  const request = { orderNo, refundAmount: 4, merchantRefundNo: 'again' };
  const first = refundPayment(slow)(shop.requester, request);
  await asked.promise;
  const rowOf = async () => (await store.read((tx) => tx.refunds.list({ orderNo })))[0]!;
  const { refundNo } = await rowOf();
  await settleRefund(ports, refundNo, { outcome: FAILED }, VIA);
  const dying = {
    ...ports,
    checkpoint: (name: string) => {
      if (name === 'refund.intent') throw new Error('killed');
    },
  };
  await t.throwsAsync(refundPayment(dying)(shop.requester, request), { message: 'killed' });
  t.like(await rowOf(), { state: 'pending', attempt: 2, accepted: false });
  answer.resolve({ kind: 'pending' });
  await first;
  t.like(await rowOf(), { state: 'pending', attempt: 2, accepted: false });
  await runUntilQuiet(service, 3600, 60);
  t.like(await rowOf(), { state: 'succeeded', attempt: 2 });
  t.is((await ledgerOf(service)).get(orderNo)?.refunded, 400);
  await assertLedgersMatch(t, service);
});
