import test from 'ava';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import { wechatSimulator } from '../../../server/simulator/wechat/simulator.ts';
import { isLong } from '../../support/counts.ts';
import { scenesOf } from '../../support/order-scenes.ts';
import { testPromises } from './promises/simulated.ts';
import { channelWith, signed, trade } from './wechat/fake.ts';

// A code works once, and nobody is notified of it: code.test.ts says what becomes of its repeat.
const NOT_OF_CODES = /notice|placing twice|a create that was answered too late/;
const SCENES = scenesOf('wechat');

const MODES = ['certificate', 'public-key', 'both'];

test('every scene is here', (t) => {
  t.deepEqual(SCENES.map(({ scene }) => scene).toSorted(), Object.keys(wechatKind.scenes).toSorted());
});

// QR codes in every way of verifying, the other scenes in one; in a long run (PAY_TEST_LONG) every scene in all of them.
for (const [at, { scene, members }] of SCENES.entries()) {
  for (const mode of isLong || scene === 'qr' ? MODES : [MODES[at % MODES.length]!]) {
    testPromises(test, wechatKind, {
      order: () => ({ scene, ...members() }),
      ...(scene === 'code' && { without: NOT_OF_CODES }),
      title: `${scene}, ${mode} mode`,
      channelSimulator: wechatSimulator,
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
