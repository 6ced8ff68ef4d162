/** Builds the requests to WeChat Pay. */
import type { OrderRef, PlaceOrder, RefundOrder, RefundRef, Scene, WireRequest } from '../../payments/channel.ts';
import { plainText } from '../transport.ts';
import { type Settings, type SubMerchant, subAppIdsOf } from './settings.ts';

type WechatOptions = NonNullable<PlaceOrder['options']['wechat']>;
type Goods = NonNullable<WechatOptions['goods']>[number];

/**
 * Converts the merchant's options to fields of a create call ("Native下单", "付款码支付"); prices in fen. `settle_info` is not
 * sent, so no money is frozen for profit sharing (the default of `profit_sharing` is false).
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
 * Builds the fields that describe where a payment is made (store, device). WeChat Pay accepts them only together with
 * an IP address. If the merchant scans the payer's code, this is the address of the merchant's till, otherwise the
 * address of the payer.
 */
export function sceneInfo({ scene, clientIp, options }: PlaceOrder): Record<string, unknown> | undefined {
  const { storeId, deviceId }: WechatOptions = options.wechat ?? {};
  // The API for payer's codes identifies a store by the merchant's own id (`out_id`), the other calls by `id`.
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

/** Whether the order needs an IP address. WeChat Pay accepts a store id or a device id only with an IP address. */
export function needsAddress(options: WechatOptions | undefined): boolean {
  return options?.storeId !== undefined || options?.deviceId !== undefined;
}

function goodsDetail({ id, name, quantity, price }: Goods): Record<string, unknown> {
  return { merchant_goods_id: id, goods_name: name, quantity, unit_price: price };
}

export interface Account {
  mchid: string;
  appId: string;
  /** The sub-merchant that a partner acts for; undefined for a direct merchant. */
  sub?: SubMerchant | undefined;
}

/** Returns the app id of an order: the one stored with the order, or the default of the account. */
export function appOf(account: Account, order: Pick<OrderRef, 'appId'>): string {
  return order.appId ?? account.sub?.appId ?? account.appId;
}

/**
 * Returns the merchant ids under the field names of requests, responses and notifications. A direct merchant has
 * `mchid`. A partner has `sp_mchid` (the partner) and `sub_mchid` (the sub-merchant).
 */
export function merchantOf({ mchid, sub }: Account): Record<string, string> {
  return sub ? { sp_mchid: mchid, sub_mchid: sub.mchid } : { mchid };
}

/**
 * Returns the merchant ids and app ids of an order under the field names of requests and responses. In partner mode the
 * partner's app id is always included. The sub-merchant's app id is included only if the order was placed with it
 * ("JSAPI/小程序下单", sub_appid); the response then contains it too.
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

/** One call of API v3 before it is signed. `target` is the path with the query, exactly as it is sent. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT';
  target: string;
  body?: string;
  /** The form that is sent in place of `body` (a file upload). `body` then describes the file and is only signed. */
  form?: { contentType: string; bytes: Buffer };
  about: WireRequest['about'];
}

/** The last path segment of the create call for each scene (way to pay). WeChat Pay supports no other scenes. */
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
 * Builds POST /v3/pay[/partner]/transactions/{product}; amounts in fen. If the request is repeated, its body has the
 * same bytes. A payment by payer's code (codepay) has no expiry and no notification URL. Its result comes from the
 * response or a query, and a reverse call closes it.
 */
export function placeRequest(account: Account, order: PlaceOrder): Call {
  return post(
    'place',
    `${tradesOf(account)}/${PRODUCTS[order.scene]}`,
    { orderNo: order.orderNo },
    {
      ...namesOf(account, order),
      // WeChat Pay counts the subject in characters ("H5下单"), but the reason of a refund in UTF-8 bytes ("申请退款").
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

/** The name of the openid field depends on the order's app id, because an openid is valid only for one app. */
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
 * Builds POST /v3/pay[/partner]/transactions/out-trade-no/{no}/reverse. It closes a payment by payer's code; if the
 * order was paid, it returns the money.
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
 * Builds POST /v3/refund/domestic/refunds; amounts in fen. If the request is repeated, its body has the same bytes. If
 * WeChat Pay's payment id (transaction_id) is known, the request contains this id instead of the order number. WeChat
 * Pay recommends this, because a paid order is sometimes not found by its order number. A partner uses the same path
 * and adds the sub-merchant's id ("退款申请").
 */
export function refundRequest({ refundFunds, sub }: Pick<Settings, 'refundFunds' | 'sub'>, refund: RefundOrder): Call {
  const transactionId = refund.paymentNo ?? refund.channelTradeNo;
  return post('refund', REFUNDS, numbersOf(refund), {
    sub_mchid: sub?.mchid,
    // WeChat Pay accepts the order number or its own payment number, but not both.
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

/**
 * Builds POST …/refunds/{refund_id}/apply-abnormal-refund. If a refund could not be credited to the payer, this call
 * pays it to the merchant's own bank account instead.
 */
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

/** Formats a time as RFC 3339 in UTC+8, rounded down to seconds, so that the trade does not expire after the order. */
export function beijingTime(at: Date): string {
  return `${new Date(Math.floor(at.getTime() / 1000) * 1000 + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`;
}

function tradesOf({ sub }: Account): string {
  return sub ? PARTNER_TRADES : TRADES;
}

function tradePath(account: Account, orderNo: string): string {
  return `${tradesOf(account)}/out-trade-no/${encodeURIComponent(orderNo)}`;
}

/** Removes the query and the fragment of a notification URL, because WeChat Pay refuses a notify_url with a query. */
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

/** Omits fields with the value null from JSON, because WeChat Pay refuses them. */
function omitNull(_key: string, value: unknown): unknown {
  return value === null ? undefined : value;
}
