import { randomUUID } from 'node:crypto';
import test from 'ava';
import { alipayKind } from '../../../server/channels/alipay/kind.ts';
import { alipayHalf } from '../../../server/simulator/alipay/half.ts';
import { testPromises } from '../../support/promises/simulated.ts';
import { channelSaying } from './alipay/fixture.ts';
import { shownCode } from './alipay/shown-code.ts';

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

// A payer's code that is closed is cancelled, and what was paid goes back: alipay-till.test.ts and simulated.test.ts say so.
for (const { title, order, without } of [
  { title: 'mini', order: () => ({ scene: 'mini', openId: '074aQiZ1zBcBsVq3bOPdmUq' }) as const },
  { title: 'jsapi', order: () => ({ scene: 'jsapi', openId: '2088000000000011' }) as const },
  {
    title: 'code',
    order: () => ({ scene: 'code', payCode: shownCode(randomUUID(), 'asks-password') }) as const,
    without: /^a paid order does not close$/,
  },
]) {
  for (const signMode of ['key', 'certificate']) {
    testPromises(test, alipayKind, {
      title: `${title}, ${signMode} mode`,
      half: alipayHalf,
      account: { signMode },
      order,
      ...(without && { without }),
      strangerConfig: (own, other) => ({ fields: own.fields, pems: other.pems }),
      unknownWord: (asked) => channelSaying({ ...trade, out_trade_no: asked.orderNo }).query(asked),
    });
  }
}
