/** Interprets WeChat Pay's responses: to create, query, close, reverse, refund and certificate calls. */
import { X509Certificate, randomBytes } from 'node:crypto';
import type {
  CloseOutcome,
  OrderRef,
  Outcome,
  PayHint,
  PlaceOrder,
  RefundOrder,
  RefundOutcome,
  RefundRef,
  WireAnswer,
} from '../../payments/channel.ts';
import { type Money, sameMoney } from '../../money.ts';
import type { VerifyKey } from '../key-ring.ts';
import {
  type Members,
  REFUND_STATES,
  type Refused,
  type Reply,
  SPENT_CODES,
  TRADE_STATES,
  createDoubt,
  isDefinite,
  objectIn,
  readObject,
  readSigned,
  textIn,
  unknown,
  unknownRefusal,
} from './reply.ts';
import { type Account, appOf, merchantOf, namesOf } from './requests.ts';
import type { Settings } from './settings.ts';
import { answerText, appText, isFresh, jsapiText, openText, plainSerial, signRsa, verifyRsa } from './signature.ts';

/**
 * Reads the response to a payment by payer's code (the code that a payer shows at the till). The order is paid, or it
 * is pending while the payer types the password.
 */
export function readCodePaid(reply: Reply, account: Account, order: OrderRef, receivedAt: Date): Outcome {
  if (reply.kind !== 'refused') return readQueried(reply, account, order, receivedAt);
  if (reply.code === 'USERPAYING') return { kind: 'pending' };
  const refused = readPlaceRefusal(reply);
  const isSpent = reply.signed && SPENT_CODES.has(reply.code);
  if (refused.kind !== 'declined' || !isSpent) return refused;
  const { doubt: _, ...spent } = refused;
  return { ...spent, definite: true };
}

/** A refusal is definite (no trade exists) only if it is signed and its error code rules out a trade. */
function readPlaceRefusal(refused: Refused): Outcome {
  const { code, message, signed } = refused;
  const definite = signed && isDefinite(code, message);
  const unknownResult = unknownRefusal(refused);
  if (unknownResult && !definite && unknownResult.cause !== 'misconfigured') return unknownResult;
  const declined = { kind: 'declined', code: code || 'REFUSED', reason: message, definite } as const;
  return signed && !definite ? { ...declined, doubt: createDoubt(code, message) } : declined;
}

/**
 * Reads the response to a query of an order. The outcome contains the amount that WeChat Pay reports, even if it
 * differs from the amount of the order; payments/core compares the two amounts.
 */
export function readQueried(reply: Reply, account: Account, order: OrderRef, receivedAt: Date): Outcome {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'refused') {
    return isAbsent(reply, 'ORDER_NOT_EXIST') ? { kind: 'absent' } : (unknownRefusal(reply) ?? rejected(reply));
  }
  const { members } = reply;
  const stranger = strangerIn(members, { ...namesOf(account, order), out_trade_no: order.orderNo });
  return stranger ? unknown('mismatch', stranger) : readTrade(members, receivedAt, order.amount);
}

/**
 * Reads the state of a trade from a response or a notification (amounts in fen). If `expected` is given, an unpaid
 * trade with another amount is a mismatch; a paid trade keeps the amount that WeChat Pay reports. `receivedAt` is used
 * if success_time is missing.
 */
export function readTrade(members: Members, receivedAt: Date, expected?: Money): Outcome {
  const meaning = TRADE_STATES.get(textIn(members, 'trade_state')) ?? 'pending';
  const written = objectIn(members, 'amount');
  const amount = readFen(written, 'total');
  if (meaning === 'paid' || meaning === 'refunded') {
    const channelNo = textIn(members, 'transaction_id');
    if (!channelNo || !amount) return unknown('unparsable', 'The paid trade has no transaction_id or amount.total.');
    const payer = readPayer(objectIn(members, 'payer'));
    const at = readTime(members, 'success_time') ?? receivedAt;
    return { kind: 'paid', channelNo, amount, at, payer, ...(meaning === 'refunded' ? { refundsHint: true } : {}) };
  }
  if (meaning === 'revoked') return readRevoked(members, amount, receivedAt);
  if (expected && written.total !== undefined && !(amount && sameMoney(amount, expected))) {
    return unknown('mismatch', `amount.total is ${String(written.total)}.`);
  }
  return { kind: meaning };
}

/**
 * Returns the payer's openid. In partner mode it belongs to the sub-merchant's app (sub_openid), or to the partner's
 * app (sp_openid) if the order has no app of the sub-merchant.
 */
function readPayer(payer: Members): string | undefined {
  return textIn(payer, 'openid') || textIn(payer, 'sub_openid') || textIn(payer, 'sp_openid') || undefined;
}

/**
 * Reads a payment by payer's code after a reverse. WeChat Pay does not document this response. If it has a payment
 * number and an amount, the trade was paid and the money was returned. Otherwise the trade was never paid.
 */
function readRevoked(members: Members, amount: Money | undefined, receivedAt: Date): Outcome {
  const channelNo = textIn(members, 'transaction_id');
  if (!channelNo || !amount) return { kind: 'closed' };
  const at = readTime(members, 'success_time') ?? receivedAt;
  return { kind: 'paid', channelNo, amount, at, refundsHint: true, refundedTotal: amount.minor };
}

/**
 * Reads the response to a reverse (a call that cancels an order and returns a payment that was already made). The
 * response must contain the order number. In partner mode it must also contain the merchant ids of the partner and of
 * the sub-merchant ("撤销", sp_mchid and sub_mchid).
 */
export function readReversed(reply: Reply, account: Account, order: OrderRef): CloseOutcome {
  if (reply.kind !== 'answered') return readClosed(reply);
  const whose = account.sub ? merchantOf(account) : {};
  const stranger = strangerIn(reply.members, { ...whose, out_trade_no: order.orderNo });
  return stranger ? unknown('mismatch', stranger) : { kind: 'closed' };
}

/**
 * Reads the response to a close. HTTP 204, or a signed refusal with the code ORDER_CLOSED, means that the trade is
 * closed. After any other refusal the caller must query the trade.
 */
export function readClosed(reply: Reply): CloseOutcome {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'answered') {
    return reply.status === 204 ? { kind: 'closed' } : unknown('http_status', `HTTP ${reply.status} instead of 204.`);
  }
  const { code, message } = reply;
  if (code === 'ORDER_PAID') return { kind: 'paid' };
  if (code === 'ORDER_CLOSED' && reply.signed) return { kind: 'closed' };
  if (isAbsent(reply, 'ORDER_NOT_EXIST')) return { kind: 'absent' };
  return unknownRefusal(reply) ?? { kind: 'refused', code, reason: message };
}

/** `refundAmount` is absent if the refund was not made through this service. */
type ExpectedRefund = Pick<RefundRef, 'orderNo' | 'refundNo' | 'amount'> & Partial<Pick<RefundRef, 'refundAmount'>>;

/**
 * Reads the response to a refund. WeChat Pay sometimes does not find an existing payment and finds it shortly after, so
 * "not found" is an unknown result. NO_AUTH refuses only this refund ("申请退款": 没有退款权限); it does not mean that the
 * merchant's key is wrong.
 */
export function readRefundMade(reply: Reply, refund: RefundOrder, receivedAt: Date): RefundOutcome {
  if (reply.kind !== 'refused') return readRefunded(reply, refund, receivedAt);
  const { code, message } = reply;
  if (code === 'NO_AUTH') return { kind: 'refused', code, reason: message };
  const isPaid = (refund.paymentNo ?? refund.channelTradeNo) !== null;
  if (isPaid && isAbsent(reply, 'RESOURCE_NOT_EXISTS')) return unknown('in_progress', `${code} ${message}`.trim());
  return readRefunded(reply, refund, receivedAt);
}

/**
 * Reads the response to a refund or to its retry. HTTP 200 means only that WeChat Pay accepted the refund; its result
 * is in `status`.
 */
export function readRefunded(reply: Reply, refund: ExpectedRefund, receivedAt: Date): RefundOutcome {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'answered') return readRefundOf(reply.members, refund, receivedAt);
  return unknownRefusal(reply) ?? { kind: 'refused', code: reply.code, reason: reply.message };
}

/** Reads the response to a refund query. */
export function readRefundQueried(reply: Reply, refund: ExpectedRefund, receivedAt: Date): RefundOutcome {
  if (reply.kind !== 'refused') return readRefunded(reply, refund, receivedAt);
  return isAbsent(reply, 'RESOURCE_NOT_EXISTS') ? { kind: 'absent' } : (unknownRefusal(reply) ?? rejected(reply));
}

/**
 * Reads the response to a query about a refund that was not made through this service. The outcome contains the
 * refunded payment (`transaction_id`), because an order may have been paid twice. The caller compares the payment and
 * its amount with the order.
 */
export function readRefundLookedUp(reply: Reply, refund: ExpectedRefund, receivedAt: Date): RefundOutcome {
  if (reply.kind !== 'answered') return readRefundQueried(reply, refund, receivedAt);
  const channelNo = textIn(reply.members, 'transaction_id');
  const amount = readFen(objectIn(reply.members, 'amount'), 'total');
  if (!channelNo || !amount) return readRefundQueried(reply, refund, receivedAt);
  const outcome = readRefundQueried(reply, { ...refund, amount }, receivedAt);
  return outcome.kind === 'succeeded' ? { ...outcome, payment: { channelNo, amount } } : outcome;
}

/** Values of `user_received_account` for a refund to the merchant's own account (refund query: 退还商户). */
const MERCHANTS_OWN: ReadonlySet<string> = new Set(['商户基本账户', '商户结算银行账户']);

/**
 * Reads the state of a refund from a response (`status`) or a notification (`refund_status`); amounts in fen. If
 * `expected` is given, an unfinished refund with another amount is a mismatch; a finished refund keeps the amount that
 * WeChat Pay reports.
 */
export function readRefund(members: Members, word: string, receivedAt: Date, expected?: Money): RefundOutcome {
  const meaning = REFUND_STATES.get(word) ?? 'pending';
  const channelRefundNo = textIn(members, 'refund_id') || undefined;
  const written = objectIn(members, 'amount');
  const amount = readFen(written, 'refund');
  if (meaning === 'succeeded') {
    if (!amount) return unknown('unparsable', 'The refund has no amount.refund.');
    const toMerchant = MERCHANTS_OWN.has(textIn(members, 'user_received_account'));
    const at = readTime(members, 'success_time') ?? receivedAt;
    return { kind: 'succeeded', amount, at, channelRefundNo, ...(toMerchant ? { toMerchant } : {}) };
  }
  if (expected && !(amount && sameMoney(amount, expected))) {
    return unknown('mismatch', `amount.refund is ${String(written.refund)}.`);
  }
  if (meaning === 'failed')
    return { kind: 'failed', code: word, reason: 'WeChat Pay closed the refund.', channelRefundNo };
  if (meaning === 'abnormal') {
    return {
      kind: 'abnormal',
      code: word,
      reason: 'WeChat Pay could not credit the refund to the payer.',
      channelRefundNo,
    };
  }
  return { kind: 'pending', channelRefundNo };
}

/** Returns a sentence about the first field that differs from `expected`; undefined if all match. */
export function strangerIn(members: Members, expected: Readonly<Record<string, string>>): string | undefined {
  const name = Object.keys(expected).find((key) => members[key] !== expected[key]);
  return name === undefined ? undefined : `${name} is ${String(members[name])}.`;
}

function readRefundOf(members: Members, refund: ExpectedRefund, receivedAt: Date): RefundOutcome {
  const stranger = strangerIn(members, { out_trade_no: refund.orderNo, out_refund_no: refund.refundNo });
  if (stranger) return unknown('mismatch', stranger);
  const written = objectIn(members, 'amount');
  const total = readFen(written, 'total');
  if (!total || !sameMoney(total, refund.amount))
    return unknown('mismatch', `amount.total is ${String(written.total)}.`);
  return readRefund(members, textIn(members, 'status'), receivedAt, refund.refundAmount);
}

/** Reads an amount in fen, which must be a JSON integer. WeChat Pay sometimes omits the currency, which is then CNY. */
function readFen(amount: Members, name: string): Money | undefined {
  const { currency = 'CNY', [name]: fen } = amount;
  if (typeof fen !== 'number' || !Number.isSafeInteger(fen) || fen < 0 || typeof currency !== 'string')
    return undefined;
  return { minor: BigInt(fen), currency };
}

function readTime(members: Members, name: string): Date | undefined {
  const text = textIn(members, name);
  const at = new Date(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : NaN);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** A 404 without the expected code may come from a proxy or a wrong path. */
function isAbsent({ status, code }: Refused, expected: string): boolean {
  return status === 404 && code === expected;
}

function rejected({ status, code, message }: Refused) {
  return unknown('rejected', `HTTP ${status} ${code} ${message}`.trim());
}

/**
 * The time (seconds) that a payer may use an h5_url in this service. WeChat Pay's limit is five minutes ("H5下单"). This
 * limit is one minute shorter, so that the payer has time to open the URL. A repeat of the same create call returns a
 * new URL.
 */
const H5_URL_SECONDS = 240;

/**
 * Reads the response to a create call. After a success the order is pending. The outcome then contains what the payer's
 * app or browser needs to pay, for example a QR code or a URL.
 */
export async function readPlaced(reply: Reply, settings: Settings, order: PlaceOrder, now: Date): Promise<Outcome> {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'refused') return readPlaceRefusal(reply);
  const pay = await payHint(reply.members, settings, order, now);
  if (!pay) return unknown('unparsable', `The response has no payment data for the scene ${order.scene}.`);
  return { kind: 'pending', pay, ...(order.scene === 'h5' ? { paySeconds: H5_URL_SECONDS } : {}) };
}

async function payHint(
  members: Members,
  settings: Settings,
  order: PlaceOrder,
  now: Date,
): Promise<PayHint | undefined> {
  const { scene, returnUrl } = order;
  const [codeUrl, h5Url, prepayId] = ['code_url', 'h5_url', 'prepay_id'].map((name) => textIn(members, name));
  if (scene === 'qr') return codeUrl ? { type: 'qr', qrCode: codeUrl } : undefined;
  if (scene === 'h5') return h5Url ? { type: 'redirect', url: withReturn(h5Url, returnUrl) } : undefined;
  if (!prepayId) return undefined;
  const signed = {
    appId: appOf(settings, order),
    prepayId,
    timestamp: String(Math.floor(now.getTime() / 1000)),
    nonce: randomBytes(16).toString('hex'),
  };
  return scene === 'jsapi' || scene === 'mini'
    ? { type: 'jsapi', params: await jsapiParams(settings, signed) }
    : { type: 'app', params: await appParams(settings, signed) };
}

interface Signed {
  appId: string;
  prepayId: string;
  timestamp: string;
  nonce: string;
}

/** Builds the parameters of `wx.requestPayment` and of `WeixinJSBridge.invoke('getBrandWCPayRequest', …)`. */
async function jsapiParams({ merchantKey }: Settings, { appId, prepayId, timestamp, nonce }: Signed) {
  const paySign = await signRsa(jsapiText(appId, timestamp, nonce, prepayId), merchantKey);
  return { appId, timeStamp: timestamp, nonceStr: nonce, package: `prepay_id=${prepayId}`, signType: 'RSA', paySign };
}

/** In partner mode `partnerid` is the partner's number (wechatpay-java, partnerpayments `AppServiceExtension`). */
async function appParams({ mchid, merchantKey }: Settings, { appId, prepayId, timestamp, nonce }: Signed) {
  const sign = await signRsa(appText(appId, timestamp, nonce, prepayId), merchantKey);
  return {
    appid: appId,
    partnerid: mchid,
    prepayid: prepayId,
    package: 'Sign=WXPay',
    noncestr: nonce,
    timestamp,
    sign,
  };
}

/** Adds `redirect_url` to an h5_url: the page to which WeChat returns the payer. */
function withReturn(h5Url: string, returnUrl: string): string {
  if (!returnUrl) return h5Url;
  return `${h5Url}${h5Url.includes('?') ? '&' : '?'}redirect_url=${encodeURIComponent(returnUrl)}`;
}

/** Thrown if the platform certificates cannot be decrypted, which means that the configured APIv3 key is wrong. */
export class AnswerNotDecrypted extends Error {
  constructor() {
    super('The platform certificates cannot be decrypted with the APIv3 key.');
    this.name = 'AnswerNotDecrypted';
  }
}

/**
 * Returns the certificates of `GET /v3/certificates` as PEM texts, sorted by their end of validity. Expired and
 * distrusted certificates are left out. Throws if one cannot be verified.
 */
export function readCertificatePems(
  answer: WireAnswer,
  settings: Pick<Settings, 'apiV3Key' | 'publicKeyIds' | 'publicKeys' | 'distrustedSerials'>,
  now: Date,
): string[] {
  const keys = readCertificates(answer, settings, now);
  const { data } = readObject(answer.body);
  const opened = (Array.isArray(data) ? data : []).map((item) =>
    openCertificate(objectIn({ item }, 'item'), settings.apiV3Key, now),
  );
  return opened
    .filter(({ serial }) => keys.has(plainSerial(serial)) && !settings.distrustedSerials.has(plainSerial(serial)))
    .toSorted((one, other) => one.until.getTime() - other.until.getTime())
    .map(({ pem }) => pem);
}

/**
 * Reads the response to `GET /v3/certificates`: the verification keys by serial. Throws if a certificate cannot be
 * verified. The certificates are encrypted with the APIv3 key, which proves that they are genuine. One of them or a
 * WeChat Pay public key verifies the response, so the first download needs no stored key.
 */
export function readCertificates(
  answer: WireAnswer,
  { apiV3Key, publicKeyIds, publicKeys }: Pick<Settings, 'apiV3Key' | 'publicKeyIds' | 'publicKeys'>,
  now: Date,
): Map<string, VerifyKey> {
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
  const keys = new Map<string, VerifyKey>();
  const { data } = readObject(answer.body);
  for (const item of Array.isArray(data) ? data : []) {
    const { serial, key, since, valid } = openCertificate(objectIn({ item }, 'item'), apiV3Key, now);
    if (valid) keys.set(plainSerial(serial), { key, certId: null, since });
  }
  const keysFor = (serial: string): readonly VerifyKey[] => {
    const key = keys.get(plainSerial(serial));
    if (key) return [key];
    return publicKeyIds.some((id) => plainSerial(id) === plainSerial(serial)) ? publicKeys : [];
  };
  if (!isSigned(answer, keysFor, now)) throw new Error('The response is not signed with a known certificate or key.');
  return keys;
}

function openCertificate(item: Members, apiV3Key: Buffer, now: Date) {
  const certificate = new X509Certificate(open(objectIn(item, 'encrypt_certificate'), apiV3Key));
  const serial = certificate.serialNumber;
  if (plainSerial(serial) !== plainSerial(textIn(item, 'serial_no')))
    throw new Error('serial_no does not match the certificate in the response.');
  const key = certificate.publicKey;
  const strong = key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
  const valid = strong && certificate.validFromDate <= now && now < certificate.validToDate;
  const { validFromDate: since, validToDate: until } = certificate;
  return { serial, key, since, until, valid, pem: certificate.toString() };
}

function open(encrypted: Members, apiV3Key: Buffer): string {
  const [ciphertext, nonce, associatedData] = ['ciphertext', 'nonce', 'associated_data'].map((name) =>
    textIn(encrypted, name),
  );
  try {
    return openText(
      { ciphertext: ciphertext ?? '', nonce: nonce ?? '', associatedData: associatedData ?? '' },
      apiV3Key,
    );
  } catch {
    throw new AnswerNotDecrypted();
  }
}

function isSigned(
  { headers, body }: WireAnswer,
  keysFor: (serial: string) => readonly VerifyKey[],
  now: Date,
): boolean {
  const signed = readSigned(headers);
  if (!signed || !isFresh(signed.timestamp, now)) return false;
  const text = answerText(signed.timestamp, signed.nonce, body);
  return keysFor(signed.serial).some(({ key }) => verifyRsa(text, signed.signature, key));
}
