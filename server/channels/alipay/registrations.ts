import type { Addresses, Registration, Scene } from '../../payments/channel.ts';

const CONSOLE = 'Open Platform (open.alipay.com), the app, Development settings (开发设置)';

/**
 * What a merchant has to register for this service. Source: Alipay's "开发设置" of an app: 服务器IP白名单 and 应用网关 are optional, 授权回调地址 is
 * for authorisation only; payments by page, wap, app and code need neither, because each order names its own addresses.
 */
export function alipayRegistrations({ publicUrl, notifyUrl }: Addresses): Registration<Scene>[] {
  return [
    {
      name: 'Website of the product',
      where: 'Merchant centre (b.alipay.com), when the product is signed for (签约, 网址)',
      values: [new URL(publicUrl).origin],
      scenes: ['page', 'wap'],
      by: 'hand',
      note: 'Name the website that offers the payment; it is this one where payers use the payment page of this service.',
    },
    {
      name: 'Server IP allowlist',
      where: `${CONSOLE}, Server IP allowlist (服务器IP白名单)`,
      values: [],
      scenes: ['qr', 'page', 'wap', 'app', 'jsapi', 'mini', 'code'],
      by: 'hand',
      note: 'Optional. If the app has such a list, the address from which this service calls out must be in it.',
    },
    {
      name: 'App gateway',
      where: `${CONSOLE}, App gateway (应用网关)`,
      values: [notifyUrl],
      scenes: ['qr', 'page', 'wap', 'app', 'jsapi', 'mini', 'code'],
      by: 'hand',
      note: "Optional: only then does Alipay tell that the payer's bank did not take a refund (收单退款冲退完成通知, to be subscribed to there).",
    },
    {
      name: 'Authorisation callback address',
      where: `${CONSOLE}, Authorisation callback (授权回调地址)`,
      values: [],
      scenes: ['jsapi'],
      by: 'hand',
      note: 'Only for a page of your own that asks Alipay for the openId of the payer: the address of that page.',
    },
  ];
}
