import test from 'ava';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import { wechatHalf } from '../../../server/simulator/wechat/half.ts';
import { testPromises } from '../../support/promises/simulated.ts';
import { channelWith, signed, trade } from './wechat/fake.ts';

for (const mode of ['certificate', 'public-key', 'both']) {
  testPromises(test, wechatKind, {
    title: `${mode} mode`,
    half: wechatHalf,
    account: { mode },
    // The same merchant number with another account's keys, so that only the signature can tell them apart.
    strangerConfig: (own, other) => ({ fields: { ...other.fields, mchid: own.fields.mchid ?? '' }, pems: other.pems }),
    unknownWord(order) {
      const wonderful = trade({ out_trade_no: order.orderNo, trade_state: 'WONDERFUL' });
      return channelWith(() => signed(200, wonderful)).channel.query(order);
    },
  });
}
