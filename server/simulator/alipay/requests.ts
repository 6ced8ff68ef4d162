/** Reads and checks the requests to Alipay's gateway. Finds the trade that a request names. */
import { verifyRsa2 } from '../../channels/alipay/signature.ts';
import { readMajorText } from '../../money.ts';
import type { Core } from '../channel-simulator.ts';
import type { Part } from '../requests.ts';
import { NO_OFFERS, type Payment, type Trade, majorOf, paymentOf } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import type { AlipayAccount } from './account.ts';
import { AlipayRefusal, type Charset, charsetOf, chinaTime, decode, readChinaTime, refused } from './answers.ts';

/** A form before its charset is decoded. `repeated` has the names of parameters that were sent more than once. */
interface RawForm {
  values: Map<string, Buffer>;
  repeated: string[];
}

/** Parses form text (query or body) into raw bytes, without decoding a charset, and adds them to `form`. */
export function readForm(text: string, form: RawForm = { values: new Map(), repeated: [] }): RawForm {
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const name = percentDecode(pair.slice(0, end)).toString('latin1');
    if (form.values.has(name)) form.repeated.push(name);
    form.values.set(name, percentDecode(pair.slice(end + 1)));
  }
  return form;
}

/** Returns the bytes that the signature covers: every raw value that is not empty, except `sign`, sorted by name. */
export function signedBytes({ values }: RawForm): Buffer {
  const names = [...values.keys()].filter((name) => name !== 'sign' && values.get(name)!.length > 0).toSorted();
  const parts = names.map((name) => `${name}=${values.get(name)!.toString('latin1')}`);
  return Buffer.from(parts.join('&'), 'latin1');
}

/** Encodes bytes as a form value. */
export function formEncode(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[^A-Za-z0-9*\-._ ]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
    .replaceAll(' ', '+');
}

function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1, length += 1) {
    const byte = bytes[at]!;
    // The two hexadecimal digits after a percent sign give a byte. If a digit is invalid or missing, the result is NaN,
    // and the percent sign is copied unchanged.
    const escaped = byte === PERCENT ? digitOf(bytes[at + 1]) * 16 + digitOf(bytes[at + 2]) : NaN;
    if (escaped >= 0) at += 2;
    bytes[length] = escaped >= 0 ? escaped : byte === PLUS ? BLANK : byte;
  }
  return bytes.subarray(0, length);
}

const PERCENT = '%'.charCodeAt(0);
const PLUS = '+'.charCodeAt(0);
const BLANK = ' '.charCodeAt(0);
/** The value of each hexadecimal digit by its character code; NaN for other characters. */
const DIGITS = Array.from({ length: 256 }, (_, code) => {
  const sign = String.fromCharCode(code);
  return /[0-9A-Fa-f]/.test(sign) ? Number.parseInt(sign, 16) : NaN;
});

function digitOf(code: number | undefined): number {
  return code === undefined ? NaN : DIGITS[code]!;
}

/** The allowed difference between a request's timestamp and real time. */
const WINDOW_MS = 15 * 60_000;

/** A request with a verified signature. */
export interface AlipayRequest {
  account: AlipayAccount;
  /** The merchants for which the request may act. */
  sellers: readonly string[];
  method: string;
  charset: Charset;
  certificateMode: boolean;
  notifyUrl: string | null;
  returnUrl: string | null;
  content: Readonly<Record<string, unknown>>;
  /** The files of a multipart form; the signature does not cover them. */
  files: readonly Part[];
}

/** A parsed, unchecked request. */
export interface RawRequest {
  form: RawForm;
  method: string;
  files: readonly Part[];
}

/**
 * Reads the parameters from the query and the body. `charset` may be in both, because Alipay's own PHP and .NET clients
 * send it twice; other duplicates are refused later.
 */
export function readRequest(query: string, body: string | readonly Part[]): RawRequest {
  if (typeof body !== 'string') return readUpload(query, body);
  const form = readForm(query);
  const inQuery = form.values.get('charset');
  const inBoth = readForm(body, form).values.get('charset');
  const isInBoth = inQuery !== undefined && inBoth !== inQuery && inBoth?.equals(inQuery);
  if (isInBoth) form.repeated.splice(form.repeated.indexOf('charset'), 1);
  return { form, method: text(form, 'method'), files: [] };
}

function readUpload(query: string, parts: readonly Part[]): RawRequest {
  const form = readForm(query);
  for (const { name, bytes } of parts.filter(({ fileName }) => fileName === undefined)) {
    if (form.values.has(name)) form.repeated.push(name);
    form.values.set(name, bytes);
  }
  return { form, method: text(form, 'method'), files: parts.filter(({ fileName }) => fileName !== undefined) };
}

/**
 * Checks a request as Alipay's gateway does. Throws AlipayRefusal. With `checkTime: false` the timestamp is not
 * checked: the payer may open a payment URL long after it was signed.
 */
export function checkRequest(
  { form, method, files }: RawRequest,
  accountOf: (appId: string) => AlipayAccount | undefined,
  methods: ReadonlySet<string>,
  { checkTime }: { checkTime: boolean },
): AlipayRequest {
  checkCommon(form, methods, files.length > 0);
  const account = accountOf(text(form, 'app_id'));
  if (account === undefined) throw new AlipayRefusal('40002', 'isv.invalid-app-id', 'The AppID is invalid.', false);
  if (checkTime) checkTimestamp(text(form, 'timestamp'));
  const certificateMode = checkSerials(form, account);
  if (!verifyRsa2(signedBytes(form), text(form, 'sign'), account.appPublicKey)) {
    throw new AlipayRefusal(
      '40002',
      'isv.invalid-signature',
      'The signature does not match; check the signed text and the app key.',
    );
  }
  const charset = charsetOf(text(form, 'charset')) ?? 'utf-8';
  return {
    account,
    sellers: sellersFor(account, text(form, 'app_auth_token')),
    method,
    charset,
    certificateMode,
    notifyUrl: addressOf(form, 'notify_url'),
    returnUrl: addressOf(form, 'return_url'),
    content: files.length > 0 ? {} : contentOf(decode(form.values.get('biz_content') ?? Buffer.alloc(0), charset)),
    files,
  };
}

/** Returns the merchant that issued the `app_auth_token`; without a token, the app's own merchants. */
function sellersFor({ sellers, authorised }: AlipayAccount, token: string): readonly string[] {
  if (token === '') return sellers;
  const seller = authorised.get(token);
  if (seller !== undefined) return [seller];
  throw new AlipayRefusal('20001', 'aop.invalid-app-auth-token', 'The app_auth_token is invalid.');
}

/** The method whose `version` is optional, because Alipay's own PHP client does not send it. */
const DOWNLOAD = 'alipay.open.app.alipaycert.download';

function checkCommon(form: RawForm, methods: ReadonlySet<string>, isUpload: boolean): void {
  if (form.repeated.length > 0) {
    throw new AlipayRefusal('40002', 'isv.invalid-parameter', `${form.repeated[0]} occurs twice.`, false);
  }
  const mayLackVersion = text(form, 'method') === DOWNLOAD && !form.values.has('version');
  const required = [
    ['app_id', 'isv.missing-app-id'],
    ['method', 'isv.missing-method'],
    ['sign_type', 'isv.missing-signature-type'],
    ['sign', 'isv.missing-signature'],
    ['timestamp', 'isv.missing-timestamp'],
    ['version', 'isv.missing-version'],
    ['charset', 'isv.missing-charset'],
    // An upload has no biz_content.
    ...(isUpload ? [] : [['biz_content', 'isv.missing-biz-content'] as const]),
  ] as const;
  for (const [name, subCode] of required) {
    if (name === 'version' && mayLackVersion) continue;
    if (text(form, name) === '') throw new AlipayRefusal('40001', subCode, `${name} is missing.`, false);
  }
  const allowed = (name: string, good: boolean, subCode: string) => {
    if (!good) throw new AlipayRefusal('40002', subCode, `${name} is invalid.`, false);
  };
  allowed('sign_type', text(form, 'sign_type') === 'RSA2', 'isv.invalid-signature-type');
  allowed('format', ['', 'JSON', 'json'].includes(text(form, 'format')), 'isv.invalid-format');
  allowed('version', mayLackVersion || text(form, 'version') === '1.0', 'isv.invalid-version');
  allowed('charset', charsetOf(text(form, 'charset')) !== undefined, 'isv.invalid-charset');
  allowed('method', methods.has(text(form, 'method')), 'isv.invalid-method');
}

/** Compares the signature timestamp with real time; the simulated clock is used only for events at the channel. */
function checkTimestamp(timestamp: string): void {
  const at = readChinaTime(timestamp);
  if (at === undefined || Math.abs(at - Date.now()) > WINDOW_MS) {
    throw new AlipayRefusal(
      '40002',
      'isv.invalid-timestamp',
      'timestamp must be a time in UTC+8 within 15 minutes of the current time.',
      false,
    );
  }
}

/** A request with app_cert_sn or alipay_root_cert_sn uses certificate mode; then both must be correct. */
function checkSerials(form: RawForm, account: AlipayAccount): boolean {
  const app = text(form, 'app_cert_sn');
  const root = text(form, 'alipay_root_cert_sn');
  if (app === '' && root === '') return false;
  if (app !== account.appCertSerial)
    throw new AlipayRefusal('40002', 'isv.invalid-app-cert-sn', 'app_cert_sn does not belong to this app.');
  if (root !== account.rootCertSerial) {
    throw new AlipayRefusal(
      '40002',
      'isv.invalid-alipay-root-cert-sn',
      'alipay_root_cert_sn does not match the root certificate file.',
    );
  }
  return true;
}

/** Drops empty fields, because clients send every field of their models (smartwalle/alipay, trade_type.go). */
function contentOf(json: string): Record<string, unknown> {
  try {
    const content: unknown = JSON.parse(json, (_name, value: unknown) => (isEmpty(value) ? undefined : value));
    if (typeof content === 'object' && content !== null && !Array.isArray(content))
      return content as Record<string, unknown>;
  } catch {
    // The refusal below covers invalid JSON and anything but an object.
  }
  throw new AlipayRefusal('40002', 'isv.invalid-parameter', 'biz_content is not a JSON object.');
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === null;
}

function addressOf(form: RawForm, name: string): string | null {
  const url = text(form, name);
  if (url === '') return null;
  if (url.length > 256 || !/^https?:\/\//.test(url)) {
    throw new AlipayRefusal(
      '40002',
      'isv.invalid-parameter',
      `${name} must be an http(s) address of at most 256 characters.`,
    );
  }
  return url;
}

function text({ values }: RawForm, name: string): string {
  return values.get(name)?.toString('utf8') ?? '';
}

/**
 * Whether the trade exists at Alipay. Before the payer scans the code or logs in, query and close return "not exist",
 * although the payer can still pay.
 */
export function exists(trade: Trade | undefined): trade is Trade {
  return trade !== undefined && trade.state !== 'offered' && trade.details['scanned'] === true;
}

/** Returns Alipay's trade number, which is assigned when the trade is created. */
export function tradeNoOf(trade: Trade): string {
  return String(trade.details['tradeNo']);
}

/** Returns the merchant that receives the money of the trade; `sellerId` is the default. */
export function sellerOf(trade: Trade, { sellerId }: { sellerId: string }): string {
  return String(trade.details['sellerId'] ?? sellerId);
}

/** A new unique trade number: the day, `22` and 18 random digits. */
export function newTradeNo(core: Core): string {
  const day = chinaTime(core.clock.now()).slice(0, 10).replaceAll('-', '');
  return core.trades.newNumber(() => `${day}22${randomDigits(18)}`);
}

/** The sum of the succeeded refunds, in minor units; `refund_fee` is always this sum. */
export function refundedSum(trade: Trade): number {
  return trade.refunds.filter((refund) => refund.state === 'succeeded').reduce((sum, refund) => sum + refund.minor, 0);
}

/** How long after its payment a trade accepts refunds. After that the trade is TRADE_FINISHED. */
const REFUND_WINDOW_MS = 365 * 86_400_000;

/**
 * Returns Alipay's status of a trade. TRADE_CLOSED: the trade was closed before a payment, or it was refunded in full.
 * TRADE_FINISHED: the trade can no longer be refunded.
 */
export function tradeStatus(trade: Trade, now: number): string {
  const payment = paymentOf(trade);
  if (payment === undefined) return trade.state === 'closed' ? 'TRADE_CLOSED' : 'WAIT_BUYER_PAY';
  if (refundedSum(trade) >= payment.minor) return 'TRADE_CLOSED';
  return now - payment.at > REFUND_WINDOW_MS ? 'TRADE_FINISHED' : 'TRADE_SUCCESS';
}

/** Reads an amount in yuan (0.01–100000000, two places) into fen; throws AlipayRefusal for any other value. */
export function readYuan(value: unknown, name: string): number {
  const text = typeof value === 'number' ? String(value) : value;
  const money = typeof text === 'string' && /^\d+(\.\d{1,2})?$/.test(text) ? readMajorText(text, 'CNY') : undefined;
  if (money === undefined || money.minor < 1n || money.minor > 10_000_000_000n)
    throw refused('INVALID_PARAMETER', `${name} is invalid.`);
  return Number(money.minor);
}

/** Reads a text field that matches `pattern`; throws AlipayRefusal for any other value. */
export function readText(value: unknown, name: string, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw refused('INVALID_PARAMETER', `${name} is invalid.`);
  return value;
}

/** Returns the order number that a request names by `out_trade_no` or `trade_no`; undefined = unknown trade. */
export function orderNoIn(core: Core, { account, content }: AlipayRequest): string | undefined {
  const { out_trade_no: orderNo, trade_no: number } = content;
  if (typeof orderNo === 'string') return orderNo;
  return typeof number === 'string' ? tradeByNumber(core, account.name, number)?.orderNo : undefined;
}

function tradeByNumber(core: Core, account: string, number: string): Trade | undefined {
  return [...core.ledger.trades.values()].find(
    (trade) => trade.payWay === 'alipay' && trade.account === account && tradeNoOf(trade) === number,
  );
}

/** Finds the trade of a request. `trade_no` takes precedence over `out_trade_no` (reference: alipay.trade.refund). */
export function named(core: Core, { account, content }: AlipayRequest): Trade | undefined {
  const filter = { payWay: 'alipay', account: account.name } as const;
  if (content['trade_no'] === undefined)
    return core.trades.find(readText(content['out_trade_no'], 'out_trade_no', /^\w{1,64}$/), filter);
  return tradeByNumber(core, account.name, readText(content['trade_no'], 'trade_no', /^\d{1,64}$/));
}

/** The amounts that the merchant receives and the payer pays, in yuan (reference of alipay.trade.query). */
export function receivedOf(trade: Trade, { minor }: Payment): Record<'receipt_amount' | 'buyer_pay_amount', string> {
  const { merchant, channel } = trade.offers ?? NO_OFFERS;
  return {
    receipt_amount: yuan(trade, minor - merchant),
    buyer_pay_amount: yuan(trade, minor - merchant - channel),
  };
}

/** Formats an amount of the trade in yuan. */
export function yuan(trade: Trade, minor: number): string {
  return majorOf(trade, minor);
}
