import { z } from 'zod';
import type { Call, FaultName } from '../faults.ts';
import type { Core } from '../half.ts';
import { moveRefund } from '../refunds.ts';
import { type Refund, type Trade, paymentOf, refundableMinor } from '../trade.ts';
import { fixedOutcome } from '../trades.ts';
import { MINI_PRODUCT, PRODUCTS, QR_PRODUCTS, TILL_PRODUCT } from './account.ts';
import { confirmDelivery, verifyProof } from './agents.ts';
import { AlipayRefusal, type Content, chinaTime, readChinaTime, refused, success } from './answers.ts';
import { queryBill } from './bills.ts';
import { COMPLAINT_METHODS } from './disputes.ts';
import {
  type AlipayRequest,
  exists,
  named,
  newTradeNo,
  readText,
  readYuan,
  receivedOf,
  refundedSum,
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

/** In yuan; clients write it as text or as a number (smartwalle/alipay, GoodsDetail). */
const Price = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(z.string().regex(/^\d{1,9}(\.\d{1,2})?$/));

/** Members of a create beyond the order itself (references of alipay.trade.precreate, create, pay, page.pay, wap.pay and app.pay). */
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

/** Reads them as the gateway would; throws the refusal. Which ways to pay exclude each other is Alipay's own rule. */
export function readCreateOptions(content: Readonly<Record<string, unknown>>): z.output<typeof Options> {
  const options = Options.safeParse(content);
  if (options.success) return options.data;
  throw refused('INVALID_PARAMETER', `${options.error.issues[0]?.path.join('.') || 'enable_pay_channels'} is invalid.`);
}

/** A code dies two hours after it was made, whatever `time_expire` says. */
const QR_MS = 2 * 3_600_000;

/** alipay.trade.precreate: `silent` when the caller shall never hear of it (0.06, the first time). */
export function precreate(core: Core, request: AlipayRequest): { content: Content; silent: boolean } {
  const product = request.content['product_code'] ?? QR_PRODUCTS[0];
  if (typeof product !== 'string' || !QR_PRODUCTS.includes(product))
    throw refused('INVALID_PARAMETER', 'product_code is not one of precreate.');
  requireProduct(request, product);
  const { trade, isNew } = createTrade(core, request, 'qr');
  return {
    content: success({ out_trade_no: trade.orderNo, qr_code: core.payUrl(trade) }),
    silent: isNew && trade.fixed === 'silent',
  };
}

/** alipay.trade.create for a mini program: the payer is known, so the trade exists at once and waits for the payer's word. */
export function createForMiniProgram(core: Core, request: AlipayRequest): { content: Content; silent: boolean } {
  const { content } = request;
  if (content['product_code'] !== MINI_PRODUCT) throw refused('INVALID_PARAMETER', 'product_code is not JSAPI_PAY.');
  requireProduct(request, MINI_PRODUCT);
  readText(content['op_app_id'], 'op_app_id', /^\d{16}$/);
  const buyer =
    content['buyer_id'] === undefined
      ? readText(content['buyer_open_id'], 'buyer_open_id', /^[\w-]{1,128}$/)
      : readText(content['buyer_id'], 'buyer_id', /^2088\d{12}$/);
  const { trade, isNew } = createTrade(core, request, 'jsapi', { scanned: true, buyer });
  if (trade.details['buyer'] !== buyer) throw refused('TRADE_BUYER_NOT_MATCH', 'The trade is of another payer.');
  return {
    content: success({ out_trade_no: trade.orderNo, trade_no: tradeNoOf(trade) }),
    silent: isNew && trade.fixed === 'silent',
  };
}

/** Opens a page, wap or app payment: what the payer's browser or app does with the signed request. */
export function openPage(core: Core, request: AlipayRequest): Trade {
  const product = PRODUCTS[request.method];
  const asked = request.content['product_code'];
  if (product === undefined || asked === undefined || ![product.code, product.former].includes(String(asked))) {
    throw refused('INVALID_PARAMETER', 'product_code does not belong to this method.');
  }
  requireProduct(request, product.code);
  return createTrade(core, request, product.scene).trade;
}

/** What a merchant has not signed for is refused before anything else about the trade is looked at (our inference). */
export function requireProduct({ account }: AlipayRequest, product: string): void {
  if (!account.products.includes(product))
    throw refused('ACCESS_FORBIDDEN', 'The merchant has not signed for this product.');
}

/** Makes the trade or, for the same number and facts while unpaid, finds it again. */
export function createTrade(
  core: Core,
  request: AlipayRequest,
  scene: string,
  details: Record<string, unknown> = {},
): { trade: Trade; isNew: boolean } {
  const draft = readDraft(core, request, scene);
  const known = core.trades.find(draft.orderNo, { payWay: 'alipay', account: request.account.name });
  // A code that nobody scanned leaves no trade behind, so its number is free again.
  if (known !== undefined && (known.state === 'offered' || exists(known)))
    return { trade: sameTrade(known, draft), isNew: false };
  if (fixedOutcome(draft.minor, 'CNY') === 'declined') throw refused('ACCESS_FORBIDDEN', 'Declined, as 0.02 asks for.');
  const expiresAt = readExpiry(request.content['time_expire'], core.clock.now(), scene);
  // Where the payer is known there is a trade at once; elsewhere the scan or the login makes it.
  const state = details['scanned'] === true ? 'open' : 'offered';
  const trade = core.trades.create({ ...draft, details: { ...draft.details, ...details }, expiresAt, state });
  core.startFixed(trade);
  return { trade, isNew: true };
}

function sameTrade(known: Trade, draft: { minor: number; subject: string }): Trade {
  if (known.state === 'paid') throw refused('TRADE_HAS_SUCCESS', 'The trade is paid.');
  if (known.state === 'closed') throw refused('TRADE_HAS_CLOSE', 'The trade is closed.');
  if (known.minor !== draft.minor || known.subject !== draft.subject)
    throw refused('CONTEXT_INCONSISTENT', 'The trade has other facts.');
  return known;
}

function readDraft(
  core: Core,
  { account, sellers, content, charset, notifyUrl, returnUrl }: AlipayRequest,
  scene: string,
) {
  const usual = sellers.includes(account.sellerId) ? account.sellerId : sellers[0];
  const sellerId = sellers.find((one) => one === (content['seller_id'] ?? usual));
  if (sellerId === undefined) throw refused('PARTNER_ERROR', 'seller_id is not of this app.');
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
  const asked = value === undefined ? undefined : readChinaTime(String(value));
  if (value !== undefined && (asked === undefined || asked <= now))
    throw refused('INVALID_PARAMETER', 'time_expire is invalid.');
  if (scene !== 'qr') return asked ?? null;
  return Math.min(asked ?? Infinity, now + QR_MS);
}

/** A payer's code: 16 to 24 digits that begin with 25 to 30 (reference of alipay.trade.pay). */
const CODE = /^(2[5-9]|30)\d{14,22}$/;
/** A payment can be cancelled for a day; after that it is refunded (reference of alipay.trade.cancel). */
const CANCEL_MS = 86_400_000;

/** What the payer of a code does, by its last digit; any other digit pays at once. */
const PAYERS: Readonly<Record<string, 'asks-password' | 'has-no-money' | 'showed-it-long-ago'>> = {
  '1': 'asks-password',
  '2': 'has-no-money',
  '0': 'showed-it-long-ago',
};

/** alipay.trade.pay with the code that a payer shows: paid at once, or 10003 while the payer types a password. */
export function payByCode(
  core: Core,
  request: AlipayRequest,
  fault: FaultName | undefined,
): { content: Content; silent: boolean } {
  const { account, content } = request;
  if (content['scene'] !== 'bar_code' || (content['product_code'] ?? TILL_PRODUCT) !== TILL_PRODUCT)
    throw refused('INVALID_PARAMETER', 'scene is not bar_code, or product_code not FACE_TO_FACE_PAYMENT.');
  requireProduct(request, TILL_PRODUCT);
  const authCode = readText(content['auth_code'], 'auth_code', CODE);
  const number = readText(content['out_trade_no'], 'out_trade_no', /^\w{1,64}$/);
  const known = core.trades.find(number, { payWay: 'alipay', account: account.name });
  const payer = PAYERS[authCode.at(-1)!];
  if (known === undefined) refuseCode(core, authCode, payer);
  const { trade, isNew } = createTrade(core, request, 'code', { scanned: true, authCode });
  const isPaid = trade.state === 'paid';
  if (isNew && !isPaid && payer !== 'asks-password') core.half('alipay').pay(core, trade);
  return { content: answerOf(trade, fault), silent: isNew && trade.fixed === 'silent' };
}

/** A code works once, for a minute. */
function refuseCode(core: Core, authCode: string, payer: (typeof PAYERS)[string] | undefined): void {
  const isUsed = [...core.ledger.trades.values()].some(({ details }) => details['authCode'] === authCode);
  if (isUsed || payer === 'showed-it-long-ago') throw refused('PAYMENT_AUTH_CODE_INVALID', 'The code is used or old.');
  if (payer === 'has-no-money') throw refused('BUYER_BALANCE_NOT_ENOUGH', 'The payer has not enough money.');
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
 * alipay.trade.cancel: closes what is not paid, gives back what is, and says which (`action`). What it answers about a trade that
 * it does not have is not documented: here a success that names no action.
 */
export function cancel(core: Core, request: AlipayRequest): { content: Content } {
  const trade = named(core, request);
  const { out_trade_no: asked } = request.content;
  if (!exists(trade))
    return { content: success({ ...(typeof asked === 'string' ? { out_trade_no: asked } : {}), retry_flag: 'N' }) };
  const said = { out_trade_no: trade.orderNo, retry_flag: 'N', trade_no: tradeNoOf(trade) };
  const payment = paymentOf(trade);
  if (payment === undefined) {
    core.trades.close(trade);
    return { content: success({ ...said, action: 'close' }) };
  }
  if (core.clock.now() - payment.at > CANCEL_MS) throw refused('TRADE_CANCEL_TIME_OUT', 'It was paid over a day ago.');
  const minor = refundableMinor(trade);
  if (minor > 0) core.refund(trade, { refundNo: `${CANCELLED}${trade.orderNo}`, minor, reason: 'cancelled' });
  return { content: success({ ...said, action: minor > 0 ? 'refund' : 'close' }) };
}

/** How the refund of a cancelled payment is called here; whether a notice names one is not documented, and ours do not. */
export const CANCELLED = 'cancel_';

/** What a call says; `silent` = it happened, but the caller is never told. */
export interface Said {
  content: Content;
  silent?: boolean;
}

type Act = (core: Core, request: AlipayRequest, fault: FaultName | undefined) => Said;

/** The methods of the gateway that answer JSON, with the name that faults know them by. */
export const METHODS: Readonly<Record<string, { call: Call; act: Act }>> = {
  'alipay.trade.precreate': { call: 'create', act: precreate },
  'alipay.trade.create': { call: 'create', act: createForMiniProgram },
  'alipay.trade.pay': { call: 'create', act: payByCode },
  'alipay.trade.cancel': { call: 'close', act: cancel },
  'alipay.trade.query': { call: 'query', act: query },
  'alipay.trade.close': { call: 'close', act: close },
  'alipay.trade.refund': { call: 'refund', act: refund },
  'alipay.trade.fastpay.refund.query': { call: 'refund-query', act: refundQuery },
  'alipay.open.app.alipaycert.download': { call: 'certificate', act: downloadCertificate },
  'alipay.data.dataservice.bill.downloadurl.query': { call: 'bill', act: queryBill },
  'alipay.aipay.agent.payment.verify': { call: 'agent-verify', act: verifyProof },
  'alipay.aipay.agent.fulfillment.confirm': { call: 'agent-confirm', act: confirmDelivery },
  ...COMPLAINT_METHODS,
};

/** Does what a checked request asks; a refusal of the business is an answer like any other. */
export function perform(core: Core, request: AlipayRequest, fault: FaultName | undefined, word?: string): Said {
  try {
    if (fault === 'refused' && word !== undefined) throw refused(word, 'Refused, as a fault asks for.');
    if (fault === 'refused-in-gbk' && word !== undefined) throw refused(word, '交易失败：余额不足，请充值。');
    if (fault === 'clock-skew')
      throw new AlipayRefusal('40002', 'isv.invalid-timestamp', 'The timestamp is not of now.');
    if (fault === 'same-id-concurrent-refusal') throw refused('SYSTEM_ERROR', 'The same request is being served.');
    return METHODS[request.method]!.act(core, request, fault);
  } catch (error) {
    if (error instanceof AlipayRefusal) return { content: error.content };
    throw error;
  }
}

function query(core: Core, request: AlipayRequest, fault: FaultName | undefined): Said {
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

function close(core: Core, request: AlipayRequest): Said {
  const trade = existing(core, request);
  if (trade.state === 'paid' || trade.state === 'closed')
    throw refused('TRADE_STATUS_ERROR', 'The state of the trade forbids this.');
  core.trades.close(trade);
  return { content: success({ trade_no: tradeNoOf(trade), out_trade_no: trade.orderNo }) };
}

function refund(core: Core, request: AlipayRequest, fault: FaultName | undefined): Said {
  const trade = existing(core, request);
  const minor = readYuan(request.content['refund_amount'], 'refund_amount');
  const refundNo = readRefundNo(request, trade, minor);
  if (fault === 'lost-refund') return refundAnswer(trade, false, fault);
  const known = trade.refunds.find((candidate) => candidate.refundNo === refundNo && candidate.origin === 'merchant');
  if (known !== undefined) return repeatRefund(core, trade, known, minor, fault);
  checkRefundable(core, trade, minor);
  const reason = request.content['refund_reason'];
  const tellsBank = readOptions(request, REFUND_OPTIONS).includes('deposit_back_info');
  const draft = { refundNo, minor, reason: typeof reason === 'string' ? reason : '', tellsBank };
  const made = core.refund(trade, draft, fault);
  if (made.state === 'failed') throw refused('SELLER_BALANCE_NOT_ENOUGH', 'The balance of the seller is too low.');
  return refundAnswer(trade, made.state === 'succeeded', fault);
}

/** No money moves twice: a repeat says fund_change=N, unless the first try had failed. */
function repeatRefund(core: Core, trade: Trade, known: Refund, minor: number, fault: FaultName | undefined): Said {
  if (known.minor !== minor) throw refused('DISCORDANT_REPEAT_REQUEST', 'The number was used with another amount.');
  const again = known.state === 'failed';
  if (again) {
    checkRefundable(core, trade, minor);
    moveRefund(core, trade, known, 'succeeded');
  }
  return refundAnswer(trade, again, fault);
}

function checkRefundable(core: Core, trade: Trade, minor: number): void {
  if (trade.fixed === 'refunds-fail') throw refused('SELLER_BALANCE_NOT_ENOUGH', 'Refunds fail, as 0.05 asks for.');
  if (paymentOf(trade) === undefined) throw refused('TRADE_STATUS_ERROR', 'The trade is not paid.');
  if (tradeStatus(trade, core.clock.now()) === 'TRADE_FINISHED')
    throw refused('TRADE_HAS_FINISHED', 'The trade is finished.');
  if (minor > refundableMinor(trade))
    throw refused('REFUND_AMT_NOT_EQUAL_TOTAL', 'More than what is left of the payment.');
}

function refundAnswer(trade: Trade, moved: boolean, fault: FaultName | undefined): Said {
  const fee = yuan(trade, refundedSum(trade) + (fault === 'wrong-amount' ? 1 : 0));
  const at = trade.refunds.findLast((each) => each.doneAt !== null)?.doneAt;
  const done = at ? { gmt_refund_pay: chinaTime(at) } : {};
  return {
    content: success({ ...facts(trade), fund_change: moved ? 'Y' : 'N', refund_fee: fee, send_back_fee: fee, ...done }),
  };
}

function refundQuery(core: Core, request: AlipayRequest, fault: FaultName | undefined): Said {
  const trade = existing(core, request);
  const refundNo = readText(request.content['out_request_no'], 'out_request_no', /^\w{1,64}$/);
  const options = readOptions(request, QUERY_OPTIONS);
  const known = trade.refunds.find((candidate) => candidate.refundNo === refundNo);
  if (known === undefined || fault === 'query-lag') return { content: success({}) };
  const status = known.state === 'succeeded' ? { refund_status: 'REFUND_SUCCESS' } : {};
  const time =
    known.doneAt !== null && options.includes('gmt_refund_pay') ? { gmt_refund_pay: chinaTime(known.doneAt) } : {};
  const amount = yuan(trade, known.minor + (fault === 'wrong-amount' ? 1 : 0));
  const about = {
    out_request_no: refundNo,
    refund_amount: amount,
    total_amount: yuan(trade, trade.minor),
    refund_reason: known.reason,
    ...(options.includes('deposit_back_info') && known.bankSaid !== undefined ? depositBack(trade, known) : {}),
  };
  return {
    content: success({ out_trade_no: trade.orderNo, trade_no: tradeNoOf(trade), ...about, ...status, ...time }),
  };
}

/** What a refund query may be asked for beside the usual (reference of alipay.trade.fastpay.refund.query). */
const QUERY_OPTIONS: readonly unknown[] = [
  'gmt_refund_pay',
  'refund_detail_item_list',
  'refund_voucher_detail_list',
  'deposit_back_info',
];

/** What a refund may be asked for (reference of alipay.trade.refund); `deposit_back_info` has Alipay tell what the payer's bank says. */
const REFUND_OPTIONS: readonly unknown[] = ['refund_detail_item_list', 'deposit_back_info'];

function depositBack(trade: Trade, { bankSaid, minor }: Refund): Record<string, unknown> {
  const amount = bankSaid === 'S' ? { dback_amount: yuan(trade, minor) } : {};
  return { deposit_back_info: { has_deposit_back: 'true', dback_status: bankSaid, ...amount } };
}

function readOptions(
  { content: { query_options: options = [] } }: AlipayRequest,
  known: readonly unknown[],
): readonly unknown[] {
  if (!Array.isArray(options) || !options.every((option) => known.includes(option)))
    throw refused('INVALID_PARAMETER', 'query_options is invalid.');
  return options;
}

/** A certificate of Alipay's for this app, as the base64 of its file. With which code another serial is refused is not documented. */
function downloadCertificate(_core: Core, { account, content }: AlipayRequest): Said {
  const pem = account.alipayCerts.get(readText(content['alipay_cert_sn'], 'alipay_cert_sn', /^[0-9a-f]{32}$/));
  if (pem === undefined) throw refused('INVALID_PARAMETER', 'No certificate of this app has the serial.');
  return { content: success({ alipay_cert_content: Buffer.from(pem).toString('base64') }) };
}

/** Without a number of its own a refund is one of the whole amount, named like the order. */
function readRefundNo({ content }: AlipayRequest, trade: Trade, minor: number): string {
  if (content['out_request_no'] === undefined && minor === trade.minor) return trade.orderNo;
  return readText(content['out_request_no'], 'out_request_no', /^\w{1,64}$/);
}

function existing(core: Core, request: AlipayRequest): Trade {
  const { account, sellers } = request;
  const trade = named(core, request);
  if (!exists(trade) || !sellers.includes(sellerOf(trade, account)))
    throw refused('TRADE_NOT_EXIST', 'The trade does not exist.');
  return trade;
}

function facts(trade: Trade): Record<string, string> {
  return { trade_no: tradeNoOf(trade), out_trade_no: trade.orderNo, buyer_logon_id: 'pay***@example.com' };
}
