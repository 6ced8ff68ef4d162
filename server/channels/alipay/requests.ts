/** The calls to Alipay: parameters, and the create of each scene. */
import type { OrderRef, PlaceOrder, RefundOrder, RefundRef } from '../../payments/channel.ts';
import { majorText } from '../../money.ts';
import type { FormPart } from '../evidence.ts';
import { plainText } from '../transport.ts';

/** One unsigned call: the method, its business content and the notify and return URLs. */
export interface AlipayCall {
  method: string;
  content: Readonly<Record<string, unknown>>;
  notifyUrl?: string;
  returnUrl?: string;
}

/** A file for Alipay: its bytes are in the body, and only the parameters in the URL are signed. */
export interface AlipayUpload {
  method: string;
  part: FormPart;
}

/** The identity of the caller in every request; empty values are not sent. */
export interface Caller {
  appId: string;
  sellerId: string;
  appAuthToken: string;
  /** The serial of the app certificate in certificate mode; empty in key mode. */
  appCertSerial: string;
  rootCertSerial: string;
}

/** After this time a repeated create gets a new timestamp, because the gateway refuses old timestamps. */
const STALE_MS = 10 * 60_000;
const CHINA_MS = 8 * 3_600_000;

/** alipay.trade.query by order number. */
export function queryCall({ orderNo }: Pick<OrderRef, 'orderNo'>): AlipayCall {
  return { method: 'alipay.trade.query', content: { out_trade_no: orderNo } };
}

/** alipay.trade.close by order number. */
export function closeCall({ orderNo }: Pick<OrderRef, 'orderNo'>): AlipayCall {
  return { method: 'alipay.trade.close', content: { out_trade_no: orderNo } };
}

/** alipay.trade.cancel by order number: closes a payment by payer's code, or returns the money if it was paid. */
export function cancelCall({ orderNo }: Pick<OrderRef, 'orderNo'>): AlipayCall {
  return { method: 'alipay.trade.cancel', content: { out_trade_no: orderNo } };
}

/**
 * alipay.trade.refund; a repeat with the same out_request_no is the same refund. Alipay reports that the payer's bank
 * rejected the refund ("收单退款冲退完成通知") only if the call has `deposit_back_info`.
 */
export function refundCall(refund: RefundOrder): AlipayCall {
  const content = compact({
    ...paymentOf(refund),
    out_request_no: refund.refundNo,
    refund_amount: majorText(refund.refundAmount),
    refund_reason: plainText(refund.reason, 256),
    query_options: ['deposit_back_info'],
  });
  return { method: 'alipay.trade.refund', content };
}

/**
 * alipay.trade.fastpay.refund.query by payment and refund number; Alipay returns the time of a refund only with this query option. It does
 * not query `deposit_back_info`: a refund that the bank rejected goes to the payer's Alipay balance and stays succeeded, and Alipay sends a
 * notification about it (notification.ts).
 */
export function refundQueryCall(refund: PaymentNames & Pick<RefundRef, 'refundNo'>): AlipayCall {
  const content = { ...paymentOf(refund), out_request_no: refund.refundNo, query_options: ['gmt_refund_pay'] };
  return { method: 'alipay.trade.fastpay.refund.query', content };
}

/** alipay.open.app.alipaycert.download by the serial in an answer. */
export function certificateCall(serial: string): AlipayCall {
  return { method: 'alipay.open.app.alipaycert.download', content: { alipay_cert_sn: serial } };
}

type PaymentNames = Pick<RefundRef, 'orderNo' | 'paymentNo' | 'channelTradeNo'>;

/**
 * Names the payment by Alipay's number if it is known, because the order number may mean another payment if an order
 * was paid twice.
 */
function paymentOf({ orderNo, paymentNo, channelTradeNo }: PaymentNames): Record<string, string> {
  const tradeNo = paymentNo ?? channelTradeNo;
  return tradeNo === null ? { out_trade_no: orderNo } : { trade_no: tradeNo };
}

/** The parameters of a call without `sign`; empty parameters are omitted. */
export function parametersOf(call: AlipayCall | AlipayUpload, caller: Caller, at: Date): Record<string, string> {
  return compact({
    app_id: caller.appId,
    method: call.method,
    format: 'JSON',
    charset: 'utf-8',
    sign_type: 'RSA2',
    timestamp: chinaTime(at),
    version: '1.0',
    ...('part' in call ? {} : { notify_url: call.notifyUrl, return_url: call.returnUrl }),
    app_auth_token: caller.appAuthToken,
    app_cert_sn: caller.appCertSerial,
    alipay_root_cert_sn: caller.rootCertSerial,
    ...('part' in call ? {} : { biz_content: JSON.stringify(call.content) }),
  });
}

/**
 * The timestamp of a create: the time of the first attempt, so that a repeat is byte-identical. If this time is too far
 * from this replica's clock (another replica may have made the first attempt), it is the current time.
 */
export function createTime(sentAt: Date, now: Date): Date {
  return Math.abs(now.getTime() - sentAt.getTime()) > STALE_MS ? now : sentAt;
}

/** Form encoding with `%20` for blanks, which the app scene and the payer's URL require. */
export function encodeForm(params: Readonly<Record<string, string>>): string {
  return Object.entries(params)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join('&');
}

/** Formats an instant as `yyyy-MM-dd HH:mm:ss` in UTC+8, independent of the time zone of the process. */
export function chinaTime(at: Date): string {
  return new Date(at.getTime() + CHINA_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Removes empty values, which are not sent. */
export function compact<Value>(params: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  const given = Object.entries(params).filter((entry): entry is [string, Value] => Boolean(entry[1]));
  return Object.fromEntries(given);
}

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

/** A scene that Alipay supports. */
type AlipayScene = keyof typeof CREATE;

/** The products for QR codes; the first is Alipay's default (reference of alipay.trade.precreate). */
export const QR_PRODUCTS = ['FACE_TO_FACE_PAYMENT', 'QR_CODE_OFFLINE'] as const;

/** The fields of a create that come from the configuration; empty values are not sent. */
export interface Seller {
  sellerId: string;
  qrProductCode: string;
  /** The mini program's app id. */
  miniAppId: string;
}

/** Whether Alipay supports a scene. */
export function isAlipayScene(scene: PlaceOrder['scene']): scene is AlipayScene {
  return Object.hasOwn(CREATE, scene);
}

/** The create call of a scene: total_amount in yuan with two decimals, time_expire in UTC+8; the same order gives the same content. */
export function placeCall(order: PlaceOrder, scene: AlipayScene, seller: Seller): AlipayCall {
  const { method, productCode = seller.qrProductCode } = CREATE[scene];
  const isPage = scene === 'page' || scene === 'wap';
  const content = compact<unknown>({
    out_trade_no: order.orderNo,
    total_amount: majorText(order.amount),
    // A subject of control characters only becomes empty, which Alipay refuses.
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

/** The payer, where the merchant knows it: the payer's code, or the user of the mini program. */
function payerOf({ payCode, openId }: PlaceOrder, scene: AlipayScene, { miniAppId }: Seller): Record<string, unknown> {
  if (scene === 'code') return { scene: 'bar_code', auth_code: payCode };
  if (scene !== 'jsapi' && scene !== 'mini') return {};
  // The older user id and the newer open id have fields with different names.
  const isUserId = /^2088\d{12}$/.test(openId ?? '');
  return { op_app_id: miniAppId, [isUserId ? 'buyer_id' : 'buyer_open_id']: openId };
}

/**
 * The merchant's options as fields of the call. Payments that the payer opens have no operator and terminal, and their
 * passback_params must be URL-encoded (references of alipay.trade.page.pay, wap.pay and app.pay).
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

/** A subject that Alipay accepts: `/ = &` as full-width forms, no control characters, at most 256 characters. */
function subjectText(subject: string): string {
  const wide = subject.replace(/[/=&]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0));
  return plainText(wide, 256);
}
