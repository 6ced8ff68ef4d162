import { randomBytes } from 'node:crypto';
import type { Outcome, PayHint, PlaceOrder } from '../../payments/channel.ts';
import { readPlaceRefusal } from './answers.ts';
import { textIn, type Members } from './json.ts';
import { unknown, type Reply } from './reply.ts';
import { appOf } from './requests.ts';
import type { Settings } from './settings.ts';
import { appText, jsapiText, signRsa } from './signature.ts';

/** An h5_url dies after five minutes, and the same create gives another ("H5下单"); whoever gets one has a minute at least. */
const H5_URL_SECONDS = 240;

/** The answer to a create: pending with what the payer needs in this scene. */
export async function readPlaced(reply: Reply, settings: Settings, order: PlaceOrder, now: Date): Promise<Outcome> {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'refused') return readPlaceRefusal(reply);
  const pay = await payHint(reply.members, settings, order, now);
  if (!pay) return unknown('unparsable', `The response has no payment data for the scene ${order.scene}.`);
  return { kind: 'pending', pay, ...(order.scene === 'h5' ? { paySeconds: H5_URL_SECONDS } : {}) };
}

async function payHint(
  members: Members,
  settings: Settings,
  order: PlaceOrder,
  now: Date,
): Promise<PayHint | undefined> {
  const { scene, returnUrl } = order;
  const [codeUrl, h5Url, prepayId] = ['code_url', 'h5_url', 'prepay_id'].map((name) => textIn(members, name));
  if (scene === 'qr') return codeUrl ? { type: 'qr', qrCode: codeUrl } : undefined;
  if (scene === 'h5') return h5Url ? { type: 'redirect', url: withReturn(h5Url, returnUrl) } : undefined;
  if (!prepayId) return undefined;
  const signed = {
    appId: appOf(settings, order),
    prepayId,
    timestamp: String(Math.floor(now.getTime() / 1000)),
    nonce: randomBytes(16).toString('hex'),
  };
  return scene === 'jsapi' || scene === 'mini'
    ? { type: 'jsapi', params: await jsapiParams(settings, signed) }
    : { type: 'app', params: await appParams(settings, signed) };
}

interface Signed {
  appId: string;
  prepayId: string;
  timestamp: string;
  nonce: string;
}

/** The parameters of `wx.requestPayment` and of `WeixinJSBridge.invoke('getBrandWCPayRequest', …)`. */
async function jsapiParams({ merchantKey }: Settings, { appId, prepayId, timestamp, nonce }: Signed) {
  const paySign = await signRsa(jsapiText(appId, timestamp, nonce, prepayId), merchantKey);
  return { appId, timeStamp: timestamp, nonceStr: nonce, package: `prepay_id=${prepayId}`, signType: 'RSA', paySign };
}

/** The parameters of the open SDK's `PayReq`. A partner names itself there, too (wechatpay-java, partnerpayments `AppServiceExtension`). */
async function appParams({ mchid, merchantKey }: Settings, { appId, prepayId, timestamp, nonce }: Signed) {
  const sign = await signRsa(appText(appId, timestamp, nonce, prepayId), merchantKey);
  return {
    appid: appId,
    partnerid: mchid,
    prepayid: prepayId,
    package: 'Sign=WXPay',
    noncestr: nonce,
    timestamp,
    sign,
  };
}

/** WeChat brings the payer back to `redirect_url` when the link carries one. */
function withReturn(h5Url: string, returnUrl: string): string {
  if (!returnUrl) return h5Url;
  return `${h5Url}${h5Url.includes('?') ? '&' : '?'}redirect_url=${encodeURIComponent(returnUrl)}`;
}
