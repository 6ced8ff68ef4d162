/** One exchange: signed and sent to one of two addresses; the answer is verified and read as JSON, and its words and codes get their meaning here. */
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

/** How long the spare address is used before the first one is tried again. */
const SPARE_MS = 5 * 60_000;

/** Which of WeChat's two addresses the next try goes to. */
interface AccessPoint {
  current(): string;
  /** A try at `base` failed with this error; only silence says something about the address. */
  failed(base: string, error: unknown): void;
}

/**
 * Where nothing answers, the next try goes to the spare address for five minutes, or back when that is silent, too. One try is
 * one send: whoever asked hears that the outcome is unknown, and what comes next is the same request again or a question.
 */
function createAccessPoint({ base, spareBase }: Settings, now: () => Date): AccessPoint {
  let spareUntil = -Infinity;
  return {
    current: () => (spareBase !== undefined && now().getTime() < spareUntil ? spareBase : base),
    failed(tried, error) {
      const isSilent = error instanceof TransportFailed && error.why !== 'too_large';
      if (isSilent) spareUntil = tried === base ? now().getTime() + SPARE_MS : -Infinity;
    },
  };
}

/** Bytes that are not one JSON object with unique member names; `why` is the stable word for it. */
export class UnreadableJson extends Error {
  readonly why: Extract<UnknownCause, 'unparsable' | 'duplicate_key'>;
  constructor(why: UnreadableJson['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableJson';
    this.why = why;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Members of an object that came from outside; nothing is known about their values. */
export type Members = Readonly<Record<string, unknown>>;

/** Reads UTF-8 bytes as one JSON object; throws UnreadableJson, also when a member name occurs twice in one object. */
export function readObject(bytes: Buffer | string): Members {
  const { value, text } = parse(bytes);
  if (!isObject(value)) throw new UnreadableJson('unparsable', 'The text is not a JSON object.');
  if (!hasUniqueMembers(text, value)) throw new UnreadableJson('duplicate_key', 'Duplicate member name.');
  return value;
}

/** The object below a member; empty when it is not one. */
export function objectIn(members: Members, name: string): Members {
  const value = members[name];
  return isObject(value) ? value : {};
}

/** The text of a member; empty when it is not text. */
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

/** What a word of WeChat's `trade_state` means to us; a word that is not here is pending. */
export const TRADE_STATES: ReadonlyMap<string, 'pending' | 'paid' | 'refunded' | 'closed' | 'revoked'> = new Map([
  ['NOTPAY', 'pending'],
  ['USERPAYING', 'pending'],
  ['ACCEPT', 'pending'],
  ['PAYERROR', 'pending'],
  ['SUCCESS', 'paid'],
  /** Appears after any refund, even a partial one: the trade is paid, look at its refunds. */
  ['REFUND', 'refunded'],
  ['CLOSED', 'closed'],
  /** A payer's code that was reversed, paid or not. */
  ['REVOKED', 'revoked'],
]);

/** What a word of WeChat's refund `status` means to us; a word that is not here is pending. */
export const REFUND_STATES: ReadonlyMap<string, 'pending' | 'succeeded' | 'failed' | 'abnormal'> = new Map([
  ['PROCESSING', 'pending'],
  ['SUCCESS', 'succeeded'],
  ['CLOSED', 'failed'],
  ['ABNORMAL', 'abnormal'],
]);

/** Codes of a refused create that cannot hide a trade: the request itself could never have made one. */
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

/** Whether a create that was refused so made no trade; INVALID_REQUEST is also said of a number that has one ("201 商户订单号重复"). */
export function isDefinite(code: string, message: string): boolean {
  return DEFINITE_CODES.has(code) && !isRepeated(message);
}

/** Codes of a refused create that say that there is a trade of this number, or may be one. */
const KNOWN_CODES: ReadonlySet<string> = new Set(['ORDER_PAID', 'ORDER_CLOSED', 'OUT_TRADE_NO_USED', 'TRADE_ERROR']);

/** Why a signed refusal of a create decides nothing. */
export function createDoubt(code: string, message: string): RefusalDoubt {
  return KNOWN_CODES.has(code) || isRepeated(message) ? 'trade_may_exist' : 'unlisted';
}

function isRepeated(message: string): boolean {
  return message.includes('重复');
}

/** Codes that refuse a payer's code for good: another code, or another card, and so another order, is needed. */
export const SPENT_CODES: ReadonlySet<string> = new Set([
  'AUTH_CODE_EXPIRE',
  'AUTH_CODE_ERROR',
  'AUTH_CODE_INVALID',
  'NOT_ENOUGH',
  'NOT_SUPPORT_CARD',
  'BUYER_MISMATCH',
]);

/** Codes that mean: this credential, not this order, is wrong. */
const CREDENTIAL_CODES: ReadonlySet<string> = new Set([
  'SIGN_ERROR',
  'NO_AUTH',
  'MCH_NOT_EXISTS',
  'APPID_MCHID_NOT_MATCH',
]);

/** Codes that mean: too often, ask again later. */
const BUSY_CODES: ReadonlySet<string> = new Set(['FREQUENCY_LIMITED', 'RATELIMIT_EXCEEDED', 'FREQUENCY_LIMIT_EXCEED']);

const DOCUMENTED = `PARAM_ERROR INVALID_REQUEST APPID_MCHID_NOT_MATCH ORDER_CLOSED ORDER_PAID SIGN_ERROR NO_AUTH
  OUT_TRADE_NO_USED RULE_LIMIT TRADE_ERROR NOT_ENOUGH ACCOUNT_ERROR USER_ACCOUNT_ABNORMAL REQUEST_BLOCKED ORDER_NOT_EXIST
  AUTH_CODE_EXPIRE AUTH_CODE_ERROR AUTH_CODE_INVALID NOT_SUPPORT_CARD BUYER_MISMATCH
  RESOURCE_NOT_EXISTS MCH_NOT_EXISTS FREQUENCY_LIMITED FREQUENCY_LIMIT_EXCEED RATELIMIT_EXCEEDED SYSTEM_ERROR BANK_ERROR`;

/** Documented codes by their spelling without `_`, which the channel still uses here and there. */
const OLD_SPELLINGS: ReadonlyMap<string, string> = new Map(
  DOCUMENTED.split(/\s+/).map((code) => [code.replaceAll('_', ''), code]),
);

/** A code of the channel in its documented spelling; ORDERPAID becomes ORDER_PAID, unknown codes stay as they are. */
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

/** A refusal in the channel's documented spelling; only a signed one can be relied on alone. */
export interface Refused {
  kind: 'refused';
  status: number;
  code: string;
  message: string;
  signed: boolean;
}

/** A genuine 2xx, a refusal, or nothing. The members of a 204 are empty; a 202 has a trade (a payer's code) or says nothing. */
export type Reply = { kind: 'said'; status: number; members: Members } | Refused | Unknown;

/** Reads an answer: redirects and 5xx say nothing, every 2xx must verify, a 4xx that claims a signature must too. */
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

/** While the payer types the password codepay answers 202 with the trade (merchants report USERPAYING so); else it means: again. */
function readUnfinished(answer: WireAnswer): Reply {
  const again = unknown('in_progress', 'HTTP 202: the same request must be repeated.');
  if (answer.body.length === 0) return again;
  const reply = readMembers(answer);
  return reply.kind === 'said' && textIn(reply.members, 'trade_state') === '' ? again : reply;
}

/** What a failed exchange says. Anything but TransportFailed is a fault of ours and says as little. */
function unknownFrom(error: unknown): Unknown {
  if (error instanceof TransportFailed) return unknown(error.why, error.message);
  return unknown('network', error instanceof Error ? error.message : 'The request failed.');
}

/** An unknown outcome, which changes nothing. */
export function unknown(cause: UnknownCause, detail: string): Unknown {
  return { kind: 'unknown', cause, detail };
}

/** Refusals that say nothing about the trade: too often, a clock that is off, a credential that is wrong. */
export function unknownRefusal({ status, code, message, signed }: Refused): Unknown | undefined {
  const detail = `HTTP ${status} ${code} ${message}`.trim();
  if (status === 429 || BUSY_CODES.has(code)) return unknown('busy', detail);
  if (status === 401) return unknown(isAboutTime(message) ? 'clock_skew' : 'misconfigured', detail);
  if (CREDENTIAL_CODES.has(code))
    return { ...unknown('misconfigured', detail), ...(signed ? { refusal: { code, reason: message } } : {}) };
  // Without a code the answer is not the application's: a proxy, an unknown path, a wrong verb.
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

/** Signs and sends a call, with the answer left as it came; throws TransportFailed. */
export type SendSigned = (call: Call) => Promise<WireAnswer>;

/** Downloads what WeChat Pay named an address for, signed like a call; throws TransportFailed. */
export type DownloadSigned = (url: URL) => Promise<WireFile>;

/** Signs the request for a file; whether the address is WeChat Pay's is for the caller to know. */
export function createDownloader(settings: Settings, download: Download, now: () => Date): DownloadSigned {
  return async (url) => {
    const about = { call: 'bill file' };
    const authorization = await authorize(settings, { method: 'GET', target: url.pathname + url.search, about }, now());
    const headers = { accept: '*/*', 'user-agent': 'unified-payment-service', authorization };
    return download({ method: 'GET', url: url.href, headers, about });
  };
}

/** Signs every call with the merchant key, a fresh nonce and `now`; the host is not part of what is signed. */
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
    // Without it an answer may be signed by a platform certificate while keys are being switched.
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

/** Asks WeChat Pay: sends once and reads the answer with the judge. */
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

/** Why something was not signed by WeChat Pay, in stable words. */
interface Doubt {
  cause: Extract<UnknownCause, 'unsigned' | 'clock_skew' | 'serial_unknown' | 'signature_invalid'>;
  detail: string;
}

/** Who signed, or why it is not known: one of both. */
type Judgement = { doubt: Doubt; signer?: undefined } | { doubt?: undefined; signer: VerifyKey };

/** An RSA signature of 2048 bits or more, in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{341,1400}={0,2}$/;

/** Judges answers and notices by their four headers and raw bytes. */
export type Judge = (headers: Headers, rawBody: Buffer, budget?: FetchBudget) => Promise<Judgement>;

/** Fetches the platform's current certificates as verify keys by serial; throws when that fails. */
type FetchPlatformKeys = () => Promise<Iterable<readonly [serial: string, key: VerifyKey]>>;

/**
 * Judges with all keys of an account at once, platform certificates and WeChat Pay public keys side by side. A platform
 * serial that is not known is fetched (key-ring.ts says how often) and fails closed; one that is distrusted is not.
 */
export function createJudge(settings: Settings, now: () => Date, fetchPlatformKeys: FetchPlatformKeys): Judge {
  const { publicKeyIds, publicKeys, platformKeys, distrustedSerials } = settings;
  const ids = new Set(publicKeyIds.map(plainSerial));
  const ring = createKeyRing({ keys: platformKeys, now, normalise: plainSerial, refresh: fetchPlatformKeys });

  async function keysOf(serial: string, budget: FetchBudget | undefined): Promise<readonly VerifyKey[]> {
    if (ids.has(plainSerial(serial))) return publicKeys;
    if (distrustedSerials.has(plainSerial(serial))) return [];
    // Public keys are handed out by hand only, so asking for one is of no use.
    if (/^PUB_KEY_ID_/i.test(serial)) return [];
    const key = await ring.find(serial, budget);
    return key ? [key] : [];
  }

  return async (headers, rawBody, budget) => {
    const signed = readSigned(headers);
    if (!signed) return doubt('unsigned', 'The Wechatpay signature headers are incomplete.');
    const { timestamp, nonce, serial, signature } = signed;
    if (!isFresh(timestamp, now())) return doubt('clock_skew', `Signed at ${timestamp}.`);
    // What cannot be a signature is not worth asking for a key.
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

/** What the four headers say; undefined unless all are there. */
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
