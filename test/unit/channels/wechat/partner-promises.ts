import type { TestFn } from 'ava';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import { wechatSimulator } from '../../../../server/simulator/wechat/simulator.ts';
import { scenesOf } from '../../../support/order-scenes.ts';
import { testPromises } from '../promises/simulated.ts';
import { channelWith, partnerTrade, platformInput, signed, SUB_MCHID } from './fake.ts';

/** Scenes placed with the partner's own app, because the sub-merchant has none. */
const WITHOUT_SUB_APP: readonly string[] = ['qr', 'jsapi'];

// As for a direct merchant, a code works once and has no notification.
const NOT_OF_CODES = /notification|placing twice|a create with a late response/;

/** Declares the channel promises of a partner in every scene, with one verification mode. */
export function testPartnerPromises(test: TestFn, mode: 'certificate' | 'public-key' | 'both'): void {
  for (const { scene, members } of scenesOf('wechat'))
    testPromises(test, wechatKind, {
      title: `partner, ${mode}, ${scene}`,
      channelSimulator: wechatSimulator,
      account: { mode, partner: true, subApp: !WITHOUT_SUB_APP.includes(scene) },
      order: () => ({ scene, ...members() }),
      ...(scene === 'code' && { without: NOT_OF_CODES }),
      // The same merchants with another account's keys, so that only the signature differs.
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
