import type { TestFn } from 'ava';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import { wechatSimulator } from '../../../../server/simulator/wechat/simulator.ts';
import { scenesOf } from '../../../support/order-scenes.ts';
import { testPromises } from '../promises/simulated.ts';
import { channelWith, partnerTrade, platformInput, signed, SUB_MCHID } from './fake.ts';

/** Scenes in which the order is placed in the name of the partner's own app, for the sub-merchant has none. */
const WITHOUT_SUB_APP: readonly string[] = ['qr', 'jsapi'];

// As of a direct merchant: a code works once, and nobody is notified of it.
const NOT_OF_CODES = /notice|placing twice|a create that was answered too late/;

/** Declares the promises of a channel for a partner in every scene, with one way of verifying. */
export function testPartnerPromises(test: TestFn, mode: 'certificate' | 'public-key' | 'both'): void {
  for (const { scene, members } of scenesOf('wechat'))
    testPromises(test, wechatKind, {
      title: `partner, ${mode}, ${scene}`,
      channelSimulator: wechatSimulator,
      account: { mode, partner: true, subApp: !WITHOUT_SUB_APP.includes(scene) },
      order: () => ({ scene, ...members() }),
      ...(scene === 'code' && { without: NOT_OF_CODES }),
      // The same merchants with another account's keys, so that only the signature can tell them apart.
      strangerConfig: (own, other) => {
        const { mchid = '', subMchId = '' } = own.fields;
        return { fields: { ...other.fields, mchid, subMchId }, pems: other.pems };
      },
      unknownWord(order) {
        const { fields } = platformInput();
        const said = partnerTrade({ out_trade_no: order.orderNo, trade_state: 'WONDERFUL' });
        return channelWith(() => signed(200, said), { fields: { ...fields, subMchId: SUB_MCHID } }).channel.query(
          order,
        );
      },
    });
}
