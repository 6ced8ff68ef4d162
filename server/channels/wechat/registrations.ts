import type { Addresses, Registration, Scene } from '../../payments/channel.ts';
import { readIds } from './settings.ts';

const PLATFORM = 'Merchant platform (pay.weixin.qq.com), Product center';

/**
 * What a merchant has to register for this service. Sources: "H5支付" and "JSAPI支付", 开发配置 (H5 支付域名, JSAPI 支付授权目录), and
 * "商户号绑定APPID" (pay.weixin.qq.com/doc/v3/merchant). Native, App and payment codes need no address; notifications go to the address of each order.
 */
export function wechatRegistrations(
  fields: Readonly<Record<string, string>>,
  { publicUrl }: Pick<Addresses, 'publicUrl'>,
): Registration<Scene>[] {
  const { hostname } = new URL(publicUrl);
  const apps = ['appId', 'appIdJsapi', 'appIdMini', 'appIdApp'].flatMap((name) => readIds(fields[name]));
  return [
    {
      name: 'App IDs linked to the merchant number',
      where: `${PLATFORM}, App ID accounts (AppID账号管理); confirm it at the app, too`,
      values: [...new Set(apps)],
      scenes: ['qr', 'h5', 'jsapi', 'mini', 'app', 'code'],
      by: 'hand',
      note: null,
    },
    {
      name: 'H5 payment domain',
      where: `${PLATFORM}, Development configuration (开发配置), H5 payment (H5支付)`,
      values: [hostname],
      scenes: ['h5'],
      by: 'hand',
      note: 'Payers are led to WeChat Pay, and come back, through this domain. Register the domain of every page of your own that opens the h5 address itself.',
    },
    {
      name: 'JSAPI payment directory',
      where: `${PLATFORM}, Development configuration (开发配置), JSAPI payment (JSAPI支付授权目录)`,
      values: [],
      scenes: ['jsapi'],
      by: 'hand',
      note: 'The directory of your own page that starts the payment, with its last slash: no page of this service does. Mini programs need none.',
    },
  ];
}
