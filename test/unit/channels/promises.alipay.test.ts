import test from 'ava';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import { alipayHalf } from '../../../server/simulator/alipay/half.ts';
import { testPromises } from '../../support/promises/simulated.ts';
import { channelSaying } from './alipay/fixture.ts';

const trade = { code: '10000', total_amount: '12.34', trade_no: '1', trade_status: 'TRADE_WONDERFUL' };

for (const signMode of ['key', 'certificate']) {
  testPromises(test, alipayKind, {
    title: `${signMode} mode`,
    half: alipayHalf,
    account: { signMode },
    // The same app id with another account's keys, so that only the signature can tell them apart.
    strangerConfig: (own, other) => ({ fields: own.fields, pems: other.pems }),
    words:
      signMode === 'certificate' ? { 'unknown-serial': 'serial_unknown' } : { 'unknown-serial': 'signature_invalid' },
    unknownWord: (order) => channelSaying({ ...trade, out_trade_no: order.orderNo }).query(order),
  });
}
