import test from 'ava';
import { payOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

for (const payWay of ['alipay', 'paypal'] as const) {
  test(`a refund made elsewhere whose question stays unanswered (${payWay}) is listed and blocks refunds`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
    await service.sim('/sim/faults', { payWay, call: 'refund-query', fault: 'timeout', times: 1, delayMs: 100 });
    await service.sim('/sim/refund-elsewhere', { orderNo, amount: 4 });
    await until('it is listed', () =>
      service.app.store.read((tx) => tx.exceptions.find({ orderNo, kind: 'refund_unexplained', state: 'open' })),
    );
    const refused = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 10 });
    t.is(refused.body.code, 'refunds_blocked');
  });
}
