import test from 'ava';
import { startService, until } from '../support/service.ts';

test('an order is placed, paid by notice, queried, refunded in part, and another is closed', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  for (const payWay of ['alipay', 'wechat', 'paypal']) {
    const placed = await shop.call('POST', '/api/v2/payment/pay', {
      subject: 'Two coffees',
      amount: 12.5,
      payWay,
      extra: '{"table":7}',
    });
    t.is(placed.status, 201, JSON.stringify(placed.body));
    const { orderNo } = placed.body.data;
    t.is(placed.body.data.status, 'pending');
    t.is(placed.body.data.extra, '{"table":7}');
    await service.sim('/sim/pay', { orderNo });
    const paid = await until(`${payWay} paid`, async () => {
      const { body } = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
      return body.data.status === 'paid' && body.data;
    });
    t.is(paid.refundableAmount, payWay === 'paypal' ? 12.5 : 12.5);
    const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 2.5 });
    t.is(refund.status, 200, JSON.stringify(refund.body));
    t.true(['processing', 'succeeded', 'pending'].includes(refund.body.data.status));
    const other = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount: '3', payWay });
    const closed = await shop.call('POST', `/api/v2/payment/close/${other.body.data.orderNo}`);
    t.is(closed.status, 200, JSON.stringify(closed.body));
    t.is(closed.body.data.status, payWay === 'alipay' ? 'closing' : 'closed');
  }
});
