/**
 * One request to WeChat Pay: signed and sent to one of two hosts; the answer is verified and parsed, and its states and
 * codes are interpreted.
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

/** How long the spare host is used before the first host is tried again. */
const SPARE_MS = 5 * 60_000;

/** Selects one of WeChat's two hosts for the next attempt. */
interface AccessPoint {
  current(): string;
  /** Reports a failed attempt at `base`; only an error without a response switches the host. */
  failed(base: string, error: unknown): void;
}

/**
 * After a request without a response, the next requests go to the spare host for five minutes. If the spare host does
 * not respond either, they go to the first host again. A request is sent once: the caller gets an unknown outcome, and
 * repeats the request or queries.
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

/** The bytes are not one JSON object with unique field names; `why` is a stable cause. */
export class UnreadableJson extends Error {
  readonly why: Extract<UnknownCause, 'unparsable' | 'duplicate_key'>;
  constructor(why: UnreadableJson['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableJson';
    this.why = why;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The fields of a JSON object from outside; their values are unchecked. */
export type Members = Readonly<Record<string, unknown>>;

/** Reads UTF-8 bytes as one JSON object; throws UnreadableJson, also for a duplicate field name. */
export function readObject(bytes: Buffer | string): Members {
  const { value, text } = parse(bytes);
  if (!isObject(value)) throw new UnreadableJson('unparsable', 'The text is not a JSON object.');
  if (!hasUniqueMembers(text, value)) throw new UnreadableJson('duplicate_key', 'Duplicate member name.');
  return value;
}

/** The object in a field; empty if the value is not an object. */
export function objectIn(members: Members, name: string): Members {
  const value = members[name];
  return isObject(value) ? value : {};
}

/** The text of a field; empty if the value is not a string. */
export function textIn(members: Members, name: string): string {
  const value = members[name];
  return typeof value === 'string' ? value : '';
}

function parse(bytes: Buffer | string): { value: unknown; text: string } {
  try {
    const text = typeof bytes === 'string' ? bytes : utf8.decode(bytes);
    return { value: JSON.parse(text), text };
  } catch {
    throw new UnreadableJson('unparsable', `The text (${bytes.length} bytes) is not UTF-8 JSON.`);
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The meaning of WeChat's `trade_state`; an unlisted one is pending. */
export const TRADE_STATES: ReadonlyMap<string, 'pending' | 'paid' | 'refunded' | 'closed' | 'revoked'> = new Map([
  ['NOTPAY', 'pending'],
  ['USERPAYING', 'pending'],
  ['ACCEPT', 'pending'],
  ['PAYERROR', 'pending'],
  ['SUCCESS', 'paid'],
  /** The state after any refund, even a partial one: the trade is paid. */
  ['REFUND', 'refunded'],
  ['CLOSED', 'closed'],
  /** A reversed payment by payer's code, paid or not. */
  ['REVOKED', 'revoked'],
]);

/** The meaning of WeChat's refund `status`; an unlisted one is pending. */
export const REFUND_STATES: ReadonlyMap<string, 'pending' | 'succeeded' | 'failed' | 'abnormal'> = new Map([
  ['PROCESSING', 'pending'],
  ['SUCCESS', 'succeeded'],
  ['CLOSED', 'failed'],
  ['ABNORMAL', 'abnormal'],
]);

/** Codes of a refused create that rule out a trade. */
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
 * Whether a refusal rules out a trade. INVALID_REQUEST is also returned for an order number that has a trade ("201
 * 商户订单号重复").
 */
export function isDefinite(code: string, message: string): boolean {
  return DEFINITE_CODES.has(code) && !isRepeated(message);
}

/** Codes of a refused create that mean that a trade of this number exists or may exist. */
const KNOWN_CODES: ReadonlySet<string> = new Set(['ORDER_PAID', 'ORDER_CLOSED', 'OUT_TRADE_NO_USED', 'TRADE_ERROR']);

/** Why a signed refusal of a create does not decide the order. */
export function createDoubt(code: string, message: string): RefusalDoubt {
  return KNOWN_CODES.has(code) || isRepeated(message) ? 'trade_may_exist' : 'unlisted';
}

function isRepeated(message: string): boolean {
  return message.includes('重复');
}

/** Codes that refuse a payer's code for good: the payer needs another code or card, and the merchant another order. */
export const SPENT_CODES: ReadonlySet<string> = new Set([
  'AUTH_CODE_EXPIRE',
  'AUTH_CODE_ERROR',
  'AUTH_CODE_INVALID',
  'NOT_ENOUGH',
  'NOT_SUPPORT_CARD',
  'BUYER_MISMATCH',
]);

/** Codes that mean that the merchant's key or permission is wrong, not the order. */
const CREDENTIAL_CODES: ReadonlySet<string> = new Set([
  'SIGN_ERROR',
  'NO_AUTH',
  'MCH_NOT_EXISTS',
  'APPID_MCHID_NOT_MATCH',
]);

/** Codes that mean that the call was too frequent and must be repeated later. */
const BUSY_CODES: ReadonlySet<string> = new Set(['FREQUENCY_LIMITED', 'RATELIMIT_EXCEEDED', 'FREQUENCY_LIMIT_EXCEED']);

const DOCUMENTED = `PARAM_ERROR INVALID_REQUEST APPID_MCHID_NOT_MATCH ORDER_CLOSED ORDER_PAID SIGN_ERROR NO_AUTH
  OUT_TRADE_NO_USED RULE_LIMIT TRADE_ERROR NOT_ENOUGH ACCOUNT_ERROR USER_ACCOUNT_ABNORMAL REQUEST_BLOCKED ORDER_NOT_EXIST
  AUTH_CODE_EXPIRE AUTH_CODE_ERROR AUTH_CODE_INVALID NOT_SUPPORT_CARD BUYER_MISMATCH
  RESOURCE_NOT_EXISTS MCH_NOT_EXISTS FREQUENCY_LIMITED FREQUENCY_LIMIT_EXCEED RATELIMIT_EXCEEDED SYSTEM_ERROR BANK_ERROR`;

/** Documented codes by their spelling without `_`, which WeChat Pay still uses in some answers. */
const OLD_SPELLINGS: ReadonlyMap<string, string> = new Map(
  DOCUMENTED.split(/\s+/).map((code) => [code.replaceAll('_', ''), code]),
);

/** A code in its documented spelling: ORDERPAID becomes ORDER_PAID; unknown codes stay unchanged. */
function readCode(code: string): string {
  return OLD_SPELLINGS.get(code.replaceAll('_', '')) ?? code;
}

/** No usable response. */
export interface Unknown {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
  refusal?: { code: string; reason: string };
}

/** A refusal, with its code in the documented spelling; an unsigned refusal may be forged. */
export interface Refused {
  kind: 'refused';
  status: number;
  code: string;
  message: string;
  signed: boolean;
}

/**
 * The result of a call: a verified 2xx, a refusal, or unknown. A 204 has no fields. A 202 has the trade of a payment by
 * payer's code, or is unknown.
 */
export type Reply = { kind: 'said'; status: number; members: Members } | Refused | Unknown;

/** Reads an answer: redirects and 5xx are unknown; every 2xx must verify, and so must a 4xx with a signature. */
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

/**
 * Reads a 202: while the payer types the password, codepay returns the trade (as merchants report). If there is no
 * trade, the request must be repeated.
 */
function readUnfinished(answer: WireAnswer): Reply {
  const again = unknown('in_progress', 'HTTP 202: the same request must be repeated.');
  if (answer.body.length === 0) return again;
  const reply = readMembers(answer);
  return reply.kind === 'said' && textIn(reply.members, 'trade_state') === '' ? again : reply;
}

/** The unknown outcome of a failed exchange; an error other than TransportFailed is a fault of the service. */
function unknownFrom(error: unknown): Unknown {
  if (error instanceof TransportFailed) return unknown(error.why, error.message);
  return unknown('network', error instanceof Error ? error.message : 'The request failed.');
}

/** Builds an unknown outcome. */
export function unknown(cause: UnknownCause, detail: string): Unknown {
  return { kind: 'unknown', cause, detail };
}

/**
 * The unknown outcome of a refusal that is not about the trade: too frequent, a wrong clock or key. Undefined for other
 * refusals.
 */
export function unknownRefusal({ status, code, message, signed }: Refused): Unknown | undefined {
  const detail = `HTTP ${status} ${code} ${message}`.trim();
  if (status === 429 || BUSY_CODES.has(code)) return unknown('busy', detail);
  if (status === 401) return unknown(isAboutTime(message) ? 'clock_skew' : 'misconfigured', detail);
  if (CREDENTIAL_CODES.has(code))
    return { ...unknown('misconfigured', detail), ...(signed ? { refusal: { code, reason: message } } : {}) };
  // An answer without a code does not come from the API: a proxy, an unknown path, a wrong method.
  return code === '' ? unknown('http_status', detail) : undefined;
}

/** Whether a refusal's text is about the timestamp of the request. */
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
    return { kind: 'said', status: answer.status, members };
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

/** Sends a call and reads its answer; never throws. */
export type Ask = (call: Call) => Promise<Reply>;

/** Signs and sends a call and returns the raw answer; throws TransportFailed. */
export type SendSigned = (call: Call) => Promise<WireAnswer>;

/** Downloads a file with a signed request; throws TransportFailed. */
export type DownloadSigned = (url: URL) => Promise<WireFile>;

/** Creates the signed download; the caller must check that the URL is WeChat Pay's. */
export function createDownloader(settings: Settings, download: Download, now: () => Date): DownloadSigned {
  return async (url) => {
    const about = { call: 'bill file' };
    const authorization = await authorize(settings, { method: 'GET', target: url.pathname + url.search, about }, now());
    const headers = { accept: '*/*', 'user-agent': 'unified-payment-service', authorization };
    return download({ method: 'GET', url: url.href, headers, about });
  };
}

/** Creates the sender: every call is signed with the merchant key, a new nonce and `now`; the host is not signed. */
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
    // Without this header WeChat Pay may sign with a platform certificate during a change of keys.
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

/** Creates the call that sends once and verifies the answer with `judge`. */
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

/** Header names are lower-case. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Why a signature was not verified; `cause` is stable. */
interface Doubt {
  cause: Extract<UnknownCause, 'unsigned' | 'clock_skew' | 'serial_unknown' | 'signature_invalid'>;
  detail: string;
}

/** Either the key that signed, or the reason why the signature was not verified. */
type Judgement = { doubt: Doubt; signer?: undefined } | { doubt?: undefined; signer: VerifyKey };

/** An RSA signature of 2048 bits or more, in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{341,1400}={0,2}$/;

/** Verifies answers and notifications by their four headers and raw bytes. */
export type Judge = (headers: Headers, rawBody: Buffer, budget?: FetchBudget) => Promise<Judgement>;

/** Fetches the platform's current certificates as verification keys by serial; throws on failure. */
type FetchPlatformKeys = () => Promise<Iterable<readonly [serial: string, key: VerifyKey]>>;

/**
 * Creates the verifier with all keys of an account: platform certificates and WeChat Pay public keys. An unknown
 * platform serial is fetched (limits: key-ring.ts); if it is not found, the message stays unverified. A distrusted
 * serial is not fetched.
 */
export function createJudge(settings: Settings, now: () => Date, fetchPlatformKeys: FetchPlatformKeys): Judge {
  const { publicKeyIds, publicKeys, platformKeys, distrustedSerials } = settings;
  const ids = new Set(publicKeyIds.map(plainSerial));
  const ring = createKeyRing({ keys: platformKeys, now, normalise: plainSerial, refresh: fetchPlatformKeys });

  async function keysOf(serial: string, budget: FetchBudget | undefined): Promise<readonly VerifyKey[]> {
    if (ids.has(plainSerial(serial))) return publicKeys;
    if (distrustedSerials.has(plainSerial(serial))) return [];
    // The API does not supply public keys, so a download cannot find one.
    if (/^PUB_KEY_ID_/i.test(serial)) return [];
    const key = await ring.find(serial, budget);
    return key ? [key] : [];
  }

  return async (headers, rawBody, budget) => {
    const signed = readSigned(headers);
    if (!signed) return doubt('unsigned', 'The Wechatpay signature headers are incomplete.');
    const { timestamp, nonce, serial, signature } = signed;
    if (!isFresh(timestamp, now())) return doubt('clock_skew', `Signed at ${timestamp}.`);
    // A malformed signature must not cause a key download.
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

/** Reads the four signature headers; undefined unless all are present. */
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
