/** Creates, pays, queries, closes and cancels trades. */
import { z } from 'zod';
import type { FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { paymentOf, refundableMinor, type Trade } from '../trade.ts';
import { DECLINED_BY_AMOUNT, fixedOutcome } from '../trades.ts';
import { MINI_PRODUCT, PRODUCTS, QR_PRODUCTS, TILL_PRODUCT } from './account.ts';
import { chinaTime, type Content, readChinaTime, refused, success } from './answers.ts';
import {
  type AlipayRequest,
  exists,
  named,
  newTradeNo,
  readText,
  readYuan,
  receivedOf,
  sellerOf,
  tradeNoOf,
  tradeStatus,
  yuan,
} from './requests.ts';

const Text = (max: number) => z.string().min(1).max(max).optional();
const Channels = z
  .string()
  .regex(/^\w+(,\w+)*$/)
  .max(128)
  .optional();

/** A price in yuan; clients send text or a number (smartwalle/alipay, GoodsDetail). */
const Price = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(z.string().regex(/^\d{1,9}(\.\d{1,2})?$/));

/**
 * The optional fields of the create calls (references of alipay.trade.precreate, create, pay, page.pay, wap.pay and
 * app.pay).
 */
const Options = z
  .object({
    store_id: Text(32),
    operator_id: Text(28),
    terminal_id: Text(32),
    passback_params: Text(512),
    enable_pay_channels: Channels,
    disable_pay_channels: Channels,
    extend_params: z
      .object({
        sys_service_provider_id: z
          .string()
          .regex(/^2088\d{12}$/)
          .optional(),
      })
      .optional(),
    goods_detail: z
      .array(
        z.object({
          goods_id: z.string().min(1).max(64),
          goods_name: z.string().min(1).max(256),
          quantity: z.int().min(1),
          price: Price,
        }),
      )
      .min(1)
      .optional(),
  })
  .refine((options) => !options.enable_pay_channels || !options.disable_pay_channels);

/** Alipay allows only one of enable_pay_channels and disable_pay_channels. */
function readCreateOptions(content: Readonly<Record<string, unknown>>): z.output<typeof Options> {
  const options = Options.safeParse(content);
  if (options.success) return options.data;
  throw refused('INVALID_PARAMETER', `${options.error.issues[0]?.path.join('.') || 'enable_pay_channels'} is invalid.`);
}

/** A QR code expires at most two hours after its creation, even if `time_expire` is later. */
const QR_MS = 2 * 3_600_000;

/** alipay.trade.precreate: creates an order for a QR code. The first request for the amount 0.06 gets no response. */
export function precreate(core: Core, request: AlipayRequest): { content: Content; silent: boolean } {
  const product = request.content['product_code'] ?? QR_PRODUCTS[0];
  if (typeof product !== 'string' || !QR_PRODUCTS.includes(product))
    throw refused('INVALID_PARAMETER', 'product_code must be FACE_TO_FACE_PAYMENT or QR_CODE_OFFLINE.');
  requireProduct(request, product);
  const { trade, isNew } = createTrade(core, request, 'qr');
  return {
    content: success({ out_trade_no: trade.orderNo, qr_code: core.payUrl(trade) }),
    silent: isNew && trade.fixed === 'silent',
  };
}

/** alipay.trade.create: the payer of a mini program is known, so the trade exists immediately. */
export function createForMiniProgram(core: Core, request: AlipayRequest): { content: Content; silent: boolean } {
  const { content } = request;
  if (content['product_code'] !== MINI_PRODUCT) throw refused('INVALID_PARAMETER', 'product_code must be JSAPI_PAY.');
  requireProduct(request, MINI_PRODUCT);
  readText(content['op_app_id'], 'op_app_id', /^\d{16}$/);
  const buyer =
    content['buyer_id'] === undefined
      ? readText(content['buyer_open_id'], 'buyer_open_id', /^[\w-]{1,128}$/)
      : readText(content['buyer_id'], 'buyer_id', /^2088\d{12}$/);
  const { trade, isNew } = createTrade(core, request, 'jsapi', { scanned: true, buyer });
  if (trade.details['buyer'] !== buyer) throw refused('TRADE_BUYER_NOT_MATCH', 'The trade belongs to another payer.');
  return {
    content: success({ out_trade_no: trade.orderNo, trade_no: tradeNoOf(trade) }),
    silent: isNew && trade.fixed === 'silent',
  };
}

/** Opens a page, wap or app payment with the signed request, as the payer's browser or app does. */
export function openPage(core: Core, request: AlipayRequest): Trade {
  const product = PRODUCTS[request.method];
  const code = request.content['product_code'];
  if (product === undefined || code === undefined || ![product.code, product.former].includes(String(code))) {
    throw refused('INVALID_PARAMETER', 'product_code is missing, or the called method does not accept it.');
  }
  requireProduct(request, product.code);
  return createTrade(core, request, product.scene).trade;
}

/** It is inferred that Alipay checks the product before all checks of the trade. */
function requireProduct({ account }: AlipayRequest, product: string): void {
  if (!account.products.includes(product))
    throw refused('ACCESS_FORBIDDEN', 'The merchant has not signed up for the payment product of this request.');
}

/** If an unpaid trade with the same order number, amount and subject exists, returns that trade. */
function createTrade(
  core: Core,
  request: AlipayRequest,
  scene: string,
  details: Record<string, unknown> = {},
): { trade: Trade; isNew: boolean } {
  const draft = readDraft(core, request, scene);
  const known = core.trades.find(draft.orderNo, { payWay: 'alipay', account: request.account.name });
  // At Alipay, a QR code becomes a trade only when a payer scans it. If the code expires before that, the merchant can
  // use the order number again.
  if (known !== undefined && (known.state === 'offered' || exists(known)))
    return { trade: sameTrade(known, draft), isNew: false };
  if (fixedOutcome(draft.minor, 'CNY') === 'declined') throw refused('ACCESS_FORBIDDEN', DECLINED_BY_AMOUNT.en);
  const expiresAt = readExpiry(request.content['time_expire'], core.clock.now(), scene);
  // If the payer is already known, the trade exists immediately. Otherwise the trade exists when the payer scans the
  // code or logs in.
  const state = details['scanned'] === true ? 'open' : 'offered';
  const trade = core.trades.create({ ...draft, details: { ...draft.details, ...details }, expiresAt, state });
  core.startFixed(trade);
  return { trade, isNew: true };
}

function sameTrade(known: Trade, draft: { minor: number; subject: string }): Trade {
  if (known.state === 'paid') throw refused('TRADE_HAS_SUCCESS', 'The trade is already paid.');
  if (known.state === 'closed') throw refused('TRADE_HAS_CLOSE', 'The trade is already closed.');
  if (known.minor !== draft.minor || known.subject !== draft.subject)
    throw refused('CONTEXT_INCONSISTENT', 'The order number was already used with another amount or subject.');
  return known;
}

function readDraft(
  core: Core,
  { account, sellers, content, charset, notifyUrl, returnUrl }: AlipayRequest,
  scene: string,
) {
  const usual = sellers.includes(account.sellerId) ? account.sellerId : sellers[0];
  const sellerId = sellers.find((one) => one === (content['seller_id'] ?? usual));
  if (sellerId === undefined)
    throw refused('PARTNER_ERROR', 'seller_id must be a merchant for which this app may collect payments.');
  const passback = content['passback_params'];
  return {
    payWay: 'alipay' as const,
    account: account.name,
    orderNo: readText(content['out_trade_no'], 'out_trade_no', /^\w{1,64}$/),
    scene,
    subject: readText(content['subject'], 'subject', /^[^/=&]{1,256}$/),
    minor: readYuan(content['total_amount'], 'total_amount'),
    currency: 'CNY',
    notifyUrl,
    returnUrl,
    details: {
      tradeNo: newTradeNo(core),
      sellerId,
      charset,
      options: readCreateOptions(content),
      ...(typeof passback === 'string' ? { passback } : {}),
    },
  };
}

function readExpiry(value: unknown, now: number, scene: string): number | null {
  const expiry = value === undefined ? undefined : readChinaTime(String(value));
  if (value !== undefined && (expiry === undefined || expiry <= now))
    throw refused('INVALID_PARAMETER', 'time_expire must be a future time, such as 2026-01-31 09:30:00.');
  if (scene !== 'qr') return expiry ?? null;
  return Math.min(expiry ?? Infinity, now + QR_MS);
}

/** The payer's payment code: 16 to 24 digits that begin with 25 to 30 (reference of alipay.trade.pay). */
const CODE = /^(2[5-9]|30)\d{14,22}$/;
/** A payment can be cancelled within one day; later it can only be refunded (reference of alipay.trade.cancel). */
const CANCEL_MS = 86_400_000;

/** The payer's behaviour by the last digit of the payment code; with any other digit the payer pays immediately. */
const PAYERS: Readonly<Record<string, 'asks-password' | 'has-no-money' | 'showed-it-long-ago'>> = {
  '1': 'asks-password',
  '2': 'has-no-money',
  '0': 'showed-it-long-ago',
};

/** alipay.trade.pay: pays with the payer's code, or returns 10003 while the payer enters a password. */
export function payByCode(
  core: Core,
  request: AlipayRequest,
  fault: FaultName | undefined,
): { content: Content; silent: boolean } {
  const { account, content } = request;
  if (content['scene'] !== 'bar_code' || (content['product_code'] ?? TILL_PRODUCT) !== TILL_PRODUCT)
    throw refused('INVALID_PARAMETER', 'scene must be bar_code, and product_code must be FACE_TO_FACE_PAYMENT.');
  requireProduct(request, TILL_PRODUCT);
  const authCode = readText(content['auth_code'], 'auth_code', CODE);
  const number = readText(content['out_trade_no'], 'out_trade_no', /^\w{1,64}$/);
  const known = core.trades.find(number, { payWay: 'alipay', account: account.name });
  const payer = PAYERS[authCode.at(-1)!];
  if (known === undefined) refuseCode(core, authCode, payer);
  const { trade, isNew } = createTrade(core, request, 'code', { scanned: true, authCode });
  const isPaid = trade.state === 'paid';
  if (isNew && !isPaid && payer !== 'asks-password') core.channelSimulator('alipay').pay(core, trade);
  return { content: answerOf(trade, fault), silent: isNew && trade.fixed === 'silent' };
}

/** Refuses a used code, a code that is too old (valid for one minute), and a payer with too little money. */
function refuseCode(core: Core, authCode: string, payer: (typeof PAYERS)[string] | undefined): void {
  const isUsed = [...core.ledger.trades.values()].some(({ details }) => details['authCode'] === authCode);
  if (isUsed || payer === 'showed-it-long-ago')
    throw refused('PAYMENT_AUTH_CODE_INVALID', 'The auth_code was already used or has expired.');
  if (payer === 'has-no-money') throw refused('BUYER_BALANCE_NOT_ENOUGH', "The payer's balance is too low.");
}

function answerOf(trade: Trade, fault: FaultName | undefined): Content {
  const names = { out_trade_no: trade.orderNo, trade_no: tradeNoOf(trade), buyer_logon_id: 'pay***@example.com' };
  const payment = paymentOf(trade);
  if (payment === undefined) return { ...success(names), code: '10003', msg: 'order success pay inprocess' };
  return success({
    ...names,
    buyer_user_id: '2088000000000001',
    total_amount: yuan(trade, payment.minor + (fault === 'wrong-amount' ? 1 : 0)),
    ...receivedOf(trade, payment),
    gmt_payment: chinaTime(payment.at),
  });
}

/**
 * alipay.trade.cancel: closes an unpaid trade or refunds a paid trade; `action` in the response names which. Alipay's
 * response for an unknown trade is not documented; the simulator returns a success without `action`.
 */
export function cancel(core: Core, request: AlipayRequest): { content: Content } {
  const trade = named(core, request);
  const { out_trade_no: orderNo } = request.content;
  if (!exists(trade) || !request.sellers.includes(sellerOf(trade, request.account)))
    return { content: success({ ...(typeof orderNo === 'string' ? { out_trade_no: orderNo } : {}), retry_flag: 'N' }) };
  const names = { out_trade_no: trade.orderNo, retry_flag: 'N', trade_no: tradeNoOf(trade) };
  const payment = paymentOf(trade);
  if (payment === undefined) {
    core.trades.close(trade);
    return { content: success({ ...names, action: 'close' }) };
  }
  if (core.clock.now() - payment.at > CANCEL_MS)
    throw refused('TRADE_CANCEL_TIME_OUT', 'The trade was paid more than a day ago; refund it instead.');
  const minor = refundableMinor(trade);
  if (minor > 0) core.refund(trade, { refundNo: `${CANCELLED}${trade.orderNo}`, minor, reason: 'cancelled' });
  return { content: success({ ...names, action: minor > 0 ? 'refund' : 'close' }) };
}

/**
 * The prefix of the refund number of a cancelled payment. Alipay does not document whether the notification contains
 * this number; the simulator omits it.
 */
export const CANCELLED = 'cancel_';

/** `silent` = the call took effect, but the caller gets no response. */
export interface CallResult {
  content: Content;
  silent?: boolean;
}

/** alipay.trade.query: returns a trade's state. The fault `query-lag` shows a paid trade as still unpaid. */
export function query(core: Core, request: AlipayRequest, fault: FaultName | undefined): CallResult {
  const trade = existing(core, request);
  const payment = fault === 'query-lag' ? undefined : paymentOf(trade);
  const total = fault === 'wrong-amount' ? trade.minor + 1 : (payment?.minor ?? trade.minor);
  const paid = payment && {
    send_pay_date: chinaTime(payment.at),
    ...receivedOf(trade, payment),
  };
  const status =
    fault === 'query-lag' && trade.state === 'paid' ? 'WAIT_BUYER_PAY' : tradeStatus(trade, core.clock.now());
  return {
    content: success({
      ...facts(trade),
      seller_id: sellerOf(trade, request.account),
      buyer_user_id: '2088000000000001',
      trade_status: status,
      total_amount: yuan(trade, total),
      ...paid,
    }),
  };
}

/** alipay.trade.close: closes an unpaid trade. */
export function close(core: Core, request: AlipayRequest): CallResult {
  const trade = existing(core, request);
  if (trade.state === 'paid' || trade.state === 'closed')
    throw refused('TRADE_STATUS_ERROR', 'The trade is already paid or closed.');
  core.trades.close(trade);
  return { content: success({ trade_no: tradeNoOf(trade), out_trade_no: trade.orderNo }) };
}

/** Returns the trade that a request names; throws AlipayRefusal if it does not exist or is of another merchant. */
export function existing(core: Core, request: AlipayRequest): Trade {
  const { account, sellers } = request;
  const trade = named(core, request);
  if (!exists(trade) || !sellers.includes(sellerOf(trade, account)))
    throw refused('TRADE_NOT_EXIST', 'The trade does not exist.');
  return trade;
}

/** Returns the trade number, order number and payer of a trade, which every response about the trade contains. */
export function facts(trade: Trade): Record<string, string> {
  return { trade_no: tradeNoOf(trade), out_trade_no: trade.orderNo, buyer_logon_id: 'pay***@example.com' };
}
