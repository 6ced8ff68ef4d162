import type { ChannelKind, PayWay } from '../payments/channel.ts';
import { alipayKind } from './alipay/kind.ts';
import { paypalKind } from './paypal/kind.ts';
import { wechatKind } from './wechat/kind.ts';

/** Every channel the service has, by its wire name; the one place to add another. */
export const CHANNEL_KINDS: ReadonlyMap<PayWay, ChannelKind> = new Map(
  [alipayKind, wechatKind, paypalKind].map((kind) => [kind.payWay, kind]),
);
