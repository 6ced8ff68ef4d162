import test from 'ava';
import { wechatKind } from '../../../server/channels/wechat/kind.ts';
import { wechatSimulator } from '../../../server/simulator/wechat/simulator.ts';
import { isLong } from '../../support/counts.ts';
import { scenesOf } from '../../support/order-scenes.ts';
import { testPromises } from './promises/simulated.ts';
import { channelWith, signed, trade } from './wechat/fake.ts';

// A code works once and has no notification; code.test.ts covers its repeat.
const NOT_OF_CODES = /notification|placing twice|a create with a late response/;
const SCENES = scenesOf('wechat');

const MODES = ['certificate', 'public-key', 'both'];

test('every scene is tested', (t) => {
  t.deepEqual(SCENES.map(({ scene }) => scene).toSorted(), Object.keys(wechatKind.scenes).toSorted());
});

// QR codes in every verification mode, the other scenes in one; a long run (PAY_TEST_LONG) covers all.
for (const [at, { scene, members }] of SCENES.entries()) {
  for (const mode of isLong || scene === 'qr' ? MODES : [MODES[at % MODES.length]!]) {
    testPromises(test, wechatKind, {
      order: () => ({ scene, ...members() }),
      ...(scene === 'code' && { without: NOT_OF_CODES }),
      title: `${scene}, ${mode} mode`,
      channelSimulator: wechatSimulator,
      account: { mode },
      // The same merchant number with another account's keys, so that only the signature differs.
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
