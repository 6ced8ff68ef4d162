/**
 * Signs a request, sends it to one of WeChat Pay's two hosts, and verifies the response. Also interprets the trade
 * states and error codes that responses contain.
 */
import { randomBytes } from 'node:crypto';
import {
  type Download,
  type FetchBudget,
  type RefusalDoubt,
  type Transport,
  TransportFailed,
  type UnknownCause,
  type WireAnswer,
  type WireFile,
} from '../../payments/channel.ts';
import { type VerifyKey, createKeyRing } from '../key-ring.ts';
import { hasUniqueMembers } from '../unique-members.ts';
import type { Call } from './requests.ts';
import type { Settings } from './settings.ts';
import { answerText, isFresh, plainSerial, requestText, signRsa, verifyRsa, writeAuthorization } from './signature.ts';

/** The time that the spare host is used before the first host is tried again. */
const SPARE_MS = 5 * 60_000;

interface AccessPoint {
  current(): string;
  /** Reports a failed request to the host `base`. The host is changed only if there was no response. */
  failed(base: string, error: unknown): void;
}

/**
 * Selects the host of each request. If the first host does not respond, the next requests go to the spare host for five
 * minutes. If the spare host does not respond either, they go to the first host again. A failed request is not repeated
 * here: the caller gets an unknown result and repeats the request or queries.
 */
function createAccessPoint({ base, spareBase }: Settings, now: () => Date): AccessPoint {
  let spareUntil = -Infinity;
  return {
    current: () => (spareBase !== undefined && now().getTime() < spareUntil ? spareBase : base),
    failed(tried, error) {
      const isUnanswered = error instanceof TransportFailed && error.why !== 'too_large';
      if (isUnanswered) spareUntil = tried === base ? now().getTime() + SPARE_MS : -Infinity;
    },
  };
}

/** Thrown if the bytes are not one JSON object with unique field names. `why` is a stable error code. */
export class UnreadableJson extends Error {
  readonly why: Extract<UnknownCause, 'unparsable' | 'duplicate_key'>;
  constructor(why: UnreadableJson['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableJson';
    this.why = why;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export type Members = Readonly<Record<string, unknown>>;

/** Parses UTF-8 bytes as one JSON object. Throws UnreadableJson, also for a duplicate field name. */
export function readObject(bytes: Buffer | string): Members {
  const { value, text } = parse(bytes);
  if (!isObject(value)) throw new UnreadableJson('unparsable', 'The content is not a JSON object.');
  if (!hasUniqueMembers(text, value)) throw new UnreadableJson('duplicate_key', 'Duplicate member name.');
  return value;
}

/** Returns the object in a field; an empty object if the value is not an object. */
export function objectIn(members: Members, name: string): Members {
  const value = members[name];
  return isObject(value) ? value : {};
}

/** Returns the text in a field; an empty text if the value is not a string. */
export function textIn(members: Members, name: string): string {
  const value = members[name];
  return typeof value === 'string' ? value : '';
}

function parse(bytes: Buffer | string): { value: unknown; text: string } {
  try {
    const text = typeof bytes === 'string' ? bytes : utf8.decode(bytes);
    return { value: JSON.parse(text), text };
  } catch {
    throw new UnreadableJson('unparsable', `The content (${bytes.length} bytes) is not UTF-8 JSON.`);
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The meaning of WeChat Pay's `trade_state`. Any other state counts as pending. */
export const TRADE_STATES: ReadonlyMap<string, 'pending' | 'paid' | 'refunded' | 'closed' | 'revoked'> = new Map([
  ['NOTPAY', 'pending'],
  ['USERPAYING', 'pending'],
  ['ACCEPT', 'pending'],
  ['PAYERROR', 'pending'],
  ['SUCCESS', 'paid'],
  /** The trade was paid and then refunded in full or in part. */
  ['REFUND', 'refunded'],
  ['CLOSED', 'closed'],
  /** A payment by payer's code that was reversed. It may have been paid before. */
  ['REVOKED', 'revoked'],
]);

/** The meaning of WeChat Pay's refund `status`. Any other status counts as pending. */
export const REFUND_STATES: ReadonlyMap<string, 'pending' | 'succeeded' | 'failed' | 'abnormal'> = new Map([
  ['PROCESSING', 'pending'],
  ['SUCCESS', 'succeeded'],
  ['CLOSED', 'failed'],
  ['ABNORMAL', 'abnormal'],
]);

/** Error codes of a refused create call that mean that no trade exists. */
const DEFINITE_CODES: ReadonlySet<string> = new Set([
  'PARAM_ERROR',
  'INVALID_REQUEST',
  'NO_AUTH',
  'APPID_MCHID_NOT_MATCH',
  'RULE_LIMIT',
  'MCH_NOT_EXISTS',
  'ACCOUNT_ERROR',
  'USER_ACCOUNT_ABNORMAL',
  'REQUEST_BLOCKED',
]);

/**
 * Whether a refusal means that no trade exists. INVALID_REQUEST can also mean that the order number already has a trade
 * ("201 商户订单号重复"), so the message is checked too.
 */
export function isDefinite(code: string, message: string): boolean {
  return DEFINITE_CODES.has(code) && !isRepeated(message);
}

/** Error codes of a refused create call that mean that a trade with this order number exists or may exist. */
const KNOWN_CODES: ReadonlySet<string> = new Set(['ORDER_PAID', 'ORDER_CLOSED', 'OUT_TRADE_NO_USED', 'TRADE_ERROR']);

/**
 * A signed refusal of a create call does not always prove that WeChat Pay has no trade for the order. Returns the
 * reason for this doubt. `trade_may_exist`: the error code or the message indicates a trade. `unlisted`: this service
 * does not know the error code.
 */
export function createDoubt(code: string, message: string): RefusalDoubt {
  return KNOWN_CODES.has(code) || isRepeated(message) ? 'trade_may_exist' : 'unlisted';
}

function isRepeated(message: string): boolean {
  return message.includes('重复');
}

/**
 * Error codes that refuse a payer's code permanently. The payer needs a new code or another card, and the merchant
 * needs a new order.
 */
export const SPENT_CODES: ReadonlySet<string> = new Set([
  'AUTH_CODE_EXPIRE',
  'AUTH_CODE_ERROR',
  'AUTH_CODE_INVALID',
  'NOT_ENOUGH',
  'NOT_SUPPORT_CARD',
  'BUYER_MISMATCH',
]);

/** Error codes that mean that the merchant's key or permission is wrong. They say nothing about the order. */
const CREDENTIAL_CODES: ReadonlySet<string> = new Set([
  'SIGN_ERROR',
  'NO_AUTH',
  'MCH_NOT_EXISTS',
  'APPID_MCHID_NOT_MATCH',
]);

/** Error codes that mean that calls are too frequent. The call must be repeated later. */
const BUSY_CODES: ReadonlySet<string> = new Set(['FREQUENCY_LIMITED', 'RATELIMIT_EXCEEDED', 'FREQUENCY_LIMIT_EXCEED']);

const DOCUMENTED = `PARAM_ERROR INVALID_REQUEST APPID_MCHID_NOT_MATCH ORDER_CLOSED ORDER_PAID SIGN_ERROR NO_AUTH
  OUT_TRADE_NO_USED RULE_LIMIT TRADE_ERROR NOT_ENOUGH ACCOUNT_ERROR USER_ACCOUNT_ABNORMAL REQUEST_BLOCKED ORDER_NOT_EXIST
  AUTH_CODE_EXPIRE AUTH_CODE_ERROR AUTH_CODE_INVALID NOT_SUPPORT_CARD BUYER_MISMATCH
  RESOURCE_NOT_EXISTS MCH_NOT_EXISTS FREQUENCY_LIMITED FREQUENCY_LIMIT_EXCEED RATELIMIT_EXCEEDED SYSTEM_ERROR BANK_ERROR`;

/** Maps error codes without `_` to the documented spelling, because WeChat Pay omits `_` in some responses. */
const OLD_SPELLINGS: ReadonlyMap<string, string> = new Map(
  DOCUMENTED.split(/\s+/).map((code) => [code.replaceAll('_', ''), code]),
);

/** Converts a spelling such as ORDERPAID to ORDER_PAID; an unknown code is returned unchanged. */
function readCode(code: string): string {
  return OLD_SPELLINGS.get(code.replaceAll('_', '')) ?? code;
}

/** The result of a call whose outcome is unknown, because no usable response was received. */
export interface Unknown {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
  refusal?: { code: string; reason: string };
}

/** A refusal; its code is in the documented spelling. A refusal without a signature may be forged. */
export interface Refused {
  kind: 'refused';
  status: number;
  code: string;
  message: string;
  signed: boolean;
}

/**
 * The result of a call: the fields of a verified 2xx response, a refusal, or an unknown outcome. HTTP 204 gives no
 * fields. HTTP 202 means that a payment by payer's code is in progress. If the 202 response does not contain the trade,
 * the outcome is unknown.
 */
export type Reply = { kind: 'answered'; status: number; members: Members } | Refused | Unknown;

/**
 * Reads a response. After a redirect or HTTP 5xx the outcome of the call is unknown. A 2xx response must have a valid
 * signature. A 4xx response may be unsigned; if it has a signature, the signature must be valid.
 */
async function readReply(answer: WireAnswer, judge: Judge): Promise<Reply> {
  const { status } = answer;
  if (status >= 300 && status < 400) return unknown('redirected', `HTTP ${status}`);
  if (status >= 400 && status < 500) return readRefusal(answer, judge);
  if (status < 200 || status >= 500) return unknown('http_status', `HTTP ${status}${codeOf(answer)}`);
  const { doubt } = await judge(answer.headers, answer.body);
  if (doubt)
    return isReadable(answer)
      ? unknown(doubt.cause, doubt.detail)
      : unknown('unparsable', `HTTP ${status} without JSON.`);
  if (status === 202) return readUnfinished(answer);
  if (status !== 200 && status !== 204) return unknown('http_status', `HTTP ${status}`);
  return readMembers(answer);
}

/** Merchants report that a payment by payer's code returns 202 with the trade while the payer types the password. */
function readUnfinished(answer: WireAnswer): Reply {
  const again = unknown('in_progress', 'HTTP 202: the same request must be repeated.');
  if (answer.body.length === 0) return again;
  const reply = readMembers(answer);
  return reply.kind === 'answered' && textIn(reply.members, 'trade_state') === '' ? again : reply;
}

/** Any error other than TransportFailed is a fault of this service; its cause is set to `network`. */
function unknownFrom(error: unknown): Unknown {
  if (error instanceof TransportFailed) return unknown(error.why, error.message);
  return unknown('network', error instanceof Error ? error.message : 'The request failed.');
}

/** Builds the result of a call whose outcome is unknown. */
export function unknown(cause: UnknownCause, detail: string): Unknown {
  return { kind: 'unknown', cause, detail };
}

/**
 * Converts a refusal to an unknown result if it says nothing about the trade: too many calls, a wrong clock, a wrong
 * key, or no error code. Returns undefined for any other refusal.
 */
export function unknownRefusal({ status, code, message, signed }: Refused): Unknown | undefined {
  const detail = `HTTP ${status} ${code} ${message}`.trim();
  if (status === 429 || BUSY_CODES.has(code)) return unknown('busy', detail);
  if (status === 401) return unknown(isAboutTime(message) ? 'clock_skew' : 'misconfigured', detail);
  if (CREDENTIAL_CODES.has(code))
    return { ...unknown('misconfigured', detail), ...(signed ? { refusal: { code, reason: message } } : {}) };
  // Every refusal of the API has a code. A refusal without a code comes from a proxy, or from a wrong path or method.
  return code === '' ? unknown('http_status', detail) : undefined;
}

/** Whether the message of a refusal is about the timestamp of the request. */
export function isAboutTime(message: string): boolean {
  return /timestamp|时间/i.test(message);
}

async function readRefusal(answer: WireAnswer, judge: Judge): Promise<Reply> {
  const { status } = answer;
  const { doubt } = await judge(answer.headers, answer.body);
  if (doubt && doubt.cause !== 'unsigned') return unknown(doubt.cause, doubt.detail);
  const members = membersOf(answer);
  const code = members ? readCode(textIn(members, 'code')) : '';
  return { kind: 'refused', status, code, message: members ? textIn(members, 'message') : '', signed: !doubt };
}

function readMembers(answer: WireAnswer): Reply {
  try {
    const members = answer.status === 204 ? {} : readObject(answer.body);
    return { kind: 'answered', status: answer.status, members };
  } catch (error) {
    if (error instanceof UnreadableJson) return unknown(error.why, error.message);
    throw error;
  }
}

function isReadable(answer: WireAnswer): boolean {
  return answer.body.length === 0 || membersOf(answer) !== undefined;
}

function membersOf({ body }: WireAnswer): Members | undefined {
  try {
    return readObject(body);
  } catch {
    return undefined;
  }
}

function codeOf(answer: WireAnswer): string {
  const members = membersOf(answer);
  return members ? ` ${readCode(textIn(members, 'code'))}` : '';
}

/** Sends a call and reads its response. Never throws; an error becomes an unknown result. */
export type Ask = (call: Call) => Promise<Reply>;

/** Signs and sends a call. Returns the response without verifying or parsing it. Throws TransportFailed. */
export type SendSigned = (call: Call) => Promise<WireAnswer>;

/** Downloads a file with a signed request. Throws TransportFailed. */
export type DownloadSigned = (url: URL) => Promise<WireFile>;

/** Creates the signed download of a file. The caller must first check that the URL leads to WeChat Pay. */
export function createDownloader(settings: Settings, download: Download, now: () => Date): DownloadSigned {
  return async (url) => {
    const about = { call: 'bill file' };
    const authorization = await authorize(settings, { method: 'GET', target: url.pathname + url.search, about }, now());
    const headers = { accept: '*/*', 'user-agent': 'unified-payment-service', authorization };
    return download({ method: 'GET', url: url.href, headers, about });
  };
}

/** Creates the function that signs and sends a call. The signature does not cover the host. */
export function createSender(settings: Settings, send: Transport, now: () => Date): SendSigned {
  const { publicKeyIds, base } = settings;
  const root = new URL(base).pathname.replace(/\/$/, '');
  const accessPoint = createAccessPoint(settings, now);
  return async (call) => {
    const { method, target, body, form, about } = call;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': 'unified-payment-service',
      authorization: await authorize(settings, { ...call, target: root + target }, now()),
    };
    if (body !== undefined) headers['content-type'] = form?.contentType ?? 'application/json';
    // The header `wechatpay-serial` names the WeChat Pay public key with which the response must be verified. Without
    // this header, WeChat Pay may still sign with a platform certificate while the merchant changes to public keys.
    if (publicKeyIds[0]) headers['wechatpay-serial'] = publicKeyIds[0];
    const point = accessPoint.current();
    try {
      return await send({ method, url: point + target, headers, body, about, ...(form ? { bytes: form.bytes } : {}) });
    } catch (error) {
      accessPoint.failed(point, error);
      throw error;
    }
  };
}

/** Creates the function that sends a call once and verifies the response with `judge`. */
export function createAsk(send: SendSigned, judge: Judge): Ask {
  return async (call) => {
    try {
      return await readReply(await send(call), judge);
    } catch (error) {
      return unknownFrom(error);
    }
  };
}

async function authorize(settings: Settings, { method, target, body = '' }: Call, now: Date): Promise<string> {
  const { mchid, merchantSerial: serial, merchantKey } = settings;
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const nonce = randomBytes(16).toString('hex');
  const signature = await signRsa(requestText({ method, target, timestamp, nonce, body }), merchantKey);
  return writeAuthorization({ mchid, nonce, timestamp, serial, signature });
}

/** The headers of a message by their lower-case names. */
export type Headers = Readonly<Record<string, string | undefined>>;

interface Doubt {
  cause: Extract<UnknownCause, 'unsigned' | 'clock_skew' | 'serial_unknown' | 'signature_invalid'>;
  detail: string;
}

type Judgement = { doubt: Doubt; signer?: undefined } | { doubt?: undefined; signer: VerifyKey };

/** The form of an RSA signature in base64, for keys of at least 2048 bits. */
const SIGNATURE = /^[A-Za-z0-9+/]{341,1400}={0,2}$/;

/** Verifies a response or a notification by its four signature headers and its raw bytes. */
export type Judge = (headers: Headers, rawBody: Buffer, budget?: FetchBudget) => Promise<Judgement>;

/** Fetches WeChat Pay's current platform certificates as verification keys by serial. Throws on failure. */
type FetchPlatformKeys = () => Promise<Iterable<readonly [serial: string, key: VerifyKey]>>;

/**
 * Creates the verifier with all keys of an account: platform certificates and WeChat Pay public keys. For an unknown
 * serial the platform certificates are fetched (limits: key-ring.ts). If the serial is still unknown, the message is
 * not verified. A distrusted serial starts no fetch.
 */
export function createJudge(settings: Settings, now: () => Date, fetchPlatformKeys: FetchPlatformKeys): Judge {
  const { publicKeyIds, publicKeys, platformKeys, distrustedSerials } = settings;
  const ids = new Set(publicKeyIds.map(plainSerial));
  const ring = createKeyRing({ keys: platformKeys, now, normalise: plainSerial, refresh: fetchPlatformKeys });

  async function keysOf(serial: string, budget: FetchBudget | undefined): Promise<readonly VerifyKey[]> {
    if (ids.has(plainSerial(serial))) return publicKeys;
    if (distrustedSerials.has(plainSerial(serial))) return [];
    // The API does not return public keys, so a fetch cannot find the key of this id.
    if (/^PUB_KEY_ID_/i.test(serial)) return [];
    const key = await ring.find(serial, budget);
    return key ? [key] : [];
  }

  return async (headers, rawBody, budget) => {
    const signed = readSigned(headers);
    if (!signed) return doubt('unsigned', 'The Wechatpay signature headers are incomplete.');
    const { timestamp, nonce, serial, signature } = signed;
    if (!isFresh(timestamp, now())) return doubt('clock_skew', `Signed at ${timestamp}.`);
    // A malformed signature must not start a download of keys.
    if (!SIGNATURE.test(signature)) return doubt('signature_invalid', 'The signature is malformed.');
    const keys = await keysOf(serial, budget);
    if (keys.length === 0) return doubt('serial_unknown', `The serial ${serial} is unknown.`);
    const text = answerText(timestamp, nonce, rawBody);
    const signer = keys.find(({ key }) => verifyRsa(text, signature, key));
    return signer ? { signer } : doubt('signature_invalid', `The signature does not match the key ${serial}.`);
  };
}

function doubt(cause: Doubt['cause'], detail: string): Judgement {
  return { doubt: { cause, detail } };
}

/** Reads the four signature headers. Returns undefined if one is missing. */
export function readSigned(
  headers: Headers,
): Record<'timestamp' | 'nonce' | 'serial' | 'signature', string> | undefined {
  const {
    'wechatpay-timestamp': timestamp,
    'wechatpay-nonce': nonce,
    'wechatpay-serial': serial,
    'wechatpay-signature': signature,
  } = headers;
  return timestamp && nonce && serial && signature ? { timestamp, nonce, serial, signature } : undefined;
}
