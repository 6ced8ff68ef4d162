/** Builds the responses of WeChat Pay: describes trades and refunds, encrypts fields and signs bodies. */
import { type KeyObject, randomBytes } from 'node:crypto';
import { SIGNTEST, answerText, encryptText, signRsa } from '../../channels/wechat/signature.ts';
import type { Answer } from '../exchange.ts';
import { type FaultName, duplicateFirstKey } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { NO_OFFERS, type Refund, type Trade, paymentOf, refundedMinor } from '../trade.ts';
import { type Merchant, type SigningKey, privateKeyOf, signingKeyOf } from './account.ts';
import { type Names, namesOf } from './requests.ts';

const TRADE_TYPES: ReadonlyMap<string, string> = new Map([
  ['native', 'NATIVE'],
  ['jsapi', 'JSAPI'],
  ['app', 'APP'],
  ['h5', 'MWEB'],
  ['codepay', 'MICROPAY'],
]);

/** Returns WeChat Pay's `trade_type` of a product. */
export function tradeType(product: string): string | undefined {
  return TRADE_TYPES.get(product);
}

const REFUND_WORDS = {
  processing: 'PROCESSING',
  succeeded: 'SUCCESS',
  failed: 'CLOSED',
  abnormal: 'ABNORMAL',
} as const;

export interface TradeDetails extends Names {
  product: string;
  openid: string;
  /** The payer's openid for the sub-merchant's app; set only if the create request contained it. */
  subOpenid?: string;
  attach?: string;
  /** The payer's payment code (codepay). Each code can be used once. */
  authCode?: string;
  reversed?: boolean;
  /** The merchant has closed the trade. An expired trade is not marked as closed. */
  closed?: boolean;
  /** The create request as JSON. A repeated create request must be equal to it. */
  request: string;
}

/** Returns the `details` of a trade at WeChat Pay. */
export function detailsOf(trade: Trade): TradeDetails {
  return trade.details as unknown as TradeDetails;
}

/** Whether a trade belongs to the sub-merchant. Sub-merchants of one partner do not see each other's trades. */
export function isFor(trade: Trade, { subMchid }: Pick<Names, 'subMchid'>): boolean {
  return detailsOf(trade).subMchid === subMchid;
}

/**
 * Builds the JSON of a trade for a query or a notification. Amounts are in fen. With `unseen`, a paid trade is
 * described as unpaid.
 */
export function describeTrade(trade: Trade, unseen = false): Record<string, unknown> {
  const { product, attach, ...details } = detailsOf(trade);
  const payment = unseen ? undefined : paymentOf(trade);
  const names = { ...namesOf(details), out_trade_no: trade.orderNo, ...(attach === undefined ? {} : { attach }) };
  if (!payment) return { ...names, trade_state: unpaidState(trade), trade_state_desc: '订单未支付' };
  return {
    ...names,
    transaction_id: payment.number,
    trade_type: TRADE_TYPES.get(product),
    trade_state: paidState(trade),
    trade_state_desc: '支付成功',
    bank_type: 'OTHERS',
    success_time: beijingTime(payment.at),
    payer: payerOf(details),
    amount: { total: payment.minor, payer_total: paidBy(trade), currency: 'CNY', payer_currency: 'CNY' },
  };
}

function payerOf({ subMchid, openid, subOpenid }: Pick<TradeDetails, 'subMchid' | 'openid' | 'subOpenid'>) {
  if (subMchid === undefined) return { openid };
  return { sp_openid: openid, ...(subOpenid === undefined ? {} : { sub_openid: subOpenid }) };
}

function unpaidState(trade: Trade): string {
  const { product, reversed, closed } = detailsOf(trade);
  if (reversed) return 'REVOKED';
  if (closed) return 'CLOSED';
  if (product !== 'codepay') return 'NOTPAY';
  return trade.declined ? 'PAYERROR' : 'USERPAYING';
}

/** The `trade_state` of a paid trade. A reversed trade still shows its payment; WeChat Pay does not specify this. */
function paidState(trade: Trade): string {
  if (detailsOf(trade).reversed) return 'REVOKED';
  return refundedMinor(trade) > 0 ? 'REFUND' : 'SUCCESS';
}

/** Builds the JSON of a refund for a response. Amounts are in fen. */
export function describeRefund(trade: Trade, refund: Refund): Record<string, unknown> {
  return {
    ...refundNames(trade, refund),
    channel: 'ORIGINAL',
    user_received_account: receivedBy(refund),
    create_time: beijingTime(refund.at),
    status: REFUND_WORDS[refund.state],
    ...(refund.doneAt === null ? {} : { success_time: beijingTime(refund.doneAt) }),
    amount: { ...refundAmount(trade, refund), ...settledAmount(trade, refund), currency: 'CNY' },
  };
}

/**
 * Builds the JSON of a refund for a notification, in fen. Unlike a response, it has `refund_status` and no currency.
 */
export function describeRefundNotification(trade: Trade, refund: Refund): Record<string, unknown> {
  return {
    ...merchantOf(trade),
    ...refundNames(trade, refund),
    user_received_account: receivedBy(refund),
    refund_status: REFUND_WORDS[refund.state],
    ...(refund.doneAt === null ? {} : { success_time: beijingTime(refund.doneAt) }),
    amount: refundAmount(trade, refund),
  };
}

/** Returns the merchant ids for the notification of a refund. Their field names for a partner are inferred. */
function merchantOf(trade: Trade): Record<string, unknown> {
  const { mchid, subMchid } = detailsOf(trade);
  return subMchid === undefined ? { mchid } : { sp_mchid: mchid, sub_mchid: subMchid };
}

/** The account that received the money (pay.weixin.qq.com, "查询单笔退款", user_received_account). */
function receivedBy({ toMerchant }: Refund): string {
  return toMerchant ? '商户结算银行账户' : '支付用户零钱';
}

/** Returns the event type of the notification of a refund, such as `REFUND.SUCCESS`. */
export function refundEvent({ state }: Refund): string {
  return `REFUND.${REFUND_WORDS[state]}`;
}

/** Formats milliseconds since 1970 as RFC 3339 in UTC+8, whole seconds. */
export function beijingTime(at: number): string {
  return `${new Date(at + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`;
}

function refundNames(trade: Trade, refund: Refund): Record<string, unknown> {
  return {
    refund_id: refund.number,
    out_refund_no: refund.refundNo,
    transaction_id: paymentOf(trade)?.number,
    out_trade_no: trade.orderNo,
  };
}

function paidBy(trade: Trade): number {
  const { merchant, channel } = trade.offers ?? NO_OFFERS;
  return totalOf(trade) - merchant - channel;
}

function totalOf(trade: Trade): number {
  return paymentOf(trade)?.minor ?? trade.minor;
}

/**
 * Returns the amounts that only the response to a refund call contains. A notification does not contain them.
 * `settlement_total` is the amount of the order minus the merchant's own vouchers. `settlement_refund` is the amount of
 * the refund minus the merchant's own vouchers ("申请退款").
 */
function settledAmount(trade: Trade, { minor, offers }: Refund): Record<string, number> {
  const settled = totalOf(trade) - (trade.offers?.merchant ?? 0);
  const discount = offers.merchant + offers.channel;
  return { settlement_total: settled, settlement_refund: minor - offers.merchant, discount_refund: discount };
}

function refundAmount(trade: Trade, { minor, offers }: Refund): Record<string, number> {
  const back = minor - offers.merchant - offers.channel;
  return { total: totalOf(trade), refund: minor, payer_total: paidBy(trade), payer_refund: back };
}

/** How far the fault `clock-skew` moves the timestamp back, in seconds. */
const SKEW = 600;

/** Signs a response with the key that the request names. Applies `fault`, a deliberate error such as `wrong-key`. */
export async function signAnswer(
  core: Core,
  merchant: Merchant,
  requestedSerial: string,
  answer: Answer,
  fault: FaultName | undefined,
): Promise<Answer> {
  const body = fault === 'duplicate-key' ? duplicateFirstKey(answer.body) : answer.body;
  const headers = await signHeaders(core, signingKeyOf(merchant, requestedSerial), body, fault);
  const type: Record<string, string> = body === '' ? {} : { 'Content-Type': 'application/json; charset=utf-8' };
  return { ...answer, body, headers: { ...answer.headers, ...type, ...headers } };
}

/** Encrypts `text` as WeChat Pay does. The faults `bad-tag` and `bad-aad` make the decryption fail. */
export function encrypted(
  text: string,
  associatedData: string,
  apiV3Key: string,
  fault?: FaultName,
): Record<string, string> {
  const key = Buffer.from(apiV3Key);
  const { ciphertext, nonce } = encryptText(text, randomBytes(6).toString('hex'), associatedData, key);
  return {
    algorithm: 'AEAD_AES_256_GCM',
    ciphertext: fault === 'bad-tag' ? withBadTag(ciphertext) : ciphertext,
    associated_data: fault === 'bad-aad' ? `${associatedData}s` : associatedData,
    nonce,
  };
}

function withBadTag(ciphertext: string): string {
  const bytes = Buffer.from(ciphertext, 'base64');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return bytes.toString('base64');
}

/** Returns the content of a response or notification with every amount one fen too high. */
export function withWrongAmount(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const amount = facts.amount as Record<string, unknown> | undefined;
  const wrong = Object.entries(amount ?? {}).map(([name, value]) => [
    name,
    typeof value === 'number' ? value + 1 : value,
  ]);
  return { ...facts, amount: Object.fromEntries(wrong) };
}

/** Returns the HTTP headers with the signature of a body. Applies `fault`, such as `no-signature`. */
export async function signHeaders(
  core: Core,
  key: SigningKey,
  body: string,
  fault: FaultName | undefined,
): Promise<Record<string, string>> {
  if (fault === 'no-signature') return {};
  const timestamp = String(Math.floor(Date.now() / 1000) - (fault === 'clock-skew' ? SKEW : 0));
  const nonce = randomBytes(16).toString('hex');
  const signature = await signRsa(answerText(timestamp, nonce, Buffer.from(body)), keyFor(core, key, fault));
  return {
    'Wechatpay-Timestamp': timestamp,
    'Wechatpay-Nonce': nonce,
    'Wechatpay-Signature': fault === 'signtest' ? SIGNTEST + signature : signature,
    'Wechatpay-Signature-Type': 'WECHATPAY2-SHA256-RSA2048',
    'Wechatpay-Serial': fault === 'unknown-serial' ? randomBytes(20).toString('hex').toUpperCase() : key.serial,
  };
}

function keyFor(core: Core, key: SigningKey, fault: FaultName | undefined): KeyObject {
  return fault === 'wrong-key' ? core.strangerKey : privateKeyOf(key.privateKey);
}
