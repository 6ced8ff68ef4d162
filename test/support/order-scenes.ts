import { randomInt, randomUUID } from 'node:crypto';
import type { PayWay, Scene } from '../../server/payments/channel.ts';

/** A way to pay, and the data that an order needs for it. */
export interface OrderScene {
  payWay: PayWay;
  scene: Scene;
  /** The members that only this scene needs, different for each order: of a request, and of the order at the channel. */
  members(): { openId?: string; payCode?: string; clientIp?: string };
}

/** A new wallet code: Alipay's begin with 28, WeChat Pay's with 13. With a code that ends in 1, the payer must enter a password. */
export const newPayCode = (begin: 13 | 28) => `${begin}${randomInt(1e8, 1e9)}${randomInt(1e5, 1e6)}1`;

const nothing = () => ({});
const byOpenId = () => ({ openId: `o${randomUUID()}` });
/** Alipay's own id of a payer, which its mini programs still return beside the openid. */
const byUserId = () => ({ openId: `2088${randomInt(1e11, 1e12)}` });

/** Every scene of every channel. */
export const ORDER_SCENES: readonly OrderScene[] = [
  { payWay: 'alipay', scene: 'qr', members: nothing },
  { payWay: 'alipay', scene: 'page', members: nothing },
  { payWay: 'alipay', scene: 'wap', members: nothing },
  { payWay: 'alipay', scene: 'app', members: nothing },
  { payWay: 'alipay', scene: 'jsapi', members: byUserId },
  { payWay: 'alipay', scene: 'mini', members: byOpenId },
  { payWay: 'alipay', scene: 'code', members: () => ({ payCode: newPayCode(28) }) },
  { payWay: 'wechat', scene: 'qr', members: nothing },
  { payWay: 'wechat', scene: 'h5', members: () => ({ clientIp: '192.0.2.7' }) },
  { payWay: 'wechat', scene: 'app', members: nothing },
  { payWay: 'wechat', scene: 'jsapi', members: byOpenId },
  { payWay: 'wechat', scene: 'mini', members: byOpenId },
  { payWay: 'wechat', scene: 'code', members: () => ({ payCode: newPayCode(13), clientIp: '192.0.2.9' }) },
  { payWay: 'paypal', scene: 'redirect', members: nothing },
];

/** The scenes of one channel. */
export function scenesOf(payWay: PayWay): readonly OrderScene[] {
  return ORDER_SCENES.filter((one) => one.payWay === payWay);
}

/** The members of a request for an order of the scene. */
export function requestIn({ payWay, scene, members }: OrderScene, request: object = {}) {
  return { subject: 'Test', amount: 10, payWay, scene, ...members(), ...request };
}

/** Whether the order begins when the payer opens the signed data; Alipay is not called before. */
export function isOpenedByPayer({ payWay, scene }: OrderScene): boolean {
  return payWay === 'alipay' && (scene === 'page' || scene === 'wap' || scene === 'app');
}
