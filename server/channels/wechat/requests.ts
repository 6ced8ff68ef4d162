/** The calls to WeChat Pay, with the options of a create. */
import type { OrderRef, PlaceOrder, RefundOrder, RefundRef, Scene, WireRequest } from '../../payments/channel.ts';
import { plainText } from '../transport.ts';
import { type Settings, type SubMerchant, subAppIdsOf } from './settings.ts';

type WechatOptions = NonNullable<PlaceOrder['options']['wechat']>;
type Goods = NonNullable<WechatOptions['goods']>[number];

/**
 * The merchant's options as fields of a create ("Native下单", "付款码支付"); prices in fen. Without `settle_info` no money is
 * frozen for profit sharing (`profit_sharing` is false by default).
 */
export function optionsOf({ options }: PlaceOrder): Record<string, unknown> {
  const { attach, goodsTag, supportFapiao, goods }: WechatOptions = options.wechat ?? {};
  return {
    attach,
    goods_tag: goodsTag,
    support_fapiao: supportFapiao,
    detail: goods && { goods_detail: goods.map(goodsDetail) },
  };
}

/**
 * The place of the payment (store, device). Every field of it also requires an IP address: the payer's or, with a
 * payer's code, the till's.
 */
export function sceneInfo({ scene, clientIp, options }: PlaceOrder): Record<string, unknown> | undefined {
  const { storeId, deviceId }: WechatOptions = options.wechat ?? {};
  // With a payer's code the shop is named by the merchant's own id (`out_id`), otherwise by `id`.
  if (scene === 'code')
    return {
      device_ip: clientIp,
      device_id: deviceId,
      store_info: storeId === undefined ? undefined : { out_id: storeId },
    };
  const place = { device_id: deviceId, store_info: storeId === undefined ? undefined : { id: storeId } };
  if (scene === 'h5') return { payer_client_ip: clientIp, h5_info: { type: 'Wap' }, ...place };
  return needsAddress(options.wechat) ? { payer_client_ip: clientIp, ...place } : undefined;
}

/** Whether the options require the IP address of the payer. */
export function needsAddress(options: WechatOptions | undefined): boolean {
  return options?.storeId !== undefined || options?.deviceId !== undefined;
}

function goodsDetail({ id, name, quantity, price }: Goods): Record<string, unknown> {
  return { merchant_goods_id: id, goods_name: name, quantity, unit_price: price };
}

/** The identity of the account in every request. */
export interface Account {
  mchid: string;
  /** The app of an order that names no app. */
  appId: string;
  /** The merchant that a partner acts for; undefined = no partner mode. */
  sub?: SubMerchant | undefined;
}

/** The app of an order: the app stored with the order, otherwise the default app of the account. */
export function appOf(account: Account, order: Pick<OrderRef, 'appId'>): string {
  return order.appId ?? account.sub?.appId ?? account.appId;
}

/** The merchant as fields of every request, answer and notification; in partner mode both numbers identify it. */
export function merchantOf({ mchid, sub }: Account): Record<string, string> {
  return sub ? { sp_mchid: mchid, sub_mchid: sub.mchid } : { mchid };
}

/**
 * The merchant and the app of an order. In partner mode the partner's app is always named. The sub-merchant's app is
 * named if the order was placed with it ("JSAPI/小程序下单", sub_appid); the answer names it exactly if the order did.
 */
export function namesOf(account: Account, order: Pick<OrderRef, 'appId'>): Record<string, string> {
  const app = appOf(account, order);
  if (!account.sub) return { appid: app, ...merchantOf(account) };
  const merchant = merchantOf(account);
  return isSubApp(account, order)
    ? { sp_appid: account.appId, sub_appid: app, ...merchant }
    : { sp_appid: app, ...merchant };
}

function isSubApp(account: Account, order: Pick<OrderRef, 'appId'>): boolean {
  return subAppIdsOf(account.sub).includes(appOf(account, order));
}

/** One unsigned API v3 call. `target` is path and query, as signed and as sent. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT';
  target: string;
  body?: string;
  /** The form that is sent instead of `body`; `body` is then only signed and describes the file. */
  form?: { contentType: string; bytes: Buffer };
  about: WireRequest['about'];
}

/** The last path segment of a create, by scene; WeChat Pay does not support unlisted scenes. */
export const PRODUCTS: Readonly<Partial<Record<Scene, string>>> = {
  qr: 'native',
  jsapi: 'jsapi',
  mini: 'jsapi',
  h5: 'h5',
  app: 'app',
  code: 'codepay',
};

const TRADES = '/v3/pay/transactions';
const PARTNER_TRADES = '/v3/pay/partner/transactions';
const REFUNDS = '/v3/refund/domestic/refunds';

/**
 * POST /v3/pay[/partner]/transactions/{product}: a repeat is byte-identical (amounts in fen). A payment by payer's code (codepay) has neither an
 * expiry nor a notification URL: the answer or a query has its result, and a reverse ends it.
 */
export function placeRequest(account: Account, order: PlaceOrder): Call {
  return post(
    'place',
    `${tradesOf(account)}/${PRODUCTS[order.scene]}`,
    { orderNo: order.orderNo },
    {
      ...namesOf(account, order),
      // Characters ("H5下单"); a refund's reason is bytes of UTF-8 ("申请退款").
      description: plainText(order.subject, 127, 'characters') || order.orderNo,
      out_trade_no: order.orderNo,
      time_expire: order.scene === 'code' ? undefined : beijingTime(order.expiresAt),
      notify_url: order.scene === 'code' ? undefined : bareUrl(order.notifyUrl),
      amount: { total: Number(order.amount.minor), currency: order.amount.currency },
      payer: payerOf(account, order),
      scene_info: sceneInfo(order),
      ...optionsOf(order),
    },
  );
}

/** The payer; an openid belongs to the app of the order. */
function payerOf(account: Account, order: PlaceOrder): object | undefined {
  const { scene, openId, payCode } = order;
  if (scene === 'code') return { auth_code: payCode };
  if (scene !== 'jsapi' && scene !== 'mini') return undefined;
  if (!account.sub) return { openid: openId };
  return isSubApp(account, order) ? { sub_openid: openId } : { sp_openid: openId };
}

/** GET /v3/pay[/partner]/transactions/out-trade-no/{no}. */
export function queryRequest(account: Account, order: Pick<OrderRef, 'orderNo'>): Call {
  const whose = new URLSearchParams(merchantOf(account)).toString();
  return get('query', `${tradePath(account, order.orderNo)}?${whose}`, { orderNo: order.orderNo });
}

/**
 * POST /v3/pay[/partner]/transactions/out-trade-no/{no}/reverse: ends a payment by payer's code and returns money that was paid.
 */
export function reverseRequest(account: Account, order: OrderRef): Call {
  const path = `${tradePath(account, order.orderNo)}/reverse`;
  return post('reverse', path, { orderNo: order.orderNo }, namesOf(account, order));
}

/** POST /v3/pay[/partner]/transactions/out-trade-no/{no}/close. */
export function closeRequest(account: Account, order: Pick<OrderRef, 'orderNo'>): Call {
  const path = `${tradePath(account, order.orderNo)}/close`;
  return post('close', path, { orderNo: order.orderNo }, merchantOf(account));
}

/**
 * POST /v3/refund/domestic/refunds: a repeat is byte-identical (amounts in fen). The payment is named by WeChat's
 * payment number once it is known, as WeChat advises, because a paid order is sometimes not found by its order number.
 * A partner uses the same path and names the sub-merchant ("退款申请").
 */
export function refundRequest({ refundFunds, sub }: Pick<Settings, 'refundFunds' | 'sub'>, refund: RefundOrder): Call {
  const transactionId = refund.paymentNo ?? refund.channelTradeNo;
  return post('refund', REFUNDS, numbersOf(refund), {
    sub_mchid: sub?.mchid,
    // WeChat Pay accepts only one of the two payment numbers.
    ...(transactionId === null ? { out_trade_no: refund.orderNo } : { transaction_id: transactionId }),
    out_refund_no: refund.refundNo,
    reason: plainText(refund.reason, 80, 'bytes') || undefined,
    notify_url: bareUrl(refund.notifyUrl),
    amount: {
      refund: Number(refund.refundAmount.minor),
      total: Number(refund.amount.minor),
      currency: refund.amount.currency,
    },
    funds_account: refundFunds,
  });
}

/** GET /v3/refund/domestic/refunds/{out_refund_no}. */
export function queryRefundRequest({ sub }: Account, refund: Pick<RefundRef, 'orderNo' | 'refundNo'>): Call {
  const whose = sub ? `?sub_mchid=${encodeURIComponent(sub.mchid)}` : '';
  return get('query-refund', `${REFUNDS}/${encodeURIComponent(refund.refundNo)}${whose}`, numbersOf(refund));
}

/** POST …/refunds/{refund_id}/apply-abnormal-refund: pays the refund to the merchant's own bank account instead. */
export function abnormalRefundRequest({ sub }: Account, refund: RefundRef, refundId: string): Call {
  return post('retry-refund', `${REFUNDS}/${encodeURIComponent(refundId)}/apply-abnormal-refund`, numbersOf(refund), {
    sub_mchid: sub?.mchid,
    out_refund_no: refund.refundNo,
    type: 'MERCHANT_BANK_CARD',
  });
}

/** GET /v3/certificates. */
export function certificatesRequest(): Call {
  return get('certificates', '/v3/certificates', {});
}

/** Formats an instant as RFC 3339 in UTC+8, rounded down to seconds, so that a trade never outlives its order. */
export function beijingTime(at: Date): string {
  return `${new Date(Math.floor(at.getTime() / 1000) * 1000 + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`;
}

function tradesOf({ sub }: Account): string {
  return sub ? PARTNER_TRADES : TRADES;
}

function tradePath(account: Account, orderNo: string): string {
  return `${tradesOf(account)}/out-trade-no/${encodeURIComponent(orderNo)}`;
}

/** WeChat Pay refuses a notify_url with a query. */
function bareUrl(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

function numbersOf({ orderNo, refundNo }: { orderNo: string; refundNo: string }): {
  orderNo: string;
  refundNo: string;
} {
  return { orderNo, refundNo };
}

function get(call: string, target: string, about: Omit<WireRequest['about'], 'call'>): Call {
  return { method: 'GET', target, about: { call, ...about } };
}

function post(call: string, target: string, about: Omit<WireRequest['about'], 'call'>, body: object): Call {
  return { method: 'POST', target, body: JSON.stringify(body, omitNull), about: { call, ...about } };
}

/** WeChat Pay refuses a field with the value null as malformed. */
function omitNull(_key: string, value: unknown): unknown {
  return value === null ? undefined : value;
}
