import test from 'ava';
import { placeOrder } from '../../../server/payments/ask.ts';
import { orderRow } from '../../support/core-rows.ts';

test('pay-per-call takes no money that comes later; other orders may ask for the same', (t) => {
  const optionsOf = (change: Parameters<typeof orderRow>[0]) =>
    placeOrder(orderRow(change), 'https://pay.example').options;
  const paypal = { brandName: 'Kettles' };
  t.deepEqual(optionsOf({ kind: 'skillpay', payWay: 'paypal' }), { paypal: { immediatePayment: true } });
  t.deepEqual(optionsOf({ kind: 'skillpay', payWay: 'paypal', channelOptions: { paypal } }), {
    paypal: { ...paypal, immediatePayment: true },
  });
  t.deepEqual(optionsOf({ kind: 'payment', payWay: 'paypal', channelOptions: { paypal } }), { paypal });
  t.deepEqual(optionsOf({ kind: 'payment', payWay: 'paypal' }), {});
  t.deepEqual(optionsOf({ kind: 'skillpay', payWay: 'wechat' }), {});
});
