/** Interprets Alipay's verified responses: to create, query, close, cancel, refund and certificate calls. */
import type { X509Certificate } from 'node:crypto';
import type {
  CloseOutcome,
  OrderRef,
  Outcome,
  PlaceOrder,
  RefundOutcome,
  RefundRef,
  RefusalDoubt,
} from '../../payments/channel.ts';
import { type Money, readMajorText, sameMoney } from '../../money.ts';
import {
  CODE,
  DISCORDANT,
  NOT_EXIST,
  NO_REFUND_TRADE,
  type SignedAnswer,
  TRADE_STATUS,
  type Unknown,
  isBusinessRefusal,
  readEnvelope,
  saysNoProduct,
  unknown,
  unknownRefusal,
} from './reply.ts';
import { type CertificateFile, type Measure, isIssuedBy, leadsTo } from './settings.ts';
import { certSerial, readCertificates } from './signature.ts';

type Content = SignedAnswer['content'];
type RefundFacts = Pick<RefundRef, 'orderNo' | 'amount' | 'refundAmount'>;

/**
 * Reads the response to alipay.trade.query. payments/core compares the amount that Alipay reports with the order.
 * `receivedAt` is used if Alipay reports no time of payment.
 */
export function readQueried(answer: SignedAnswer, order: OrderRef, receivedAt: Date, sellerId = ''): Outcome {
  const { content, code, subCode } = answer;
  if (code !== CODE.ok) {
    if (subCode === NOT_EXIST && code === CODE.business) return { kind: 'absent' };
    return unknownRefusal(answer) ?? rejected(answer);
  }
  if (content.out_trade_no !== order.orderNo) return otherOrder(content);
  if (sellerId !== '' && content.seller_id !== undefined && content.seller_id !== sellerId) {
    return unknown('mismatch', `The trade belongs to seller ${String(content.seller_id)}.`);
  }
  return readTrade(content, content.send_pay_date, receivedAt, order.amount);
}

/**
 * Reads the state of a trade from a response or a notification. A TRADE_CLOSED trade with a time of payment was paid
 * and then refunded in full. A TRADE_CLOSED trade without a time of payment was never paid. If `expected` is given, an
 * unpaid trade with another amount is a mismatch.
 */
export function readTrade(content: Content, paidAt: unknown, receivedAt: Date, expected?: Money): Outcome {
  const { trade_status: word } = content;
  if (typeof word !== 'string') return unknown('unparsable', 'The response has no trade_status.');
  const amount = readMajorText(content.total_amount, 'CNY');
  if (!amount) return unknown('mismatch', `total_amount "${String(content.total_amount)}" is not an amount.`);
  const meaning = TRADE_STATUS.get(word) ?? 'pending';
  const refundedInFull = meaning === 'closed' && hasText(paidAt);
  if (meaning === 'paid' || refundedInFull) {
    const channelNo = content.trade_no;
    if (!hasText(channelNo)) return unknown('unparsable', 'The response has no trade_no.');
    const payer = [content.buyer_user_id, content.buyer_id, content.buyer_open_id].find(hasText);
    const at = readChinaTime(paidAt) ?? receivedAt;
    const refunds = refundedInFull ? { refundsHint: true, refundedTotal: amount.minor } : {};
    return { kind: 'paid', channelNo, amount, at, payer, ...refunds };
  }
  if (expected && !sameMoney(amount, expected)) {
    return unknown('mismatch', `total_amount is ${String(content.total_amount)}.`);
  }
  return { kind: meaning === 'closed' ? 'closed' : 'pending' };
}

/** Reads the response to alipay.trade.close. After a business error the caller queries the order immediately. */
export function readClosed(answer: SignedAnswer, order: OrderRef): CloseOutcome {
  const { content, code, subCode, message } = answer;
  if (code === CODE.ok) return content.out_trade_no === order.orderNo ? { kind: 'closed' } : otherOrder(content);
  if (code === CODE.business && subCode === NOT_EXIST) return { kind: 'absent' };
  return unknownRefusal(answer) ?? { kind: 'refused', code: subCode || code, reason: message };
}

/**
 * Reads the response to alipay.trade.cancel for a payment by payer's code (the code that a payer shows at the till).
 * `action` is `close` if the trade was unpaid, or `refund` if Alipay returned the money. A success without `action`
 * means that the trade does not exist. `retry_flag=Y` means that the same cancel must be sent again.
 */
export function readCancelled(answer: SignedAnswer, order: OrderRef, receivedAt: Date): CloseOutcome {
  const { content, code, subCode, message } = answer;
  if (code !== CODE.ok) {
    if (code === CODE.business && subCode === NOT_EXIST) return { kind: 'absent' };
    return unknownRefusal(answer) ?? { kind: 'refused', code: subCode || code, reason: message };
  }
  const { action, retry_flag: again, trade_no: tradeNo, gmt_refund_pay: refundedAt } = content;
  if (content.out_trade_no !== order.orderNo) return otherOrder(content);
  if (again === 'Y') return unknown('busy', 'The same cancel must be sent again (retry_flag).');
  if (action === 'close') return { kind: 'closed' };
  if (action === undefined || action === '') return { kind: 'absent' };
  if (action !== 'refund') return unknown('unparsable', `action is ${String(action)}.`);
  const at = readChinaTime(refundedAt) ?? receivedAt;
  return { kind: 'closed', returned: { channelNo: hasText(tradeNo) ? tradeNo : null, at } };
}

/**
 * Reads the response to alipay.trade.refund. The refund succeeded only if the response has `fund_change=Y`. Otherwise
 * this call moved no money, but an earlier call with the same refund number may have moved it, so the service queries
 * the refund. If Alipay does not know the refund, the service sends the refund again. A business refusal refuses only
 * this call, not an earlier one, so the service queries the refund twice before it marks the refund as failed.
 * `refund_fee` is the sum of all refunds of the order and not the amount of this refund. It must be at least the amount
 * of this refund and at most the amount of the order.
 */
export function readRefunded(answer: SignedAnswer, refund: RefundFacts, receivedAt: Date): RefundOutcome {
  const { content, code, subCode, message } = answer;
  if (code !== CODE.ok) {
    if (subCode === DISCORDANT) return unknown('mismatch', `${subCode} ${message}`, subCode);
    const unknownResult = unknownRefusal(answer);
    if (unknownResult) return unknownResult;
    return isBusinessRefusal(answer) ? { kind: 'refused', code: subCode, reason: message } : rejected(answer);
  }
  if (content.out_trade_no !== refund.orderNo) return otherOrder(content);
  if (content.fund_change !== 'Y') return unknown('in_progress', 'This call moved no money (fund_change is not Y).');
  const sum = readMajorText(content.refund_fee, 'CNY');
  if (!sum || sum.minor < refund.refundAmount.minor || sum.minor > refund.amount.minor) {
    return unknown('mismatch', `refund_fee is ${String(content.refund_fee)}.`);
  }
  return { kind: 'succeeded', amount: refund.refundAmount, at: readChinaTime(content.gmt_refund_pay) ?? receivedAt };
}

/**
 * Reads the response to a refund query. A success contains Alipay's amount and time (`gmt_refund_pay`, which
 * requests.ts asks for with a query option). A response without a status means that Alipay did not receive the refund,
 * or that the refund failed: the outcome is `absent`, and the same refund number may be sent again. Any status that is
 * not in the documents is pending.
 */
export function readRefundQueried(
  answer: SignedAnswer,
  refund: Pick<RefundRef, 'orderNo' | 'refundNo' | 'amount'>,
  receivedAt: Date,
): RefundOutcome {
  const { content, code, subCode } = answer;
  if (code !== CODE.ok) {
    if (NO_REFUND_TRADE.has(subCode) && code === CODE.business) return { kind: 'absent' };
    return unknownRefusal(answer) ?? rejected(answer);
  }
  const { refund_status: status, refund_amount: written } = content;
  if (isOther(content.out_trade_no, refund.orderNo) || isOther(content.out_request_no, refund.refundNo)) {
    return otherOrder(content);
  }
  if (status === undefined) return { kind: 'absent' };
  if (content.out_trade_no === undefined || content.out_request_no === undefined) return otherOrder(content);
  if (status !== 'REFUND_SUCCESS') return { kind: 'pending' };
  const amount = readMajorText(written, 'CNY');
  if (!amount) return unknown('mismatch', `refund_amount "${String(written)}" is not an amount.`);
  const total = readMajorText(content.total_amount, 'CNY');
  if (content.total_amount !== undefined && (!total || !sameMoney(total, refund.amount))) {
    return unknown('mismatch', `total_amount is ${String(content.total_amount)}.`);
  }
  return { kind: 'succeeded', amount, at: readChinaTime(content.gmt_refund_pay) ?? receivedAt };
}

/**
 * Reads the response to a query about a refund that was not made through this service. The outcome contains the
 * refunded payment (`trade_no`), because an order may have been paid twice. The caller compares the payment and its
 * amount with the order.
 */
export function readRefundLookedUp(
  answer: SignedAnswer,
  refund: Pick<RefundRef, 'orderNo' | 'refundNo' | 'amount'>,
  receivedAt: Date,
): RefundOutcome {
  const { trade_no: channelNo } = answer.content;
  const amount = readMajorText(answer.content.total_amount, 'CNY');
  if (!hasText(channelNo) || !amount) return readRefundQueried(answer, refund, receivedAt);
  const outcome = readRefundQueried(answer, { ...refund, amount }, receivedAt);
  return outcome.kind === 'succeeded' ? { ...outcome, payment: { channelNo, amount } } : outcome;
}

/** Reads a time `yyyy-MM-dd HH:mm:ss` in UTC+8, also with fractions of a second; undefined for any other value. */
export function readChinaTime(text: unknown): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?$/.test(text)) return undefined;
  const at = new Date(`${text.replace(' ', 'T')}+08:00`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

function otherOrder(content: Content): Unknown {
  return unknown('mismatch', `The response is about order ${String(content.out_trade_no)}.`);
}

function rejected({ code, subCode, message }: SignedAnswer) {
  return unknown('rejected', `${code} ${subCode} ${message}`.trim(), subCode);
}

function isOther(named: unknown, ours: string): boolean {
  return named !== undefined && named !== ours;
}

function hasText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/**
 * sub_codes (without the prefix `ACQ.`) of a refused precreate, create or pay call. After one of these codes no trade
 * with this order number can be paid. The codes come from Alipay's Java SDK (API definition of 2026-09-23), without
 * those in `KNOWN_CODES`.
 */
const CODES = `
  ACCESS_FORBIDDEN AGREEMENT_ERROR AGREEMENT_INVALID AGREEMENT_NOT_EXIST AGREEMENT_STATUS_NOT_NORMAL
  AMOUNT_OR_CURRENCY_ERROR APPLY_PC_MERCHANT_CODE_ERROR AUTH_AMOUNT_NOT_ENOUGH AUTH_NO_ERROR
  AUTH_ORDER_HAS_CLOSED AUTH_ORDER_HAS_FINISHED AUTH_ORDER_NOT_PAID AUTH_TOKEN_IS_NOT_EXIST
  BEYOND_PAY_RESTRICTION BEYOND_PER_RECEIPT_DAY_RESTRICTION BEYOND_PER_RECEIPT_RESTRICTION
  BEYOND_PER_RECEIPT_SINGLE_RESTRICTION BIZ_PRODUCT_NOT_ALLOWED BUYER_BALANCE_NOT_ENOUGH
  BUYER_BANKCARD_BALANCE_NOT_ENOUGH BUYER_BANKCARD_DECLINED BUYER_BANKCARD_INVALID BUYER_ENABLE_STATUS_FORBID
  BUYER_LIMIT_EXCEEDED BUYER_NOT_EXIST BUYER_NOT_MAINLAND_CERT BUYER_PAYMENT_AMOUNT_DAY_LIMIT_ERROR
  BUYER_PAYMENT_AMOUNT_MONTH_LIMIT_ERROR BUYER_SELLER_EQUAL BUYER_UNSUPPORT_ADVANCE CARD_TYPE_ERROR
  CARD_USER_NOT_MATCH CERT_EXPIRED CURRENCY_NOT_SUPPORT CUSTOMER_VALIDATE_ERROR CYCLE_PAY_DATE_NOT_MATCH
  CYCLE_PAY_SINGLE_FEE_EXCEED CYCLE_PAY_TOTAL_FEE_EXCEED CYCLE_PAY_TOTAL_TIMES_EXCEED
  DEFAULT_SETTLE_RULE_NOT_EXIST ERROR_BALANCE_PAYMENT_DISABLE ERROR_BUYER_CERTIFY_LEVEL_LIMIT
  ERROR_SELLER_CERTIFY_LEVEL_LIMIT EXIST_FORBIDDEN_WORD ILLEGAL_ARGUMENT INVALID_PARAMETER
  INVALID_RECEIVE_ACCOUNT INVALID_STORE_ID MERCHANT_AGREEMENT_INVALID MERCHANT_AGREEMENT_NOT_EXIST
  MERCHANT_PERM_RECEIPT_DAY_LIMIT MERCHANT_PERM_RECEIPT_SINGLE_LIMIT MERCHANT_PERM_RECEIPT_SUSPEND_LIMIT
  MERCHANT_STATUS_NOT_NORMAL MERCHANT_UNSUPPORT_ADVANCE MOBILE_PAYMENT_SWITCH_OFF NOT_CERTIFIED_USER
  NOT_SUPPORT_PAYMENT_INST NOW_TIME_AFTER_EXPIRE_TIME_ERROR NO_PAYMENT_INSTRUMENTS_AVAILABLE
  OPEN_ID_NOT_TINY_APP ORDER_UNSUPPORT_ADVANCE OVER_DEDUCT_PERIOD OVER_MAX_DEDUCT_COUNT
  OVER_MAX_UNDER_WAY_DEDUCT_COUNT OVER_MERCHANT_DAILY_DEDUCT_AMOUNT PARTNER_ERROR PAYER_UNMATCHED
  PAYMENT_AUTH_CODE_INVALID PAYMENT_FAIL PAYMENT_REQUEST_HAS_RISK
  PLATFORM_BUSINESS_ACQUIRE_MODE_MUST_MERCHANT_ID PRE_AUTH_PROD_CODE_INCONSISTENT PRODUCT_AMOUNT_LIMIT_ERROR
  PRODUCT_NOT_SUPPORT_IN_TINY_APP REQUEST_AMOUNT_EXCEED RESTRICTED_MERCHANT_INDUSTRY RISK_MERCHANT_IP_NOT_EXIST
  ROYALTY_ACCOUNT_NOT_EXIST SECONDARY_MERCHANT_ALIPAY_ACCOUNT_INVALID SECONDARY_MERCHANT_CARD_ALIAS_NO_INVALID
  SECONDARY_MERCHANT_ID_BLANK SECONDARY_MERCHANT_ID_INVALID SECONDARY_MERCHANT_ISV_PUNISH_INDIRECT
  SECONDARY_MERCHANT_NOT_MATCH SECONDARY_MERCHANT_STATUS_ERROR SELLER_BEEN_BLOCKED SELLER_NOT_EXIST
  SMILE_PAY_MERCHANT_NOT_MATCH STORE_INFO_INVALID SUB_GOODS_SIZE_MAX_COUNT SUB_MERCHANT_CREATE_FAIL
  SUB_MERCHANT_TYPE_INVALID TOTAL_FEE_EXCEED UNBOUND_APPLICATION UN_SUPPORT_TRADE_SCENE
  USER_FACE_PAYMENT_SWITCH_OFF USER_LOGONID_DUP ZM_AUTH_AMOUNT_EXCEED ZM_AUTH_RULE_LIMIT ZM_CREDIT_AUTH_FAIL
`;

/**
 * sub_codes of a refused create call. The codes in the first line mean that a trade with this order number exists; the
 * codes in the second line mean that a trade may exist and may still be paid.
 */
const KNOWN_CODES = `
  TRADE_HAS_SUCCESS TRADE_HAS_CLOSE CONTEXT_INCONSISTENT TRADE_BUYER_NOT_MATCH
  TRADE_SETTLE_ERROR TRADE_STATUS_ERROR PULL_MOBILE_CASHIER_FAIL
`;

const subCodes = (codes: string): ReadonlySet<string> =>
  new Set(
    codes
      .trim()
      .split(/\s+/)
      .map((code) => `ACQ.${code}`),
  );
const REFUSED = subCodes(CODES);
const KNOWN = subCodes(KNOWN_CODES);

function isRefusedForGood(subCode: string): boolean {
  return REFUSED.has(subCode);
}

function createDoubt(subCode: string): RefusalDoubt {
  return KNOWN.has(subCode) ? 'trade_may_exist' : 'unlisted';
}

/** Reads the response to alipay.trade.precreate: a pending order with the text of the QR code for the payer. */
export function readCode(answer: SignedAnswer, order: PlaceOrder): Outcome {
  const { content } = answer;
  const refused = refusalOf(answer, order);
  if (refused) return refused;
  if (typeof content.qr_code !== 'string' || content.qr_code === '')
    return unknown('unparsable', 'The response has no qr_code.');
  return { kind: 'pending', pay: { type: 'qr', qrCode: content.qr_code } };
}

/**
 * If the merchant has no contract for the product, adds a hint to test the configuration, because Alipay's message does
 * not name the product.
 */
function reasonOf(answer: SignedAnswer): string {
  if (!saysNoProduct(answer)) return answer.message;
  return `${answer.message} The merchant has no contract with Alipay for the product of this scene; test the configuration to see which product it is.`;
}

/** Reads the response to alipay.trade.create; the mini program passes the trade number to Alipay's `tradePay`. */
export function readCreated(answer: SignedAnswer, order: PlaceOrder): Outcome {
  const refused = refusalOf(answer, order);
  if (refused) return refused;
  const { trade_no: tradeNO } = answer.content;
  if (!hasText(tradeNO)) return unknown('unparsable', 'The response has no trade_no.');
  return { kind: 'pending', pay: { type: 'jsapi', params: { tradeNO } } };
}

/**
 * Reads the response to alipay.trade.pay, a payment by payer's code. Code 10000 means paid; code 10003 means that the
 * payer must still confirm. The outcome contains the amount that Alipay reports, even if it differs from the amount of
 * the order; payments/core compares the two amounts.
 */
export function readPaidByCode(answer: SignedAnswer, order: PlaceOrder, receivedAt: Date): Outcome {
  const { content, code } = answer;
  if (code === CODE.waiting) return content.out_trade_no === order.orderNo ? { kind: 'pending' } : otherOrder(content);
  const refused = refusalOf(answer, order);
  if (refused) return refused;
  const amount = readMajorText(content.total_amount, 'CNY');
  if (!amount) return unknown('mismatch', `total_amount "${String(content.total_amount)}" is not an amount.`);
  const { trade_no: channelNo, gmt_payment: paidAt } = content;
  if (!hasText(channelNo)) return unknown('unparsable', 'The response has no trade_no.');
  const payer = [content.buyer_user_id, content.buyer_open_id].find(hasText);
  return { kind: 'paid', channelNo, amount, at: readChinaTime(paidAt) ?? receivedAt, payer };
}

/**
 * The outcome of a refused create call; undefined if the call succeeded for this order. A refusal is definite (no trade
 * can be paid) only if its code is in `CODES`, or if it comes from the gateway, which refuses a request before a trade
 * is created.
 */
function refusalOf(answer: SignedAnswer, order: PlaceOrder): Outcome | undefined {
  const { content, code, subCode } = answer;
  if (code === '') return unknown('unparsable', 'The response has no code.');
  if (code === CODE.ok) return content.out_trade_no === order.orderNo ? undefined : otherOrder(content);
  const unknownResult = unknownRefusal(answer);
  if (unknownResult && unknownResult.cause !== 'misconfigured') return unknownResult;
  const definite = unknownResult ? subCode.startsWith('isv.') : code === CODE.business && isRefusedForGood(subCode);
  const refused = { kind: 'declined', code: subCode || code, reason: reasonOf(answer), definite } as const;
  return definite ? refused : { ...refused, doubt: createDoubt(subCode) };
}

/**
 * The issuer of Alipay's own certificates. App certificates come from a different authority, "Class 1", below the same
 * root. The names are those in the test certificates of Alipay's Node SDK. The name in the sandbox is said to end with
 * " test".
 */
const ISSUER = /^CN=Ant Financial Certification Authority Class 2\b/m;
/** The subject of Alipay's certificate: Alipay's company name and the merchant id (PID) of the app. */
const HOLDER = /^CN=(支付宝\(中国\)网络技术有限公司-\d{1,32})$/m;

/**
 * Reads the response to `alipay.open.app.alipaycert.download` and returns the PEM text of the certificate with this
 * serial. Throws if the certificate cannot be verified. Alipay may sign this response with the requested key itself, so
 * its signature proves nothing. Instead the certificate is checked: it leads to a pinned root, its issuer issues only
 * Alipay's own certificates, it is valid now, and it has the same subject as a trusted certificate. So an attacker
 * cannot add a certificate.
 */
export function readDownloaded(body: Uint8Array, method: string, serial: string, measure: Measure): string {
  const { text } = readEnvelope(body, method);
  const { code, alipay_cert_content: base64 } = JSON.parse(text) as Record<string, unknown>;
  if (code !== CODE.ok || typeof base64 !== 'string') throw new Error('Alipay refused the certificate download.');
  const file = readCertificates(Buffer.from(base64, 'base64').toString('latin1'));
  const certificate = file.find((one) => certSerial(one) === serial);
  if (!certificate) throw new Error('The downloaded file does not contain the requested certificate.');
  const others = file.filter((one) => one !== certificate);
  const chain = chainOf({ certificate, others }, measure);
  if (!chain) throw new Error("The downloaded certificate is not Alipay's certificate for this app.");
  return [certificate, ...chain].map(String).join('');
}

/**
 * Returns the issuer of a downloaded certificate and the other known certificates of its chain; undefined if the
 * certificate is not Alipay's. The downloaded file may contain only the certificate, so the certificates in trusted
 * files are also used.
 */
function chainOf(
  { certificate, others }: CertificateFile,
  { anchors, trusted, now }: Measure,
): readonly X509Certificate[] | undefined {
  const known = [...others, ...trusted.flatMap((file) => file.others)];
  const holder = holderOf(certificate);
  const isSameHolder = trusted.some(
    (file) => holderOf(file.certificate) === holder && issuersOf(file.certificate, known).length > 0,
  );
  if (holder === undefined || !isSameHolder || !isValid(certificate, now)) return undefined;
  const issuer = issuersOf(certificate, known).find((one) => isValid(one, now) && leadsTo(anchors, one, known));
  return issuer && [issuer, ...known.filter((one) => !one.raw.equals(issuer.raw))];
}

function issuersOf(certificate: X509Certificate, among: readonly X509Certificate[]): X509Certificate[] {
  return among.filter((one) => one.ca && ISSUER.test(one.subject) && isIssuedBy(certificate, one));
}

function holderOf({ subject }: X509Certificate): string | undefined {
  return HOLDER.exec(subject)?.[1];
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  return validFromDate <= now && now < validToDate;
}
