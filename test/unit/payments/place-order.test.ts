import test from 'ava';
import { placeOrder } from '../../../server/payments/call-channel.ts';
import { orderRow } from '../../support/core-rows.ts';

test('the channel is told of an order that pays for a call, and the options are those of the merchant', (t) => {
  const placed = (change: Parameters<typeof orderRow>[0]) => placeOrder(orderRow(change), 'https://pay.example');
  const channelOptions = { paypal: { brandName: 'Kettles' } };
  t.like(placed({ kind: 'skillpay', payWay: 'paypal' }), { isForCall: true, options: {} });
  t.like(placed({ kind: 'skillpay', payWay: 'paypal', channelOptions }), { isForCall: true, options: channelOptions });
  t.like(placed({ kind: 'payment', payWay: 'paypal', channelOptions }), { options: channelOptions });
  t.false('isForCall' in placed({ kind: 'payment', payWay: 'paypal' }));
});
