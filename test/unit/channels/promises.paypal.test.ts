import test from 'ava';
import { paypalKind } from '../../../server/channels/paypal/kind.ts';
import { testPromises } from '../../support/promises/simulated.ts';
import { json, orderBody, scripted } from './paypal/scripted.ts';

testPromises(test, paypalKind, {
  unknownWord: (order) => {
    const unit = {
      custom_id: order.orderNo,
      invoice_id: order.orderNo,
      amount: { currency_code: 'USD', value: '12.34' },
    };
    const wonderful = orderBody({ id: 'WONDERFUL', status: 'WONDERFUL' }, unit);
    return scripted(() => json(200, wonderful)).channel.query({ ...order, channelOrderId: 'WONDERFUL' });
  },
});
