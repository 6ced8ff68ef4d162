import test from 'ava';
import { payOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

for (const payWay of ['alipay', 'paypal'] as const) {
  test(`a refund made elsewhere whose first query is unanswered (${payWay}) is queried again`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
    await service.sim('/sim/faults', { payWay, call: 'refund-query', fault: 'timeout', times: 1, delayMs: 100 });
    await service.sim('/sim/refund-elsewhere', { orderNo, amount: 4 });
    await until('it is known', async () => {
      service.clock.advance(11);
      await service.app.sweep.once();
      return service.app.store.read((tx) => tx.refunds.find({ orderNo, origin: 'channel' }));
    });
    const refused = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 10 });
    t.is(refused.body.code, 'refund_exceeds_refundable');
  });
}
