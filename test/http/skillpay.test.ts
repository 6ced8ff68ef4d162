import test from 'ava';
import { startService } from '../support/service.ts';
import { addSkill, callSkill, offerSkill, paySkill } from '../support/skillpay.ts';

test('offer, pay, redeem once, query, refund: at each channel', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  await addSkill(service, { code: 'forecast', priceMinor: 150n, currency: 'USD', payWays: ['paypal'] });
  for (const [payWay, resource] of [
    ['wechat', 'weather'],
    ['alipay', 'weather'],
    ['paypal', 'forecast'],
  ] as const) {
    const body = { resource, input: { city: 'Paris' }, payWay };
    const offer = await callSkill(shop, body);
    t.is(offer.status, 402, JSON.stringify(offer.body));
    const { outTradeNo } = offer.body.data;
    t.is(offer.headers.get('x-out-trade-no'), outTradeNo);
    t.is(offer.headers.get('weixin-pay-required'), offer.body.data.paymentCode);
    t.is(offer.headers.get('weixinpay-required'), offer.body.data.paymentCode);
    t.is(offer.headers.get('cache-control'), 'no-store');
    t.truthy(offer.headers.get('retry-after'));
    t.is(offer.body.code, 'payment_required');
    t.is(offer.body.data.status, 'pending');
    t.truthy(payWay === 'paypal' ? offer.body.data.payUrl : offer.body.data.qrCode);
    const early = await callSkill(shop, body, outTradeNo);
    t.is(early.status, 402);
    t.is(early.headers.get('weixin-pay-required'), offer.headers.get('weixin-pay-required'));
    t.is(early.headers.get('payment-required'), offer.headers.get('payment-required'));
    await paySkill(service, outTradeNo);
    const paid = await callSkill(shop, body, outTradeNo);
    t.is(paid.status, 200, JSON.stringify(paid.body));
    t.deepEqual(paid.body.data.content, { sky: 'blue' });
    t.is(paid.body.data.alreadyFulfilled, false);
    t.is(paid.headers.get('cache-control'), 'private');
    const again = await callSkill(shop, undefined, outTradeNo);
    t.deepEqual(again.body.data, { ...paid.body.data, alreadyFulfilled: true });
    const seen = await shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
    t.is(seen.body.data.fulfilment, 'done');
    t.is(seen.body.data.status, 'paid');
    const refund = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo, reason: 'Rain' });
    t.is(refund.status, 200, JSON.stringify(refund.body));
    t.is(refund.body.data.refundAmount, payWay === 'paypal' ? 1.5 : 0.5);
    t.is((await callSkill(shop, undefined, outTradeNo)).status, 410);
  }
  t.is((await offerSkill(shop)).length, 25);
});
