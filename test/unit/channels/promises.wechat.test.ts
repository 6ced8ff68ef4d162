import { randomInt, randomUUID } from 'node:crypto';
import test from 'ava';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import { wechatHalf } from '../../../server/simulator/wechat/half.ts';
import { isLong } from '../../support/counts.ts';
import { testPromises, type PromiseOptions } from '../../support/promises/simulated.ts';
import { channelWith, signed, trade } from './wechat/fake.ts';

/** 18 digits that nobody has shown before. */
const newPayCode = () => `13${String(randomInt(1e8, 1e9))}${String(randomInt(1e6, 1e7))}`;

const SCENES: Readonly<Record<string, Pick<PromiseOptions, 'order' | 'without'>>> = {
  qr: {},
  h5: { order: () => ({ scene: 'h5' }) },
  app: { order: () => ({ scene: 'app' }) },
  jsapi: { order: () => ({ scene: 'jsapi', openId: `o${randomUUID()}` }) },
  mini: { order: () => ({ scene: 'mini', openId: `o${randomUUID()}` }) },
  code: {
    order: () => ({ scene: 'code', payCode: newPayCode() }),
    // A code works once, and nobody is notified of it: code.test.ts says what becomes of its repeat.
    without: /notice|placing twice|a create that was answered too late/,
  },
};
const MODES = ['certificate', 'public-key', 'both'];

test('every scene is here', (t) => {
  t.deepEqual(Object.keys(SCENES).toSorted(), Object.keys(wechatKind.scenes).toSorted());
});

// QR codes in every way of verifying, the other scenes in one; in a long run (PAY_TEST_LONG) every scene in all of them.
for (const [at, [scene, special]] of Object.entries(SCENES).entries()) {
  for (const mode of isLong || scene === 'qr' ? MODES : [MODES[at % MODES.length]!]) {
    testPromises(test, wechatKind, {
      ...special,
      title: `${scene}, ${mode} mode`,
      half: wechatHalf,
      account: { mode },
      // The same merchant number with another account's keys, so that only the signature can tell them apart.
      strangerConfig: (own, other) => ({
        fields: { ...other.fields, mchid: own.fields.mchid ?? '' },
        pems: other.pems,
      }),
      unknownWord(order) {
        const wonderful = trade({ out_trade_no: order.orderNo, trade_state: 'WONDERFUL' });
        return channelWith(() => signed(200, wonderful)).channel.query(order);
      },
    });
  }
}
