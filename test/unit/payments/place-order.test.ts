import test from 'ava';
import { placeOrder } from '../../../server/payments/call-channel.ts';
import { orderRow } from '../../support/core-rows.ts';

test("a pay-per-call order is marked for the channel, and the merchant's options are passed on", (t) => {
  const placed = (change: Parameters<typeof orderRow>[0]) => placeOrder(orderRow(change), 'https://pay.example');
  const channelOptions = { paypal: { brandName: 'Kettles' } };
  t.like(placed({ kind: 'skillpay', payWay: 'paypal' }), { isForCall: true, options: {} });
  t.like(placed({ kind: 'skillpay', payWay: 'paypal', channelOptions }), { isForCall: true, options: channelOptions });
  t.like(placed({ kind: 'payment', payWay: 'paypal', channelOptions }), { options: channelOptions });
  t.false('isForCall' in placed({ kind: 'payment', payWay: 'paypal' }));
});
