/** Builds the calls to Alipay. A scene is the way in which the payer pays, e.g. `qr`. */
import type { OrderRef, PlaceOrder, RefundOrder, RefundRef } from '../../payments/channel.ts';
import { majorText } from '../../money.ts';
import type { FormPart } from '../evidence.ts';
import { plainText } from '../transport.ts';

export interface AlipayCall {
  method: string;
  content: Readonly<Record<string, unknown>>;
  notifyUrl?: string;
  returnUrl?: string;
}

/** A file to upload to Alipay. The file's bytes are in the body; only the parameters in the URL are signed. */
export interface AlipayUpload {
  method: string;
  part: FormPart;
}

/** The fields of every call that come from the configuration. Empty values are not sent. */
export interface Caller {
  appId: string;
  sellerId: string;
  appAuthToken: string;
  /** The serial of the app certificate in certificate mode; empty in key mode. */
  appCertSerial: string;
  rootCertSerial: string;
}

/** After this time a repeated create call gets a new timestamp, because Alipay's gateway refuses old timestamps. */
const STALE_MS = 10 * 60_000;
const CHINA_MS = 8 * 3_600_000;

/** Builds alipay.trade.query, which finds the order by its order number. */
export function queryCall({ orderNo }: Pick<OrderRef, 'orderNo'>): AlipayCall {
  return { method: 'alipay.trade.query', content: { out_trade_no: orderNo } };
}

/** Builds alipay.trade.close, which finds the order by its order number. */
export function closeCall({ orderNo }: Pick<OrderRef, 'orderNo'>): AlipayCall {
  return { method: 'alipay.trade.close', content: { out_trade_no: orderNo } };
}

/** Builds alipay.trade.cancel, which closes an unpaid order and returns the money of a paid order. */
export function cancelCall({ orderNo }: Pick<OrderRef, 'orderNo'>): AlipayCall {
  return { method: 'alipay.trade.cancel', content: { out_trade_no: orderNo } };
}

/**
 * Builds alipay.trade.refund. A repeat with the same out_request_no is the same refund. The query option
 * `deposit_back_info` makes Alipay send a notification if the payer's bank rejects the refund ("收单退款冲退完成通知").
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
 * Builds alipay.trade.fastpay.refund.query. Alipay returns the time of the refund only with the query option
 * `gmt_refund_pay`. The option `deposit_back_info` is not used here: if the payer's bank rejects a refund, the money
 * goes to the payer's Alipay balance, the refund stays succeeded, and Alipay sends a notification (notification.ts).
 */
export function refundQueryCall(refund: PaymentNames & Pick<RefundRef, 'refundNo'>): AlipayCall {
  const content = { ...paymentOf(refund), out_request_no: refund.refundNo, query_options: ['gmt_refund_pay'] };
  return { method: 'alipay.trade.fastpay.refund.query', content };
}

/** Builds alipay.open.app.alipaycert.download for the certificate serial in a response. */
export function certificateCall(serial: string): AlipayCall {
  return { method: 'alipay.open.app.alipaycert.download', content: { alipay_cert_sn: serial } };
}

type PaymentNames = Pick<RefundRef, 'orderNo' | 'paymentNo' | 'channelTradeNo'>;

/** If an order was paid twice, the order number may identify the wrong payment, so the trade number is preferred. */
function paymentOf({ orderNo, paymentNo, channelTradeNo }: PaymentNames): Record<string, string> {
  const tradeNo = paymentNo ?? channelTradeNo;
  return tradeNo === null ? { out_trade_no: orderNo } : { trade_no: tradeNo };
}

/** Builds all parameters of a call except `sign`. Empty parameters are omitted. */
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
 * Returns the timestamp of a create call. Normally it is the time of the first attempt, so that a repeat is
 * byte-identical. It is the current time if the first attempt is more than ten minutes away, for example because the
 * clock of another replica is wrong.
 */
export function createTime(sentAt: Date, now: Date): Date {
  return Math.abs(now.getTime() - sentAt.getTime()) > STALE_MS ? now : sentAt;
}

/** Encodes parameters as a form. A space becomes `%20`, because the payer's app and the redirect URL require it. */
export function encodeForm(params: Readonly<Record<string, string>>): string {
  return Object.entries(params)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join('&');
}

/** Formats a time as `yyyy-MM-dd HH:mm:ss` in UTC+8, independent of the time zone of the process. */
export function chinaTime(at: Date): string {
  return new Date(at.getTime() + CHINA_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Removes parameters with an empty value. */
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

type AlipayScene = keyof typeof CREATE;

/** The product codes for payments by QR code. The first is Alipay's default (reference of alipay.trade.precreate). */
export const QR_PRODUCTS = ['FACE_TO_FACE_PAYMENT', 'QR_CODE_OFFLINE'] as const;

/** The fields of a create call that come from the configuration. Empty values are not sent. */
export interface Seller {
  sellerId: string;
  qrProductCode: string;
  /** The app id of the mini program, which may differ from the app id of the account. */
  miniAppId: string;
}

/** Whether Alipay supports a scene (the way in which the payer pays, e.g. `qr`). */
export function isAlipayScene(scene: PlaceOrder['scene']): scene is AlipayScene {
  return Object.hasOwn(CREATE, scene);
}

/**
 * Builds the create call; each repeat for an order gives the same call. total_amount is in yuan, time_expire in UTC+8.
 */
export function placeCall(order: PlaceOrder, scene: AlipayScene, seller: Seller): AlipayCall {
  const { method, productCode = seller.qrProductCode } = CREATE[scene];
  const isPage = scene === 'page' || scene === 'wap';
  const content = compact<unknown>({
    out_trade_no: order.orderNo,
    total_amount: majorText(order.amount),
    // A subject that contains only control characters becomes empty. Alipay refuses an empty subject, so the order
    // number is sent instead.
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

function payerOf({ payCode, openId }: PlaceOrder, scene: AlipayScene, { miniAppId }: Seller): Record<string, unknown> {
  if (scene === 'code') return { scene: 'bar_code', auth_code: payCode };
  if (scene !== 'jsapi' && scene !== 'mini') return {};
  // Alipay has two kinds of payer ids, each with its own field: the older user id (2088…) and the newer open id.
  const isUserId = /^2088\d{12}$/.test(openId ?? '');
  return { op_app_id: miniAppId, [isUserId ? 'buyer_id' : 'buyer_open_id']: openId };
}

/**
 * Converts the merchant's options to fields of the call. If the payer opens the payment in an app or browser, no
 * operator and no terminal are sent, and passback_params is URL-encoded. Source: the references of
 * alipay.trade.page.pay, wap.pay and app.pay.
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

/**
 * Makes a subject that Alipay accepts: `/`, `=` and `&` become full-width characters, control characters become spaces,
 * and the text is cut to 256 characters.
 */
function subjectText(subject: string): string {
  const wide = subject.replace(/[/=&]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0));
  return plainText(wide, 256);
}
