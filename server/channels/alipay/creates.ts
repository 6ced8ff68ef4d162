import type { PlaceOrder } from '../../payments/channel.ts';
import { majorText } from '../../payments/money.ts';
import { plainText } from '../transport.ts';
import { chinaTime, compact, type AlipayCall } from './requests.ts';

const MINI = { method: 'alipay.trade.create', productCode: 'JSAPI_PAY' } as const;

const CREATE: Readonly<
  Record<'qr' | 'page' | 'wap' | 'app' | 'jsapi' | 'mini' | 'code', { method: string; productCode?: string }>
> = {
  qr: { method: 'alipay.trade.precreate' },
  page: { method: 'alipay.trade.page.pay', productCode: 'FAST_INSTANT_TRADE_PAY' },
  wap: { method: 'alipay.trade.wap.pay', productCode: 'QUICK_WAP_WAY' },
  app: { method: 'alipay.trade.app.pay', productCode: 'QUICK_MSECURITY_PAY' },
  jsapi: MINI,
  mini: MINI,
  code: { method: 'alipay.trade.pay', productCode: 'FACE_TO_FACE_PAYMENT' },
};

type AlipayOptions = NonNullable<PlaceOrder['options']['alipay']>;
type Goods = NonNullable<AlipayOptions['goods']>[number];

/** A scene that Alipay has. */
export type AlipayScene = keyof typeof CREATE;

/** The products that QR codes are sold as: without a word Alipay takes the first one (reference of alipay.trade.precreate). */
export const QR_PRODUCTS = ['FACE_TO_FACE_PAYMENT', 'QR_CODE_OFFLINE'] as const;

/** What a create says that the configuration knows; empty values are not sent. */
export interface Seller {
  sellerId: string;
  qrProductCode: string;
  /** The mini program's app id. */
  miniAppId: string;
}

/** Whether Alipay has a scene. */
export function isAlipayScene(scene: PlaceOrder['scene']): scene is AlipayScene {
  return Object.hasOwn(CREATE, scene);
}

/** The create of a scene: total_amount in yuan with two decimals, time_expire in UTC+8; the same order gives the same content. */
export function placeCall(order: PlaceOrder, scene: AlipayScene, seller: Seller): AlipayCall {
  const { method, productCode = seller.qrProductCode } = CREATE[scene];
  const isPage = scene === 'page' || scene === 'wap';
  const content = compact<unknown>({
    out_trade_no: order.orderNo,
    total_amount: majorText(order.amount),
    // Nothing but control characters would leave no subject at all, which Alipay refuses.
    subject: subjectText(order.subject) || order.orderNo,
    product_code: productCode,
    time_expire: chinaTime(order.expiresAt),
    seller_id: seller.sellerId,
    ...payerOf(order, scene, seller),
    quit_url: scene === 'wap' ? order.cancelUrl : undefined,
    ...optionsOf(order.options.alipay ?? {}, isPage || scene === 'app'),
  });
  return { method, content, notifyUrl: order.notifyUrl, returnUrl: isPage ? order.returnUrl : undefined };
}

/** Who pays, where the merchant knows it: by the code that was read, or in the mini program whose user it is. */
function payerOf({ payCode, openId }: PlaceOrder, scene: AlipayScene, { miniAppId }: Seller): Record<string, unknown> {
  if (scene === 'code') return { scene: 'bar_code', auth_code: payCode };
  if (scene !== 'jsapi' && scene !== 'mini') return {};
  // The older user id and the newer open id are two members.
  const isUserId = /^2088\d{12}$/.test(openId ?? '');
  return { op_app_id: miniAppId, [isUserId ? 'buyer_id' : 'buyer_open_id']: openId };
}

/**
 * What the merchant asked for, in Alipay's words. Who operates a till is no member of what a payer opens by himself, where the
 * text that comes back must be escaped (references of alipay.trade.page.pay, wap.pay and app.pay).
 */
function optionsOf(options: AlipayOptions, isOpenedByPayer: boolean): Record<string, unknown> {
  const { storeId, operatorId, terminalId, sysServiceProviderId, passbackParams = '', goods } = options;
  return {
    store_id: storeId,
    operator_id: isOpenedByPayer ? undefined : operatorId,
    terminal_id: isOpenedByPayer ? undefined : terminalId,
    extend_params: sysServiceProviderId && { sys_service_provider_id: sysServiceProviderId },
    passback_params: isOpenedByPayer ? encodeURIComponent(passbackParams) : passbackParams,
    enable_pay_channels: options.enablePayChannels?.join(),
    disable_pay_channels: options.disablePayChannels?.join(),
    goods_detail: goods?.map(goodsDetail),
  };
}

function goodsDetail({ id, name, quantity, price }: Goods): Record<string, unknown> {
  const yuan = majorText({ minor: BigInt(price), currency: 'CNY' });
  return { goods_id: id, goods_name: name, quantity, price: yuan };
}

/** A subject that Alipay takes: `/ = &` as their full-width forms, no control characters, at most 256 characters. */
function subjectText(subject: string): string {
  const wide = subject.replace(/[/=&]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0));
  return plainText(wide, 256);
}
