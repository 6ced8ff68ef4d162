import { randomInt, randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import type { PlaceOrder } from '../../../../server/payments/channel.ts';
import { wechatHalf } from '../../../../server/simulator/wechat/half.ts';
import { testPromises } from '../../../support/promises/simulated.ts';
import { channelWith, partnerTrade, platformInput, signed, SUB_MCHID } from './fake.ts';

/** 18 digits that nobody has shown before. */
const newPayCode = () => `13${String(randomInt(1e8, 1e9))}${String(randomInt(1e6, 1e7))}`;
const newOpenId = () => `o${randomUUID()}`;

interface Scene {
  scene: PlaceOrder['scene'];
  /** The sub-merchant has an app of its own, and the order is placed in its name. */
  subApp: boolean;
  more?: () => Partial<PlaceOrder>;
  without?: RegExp;
}

const SCENES: readonly Scene[] = [
  { scene: 'qr', subApp: false },
  { scene: 'h5', subApp: true },
  { scene: 'app', subApp: true },
  { scene: 'jsapi', subApp: false, more: () => ({ openId: newOpenId() }) },
  { scene: 'mini', subApp: true, more: () => ({ openId: newOpenId() }) },
  {
    scene: 'code',
    subApp: true,
    more: () => ({ payCode: newPayCode() }),
    // As of a direct merchant: a code works once, and nobody is notified of it.
    without: /notice|placing twice|a create that was answered too late/,
  },
];

/** Declares the promises of a channel for a partner in every scene, with one way of verifying. */
export function testPartnerPromises(test: TestFn, mode: 'certificate' | 'public-key' | 'both'): void {
  for (const { scene, subApp, more, without } of SCENES)
    testPromises(test, wechatKind, {
      title: `partner, ${mode}, ${scene}`,
      half: wechatHalf,
      account: { mode, partner: true, subApp },
      order: () => ({ scene, ...more?.() }),
      ...(without && { without }),
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
