import { randomInt, randomUUID } from 'node:crypto';
import test from 'ava';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import { wechatHalf } from '../../../server/simulator/wechat/half.ts';
import { testPromises } from '../../support/promises/simulated.ts';
import { channelWith, signed, trade } from './wechat/fake.ts';

/** 18 digits that nobody has shown before. */
const newPayCode = () => `13${String(randomInt(1e8, 1e9))}${String(randomInt(1e6, 1e7))}`;

for (const { title, mode, order, without } of [
  { title: 'certificate mode', mode: 'certificate' },
  { title: 'public-key mode', mode: 'public-key' },
  { title: 'both mode', mode: 'both' },
  { title: 'mini', mode: 'public-key', order: () => ({ scene: 'mini', openId: `o${randomUUID()}` }) as const },
  {
    title: 'code',
    mode: 'public-key',
    order: () => ({ scene: 'code', payCode: newPayCode() }) as const,
    // A code works once, and nobody is notified of it: code.test.ts says what becomes of its repeat.
    without: /notice|placing twice|a create that was answered too late/,
  },
]) {
  testPromises(test, wechatKind, {
    title,
    half: wechatHalf,
    account: { mode },
    ...(order && { order }),
    ...(without && { without }),
    // The same merchant number with another account's keys, so that only the signature can tell them apart.
    strangerConfig: (own, other) => ({ fields: { ...other.fields, mchid: own.fields.mchid ?? '' }, pems: other.pems }),
    unknownWord(order) {
      const wonderful = trade({ out_trade_no: order.orderNo, trade_state: 'WONDERFUL' });
      return channelWith(() => signed(200, wonderful)).channel.query(order);
    },
  });
}
