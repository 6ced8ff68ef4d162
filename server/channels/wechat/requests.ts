import { plainText } from '../transport.ts';
import type { OrderRef, PlaceOrder, RefundOrder, RefundRef, Scene, WireRequest } from '../../payments/channel.ts';
import { optionsOf, sceneInfo } from './options.ts';
import type { Settings } from './settings.ts';

/** What every request of an account says about it. */
export interface Account {
  mchid: string;
  /** The app of orders that name none. */
  appId: string;
}

/** The app in whose name an order was or is placed: an order keeps it. */
export function appOf(account: Account, order: Pick<OrderRef, 'appId'>): string {
  return order.appId ?? account.appId;
}

/** One API v3 call before it is signed. `target` is path and query, as signed and as sent. */
export interface Call {
  method: 'GET' | 'POST';
  target: string;
  body?: string;
  about: WireRequest['about'];
}

/** The last path segment of a create, by scene; a scene that is not here does not exist at this channel. */
export const PRODUCTS: Readonly<Partial<Record<Scene, string>>> = {
  qr: 'native',
  jsapi: 'jsapi',
  mini: 'jsapi',
  h5: 'h5',
  app: 'app',
  code: 'codepay',
};

const TRADES = '/v3/pay/transactions';
const REFUNDS = '/v3/refund/domestic/refunds';

/**
 * POST /v3/pay/transactions/{product}: the same bytes for the same order, however often it is sent (amounts in fen). A payer's
 * code (codepay) has neither an expiry nor an address for notices: the answer or a query tells, and a reverse ends it.
 */
export function placeRequest(account: Account, order: PlaceOrder): Call {
  return post(
    'place',
    `${TRADES}/${PRODUCTS[order.scene]}`,
    { orderNo: order.orderNo },
    {
      appid: appOf(account, order),
      mchid: account.mchid,
      // Characters ("H5下单"); a refund's reason is bytes of UTF-8 ("申请退款").
      description: plainText(order.subject, 127, 'characters') || order.orderNo,
      out_trade_no: order.orderNo,
      time_expire: order.scene === 'code' ? undefined : beijingTime(order.expiresAt),
      notify_url: order.scene === 'code' ? undefined : bareUrl(order.notifyUrl),
      amount: { total: Number(order.amount.minor), currency: order.amount.currency },
      payer: payerOf(order),
      scene_info: sceneInfo(order),
      ...optionsOf(order),
    },
  );
}

function payerOf({ scene, openId, payCode }: PlaceOrder): object | undefined {
  if (scene === 'code') return { auth_code: payCode };
  return scene === 'jsapi' || scene === 'mini' ? { openid: openId } : undefined;
}

/** GET /v3/pay/transactions/out-trade-no/{no}. */
export function queryRequest({ mchid }: Account, order: Pick<OrderRef, 'orderNo'>): Call {
  return get('query', `${tradePath(order.orderNo)}?mchid=${encodeURIComponent(mchid)}`, { orderNo: order.orderNo });
}

/**
 * POST /v3/pay/transactions/out-trade-no/{no}/reverse: ends the trade of a payer's code; what was paid goes back to the payer.
 */
export function reverseRequest(account: Account, order: OrderRef): Call {
  const names = { appid: appOf(account, order), mchid: account.mchid };
  return post('reverse', `${tradePath(order.orderNo)}/reverse`, { orderNo: order.orderNo }, names);
}

/** POST /v3/pay/transactions/out-trade-no/{no}/close. */
export function closeRequest({ mchid }: Account, order: OrderRef): Call {
  return post('close', `${tradePath(order.orderNo)}/close`, { orderNo: order.orderNo }, { mchid });
}

/**
 * POST /v3/refund/domestic/refunds: the same bytes for the same refund (amounts in fen). By WeChat's number of the payment as
 * soon as it is known, as WeChat advises: by ours a paid order is now and then not found.
 */
export function refundRequest({ refundFunds }: Pick<Settings, 'refundFunds'>, refund: RefundOrder): Call {
  const transactionId = refund.paymentNo ?? refund.channelTradeNo;
  return post('refund', REFUNDS, numbersOf(refund), {
    // Either one, never both.
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
export function queryRefundRequest(refund: Pick<RefundRef, 'orderNo' | 'refundNo'>): Call {
  return get('query-refund', `${REFUNDS}/${encodeURIComponent(refund.refundNo)}`, numbersOf(refund));
}

/** POST …/refunds/{refund_id}/apply-abnormal-refund: pays the refund out to the merchant's own bank account instead. */
export function abnormalRefundRequest(refund: RefundRef, refundId: string): Call {
  return post('retry-refund', `${REFUNDS}/${encodeURIComponent(refundId)}/apply-abnormal-refund`, numbersOf(refund), {
    out_refund_no: refund.refundNo,
    type: 'MERCHANT_BANK_CARD',
  });
}

/** GET /v3/certificates. */
export function certificatesRequest(): Call {
  return get('certificates', '/v3/certificates', {});
}

/** An instant as WeChat writes it: RFC 3339 in UTC+8, whole seconds (a fraction is dropped, so a trade never outlives its order). */
export function beijingTime(at: Date): string {
  return `${new Date(Math.floor(at.getTime() / 1000) * 1000 + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`;
}

function tradePath(orderNo: string): string {
  return `${TRADES}/out-trade-no/${encodeURIComponent(orderNo)}`;
}

/** The channel refuses a notify_url with a query. */
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

/** The channel takes a null member for a malformed one. */
function omitNull(_key: string, value: unknown): unknown {
  return value === null ? undefined : value;
}
