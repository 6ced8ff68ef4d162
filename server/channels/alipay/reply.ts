/** Reads Alipay's responses: verifies the signature over the exact bytes and interprets the codes. */
import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { TransportFailed, type UnknownCause, type WireAnswer } from '../../payments/channel.ts';
import type { AlipayKeys } from './settings.ts';
import { signerIn, verifyRsa2 } from './signature.ts';

/** The meaning of `trade_status` for an order. A status that is not listed is pending. */
export const TRADE_STATUS: ReadonlyMap<string, 'pending' | 'paid' | 'closed'> = new Map([
  ['WAIT_BUYER_PAY', 'pending'],
  ['TRADE_SUCCESS', 'paid'],
  // The trade was paid, possibly refunded in part, and can no longer be refunded.
  ['TRADE_FINISHED', 'paid'],
  // Without a time of payment, the trade was never paid. With a time of payment, it was paid and refunded in full.
  ['TRADE_CLOSED', 'closed'],
]);

/** The values of `code` in a response (open API v2). */
export const CODE = {
  ok: '10000',
  waiting: '10003',
  unknown: '20000',
  token: '20001',
  missing: '40001',
  invalid: '40002',
  business: '40004',
  permission: '40006',
} as const;

/**
 * This error code means that the trade does not exist, or that the payer has not yet scanned the QR code or logged in.
 */
export const NOT_EXIST = 'ACQ.TRADE_NOT_EXIST';

/**
 * The sub_codes that mean that the trade of a refund query does not exist. Alipay's documents list the code with and
 * without the prefix `ACQ.`.
 */
export const NO_REFUND_TRADE: ReadonlySet<string> = new Set([NOT_EXIST, 'TRADE_NOT_EXIST']);

/** Whether a business or gateway code means that the merchant has no contract for the product of a call. */
export function saysNoProduct({ code, subCode }: { code: string; subCode: string }): boolean {
  return subCode === 'ACQ.ACCESS_FORBIDDEN' || code === CODE.permission;
}

/** After these sub_codes, and any that contains BUSY (`isBusy`), the result is unknown, regardless of `code`. */
const NO_RESULT: ReadonlySet<string> = new Set([
  'ACQ.SYSTEM_ERROR',
  // Alipay's documents of alipay.trade.cancel spell the prefix like this.
  'AQC.SYSTEM_ERROR',
  'aop.ACQ.SYSTEM_ERROR',
  'isp.unknow-error',
  'isp.unknown-error',
  'aop.unknow-error',
]);

/** Whether Alipay could not process the call now. The caller then queries the result or repeats the call. */
function isBusy(subCode: string): boolean {
  return NO_RESULT.has(subCode) || subCode.includes('BUSY');
}

/** The sub_code that means that the refund number was used before with different values. */
export const DISCORDANT = 'ACQ.DISCORDANT_REPEAT_REQUEST';

/** Whether a signed response is a business refusal, by its code and the prefix of its sub_code. */
export function isBusinessRefusal({ code, subCode }: { code: string; subCode: string }): boolean {
  return code === CODE.business && subCode.startsWith('ACQ.');
}

/** The field or certificate kind that is wrong, by the start of the sub_code of a refusal. */
const FIELD_BY_SUB_CODE: readonly [RegExp, string | null][] = [
  [/^isv\.(invalid|missing)-app-id/, 'appId'],
  [/^isv\.(invalid|missing)-signature(?!-type)/, 'alipay_app_key'],
  [/^isv\.[a-z-]*root-cert/, 'alipay_root_cert'],
  [/^isv\.[a-z-]*alipay-cert/, 'alipay_public_cert'],
  [/^isv\.[a-z-]*cert/, 'alipay_app_cert'],
  [/^isv\.[a-z-]*app-auth-token|^aop\.(invalid|expired)-[a-z-]*auth-token/, 'appAuthToken'],
  [/^ACQ\.PARTNER_ERROR/, 'sellerId'],
];

/** Returns the wrong field or certificate kind of the configuration; null if the sub_code is about neither. */
export function blamedField(subCode: string): string | null {
  return FIELD_BY_SUB_CODE.find(([pattern]) => pattern.test(subCode))?.[1] ?? null;
}

export interface SignedAnswer {
  code: string;
  subCode: string;
  message: string;
  content: Readonly<Record<string, unknown>>;
}

/** The result of a call without a usable response. `subCode` may come from an unsigned refusal. */
export interface Unknown {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
  subCode?: string;
  refusal?: { code: string; reason: string };
}

export type Reply = { kind: 'answered'; answer: SignedAnswer } | Unknown;

/**
 * Reads a response. The checks run in this sequence: HTTP status 200, one JSON object, a valid signature over the
 * response field. An unsigned refusal (Alipay does not sign some 4000x refusals) is always `unknown`: it can be forged,
 * so it never fails or closes an order. Its sub_code is kept for the operator and the configuration test.
 */
export async function readReply(answer: WireAnswer, method: string, keys: AlipayKeys): Promise<Reply> {
  const { status } = answer;
  if (status >= 300 && status < 400) return unknown('redirected', `HTTP ${status}`);
  if (status !== 200) return unknown('http_status', `HTTP ${status}`);
  try {
    const envelope = readEnvelope(answer.body, method);
    return envelope.sign === '' ? unsigned(envelope) : await judged(envelope, keys);
  } catch (error) {
    if (error instanceof UnreadableAnswer) return unknown(error.why, error.message);
    throw error;
  }
}

/** Builds the unknown outcome of a failed request. Any error but TransportFailed is an error of this service. */
export function unknownFrom(error: unknown): Unknown {
  if (error instanceof TransportFailed) return unknown(error.why, error.message);
  return unknown('network', error instanceof Error ? error.message : 'The request failed.');
}

/** Builds the result of a call whose outcome is unknown. */
export function unknown(cause: UnknownCause, detail: string, subCode?: string): Unknown {
  return { kind: 'unknown', cause, detail, ...(subCode ? { subCode } : {}) };
}

/**
 * Returns the unknown outcome of a signed refusal that says nothing about the trade: Alipay is busy, or the clock or
 * the configuration is wrong. Returns undefined for any other refusal.
 */
export function unknownRefusal({ code, subCode, message }: SignedAnswer): Unknown | undefined {
  const detail = `${code} ${subCode} ${message}`.trim();
  if (subCode === 'isv.invalid-timestamp') return unknown('clock_skew', detail, subCode);
  if (code === CODE.unknown || isBusy(subCode)) return unknown('busy', detail, subCode);
  if (code === CODE.waiting) return unknown('in_progress', detail, subCode);
  if (code === CODE.token || code === CODE.permission || code === CODE.missing || code === CODE.invalid) {
    return { ...unknown('misconfigured', detail, subCode), refusal: { code: subCode || code, reason: message } };
  }
  return undefined;
}

async function judged(envelope: Envelope, keys: AlipayKeys): Promise<Reply> {
  const judgement = await judgeAnswer(keys, envelope.signed, envelope.sign, envelope.certSerial);
  if (judgement === 'serial_unknown') return unknown(judgement, `alipay_cert_sn "${envelope.certSerial}" is unknown.`);
  if (judgement === 'signature_invalid') return unknown(judgement, "The signature does not match Alipay's key.");
  const answer = contentOf(envelope);
  // The signature does not cover the name of the response field. So an attacker could rename the field of a success to
  // `error_response`. Therefore an `error_response` with a success code is rejected.
  if (envelope.isError && answer.code === CODE.ok) return unknown('unparsable', 'error_response with a success code.');
  return { kind: 'answered', answer };
}

/** Alipay's certificate serial is an MD5 digest in hexadecimal. */
const SERIAL = /^[0-9a-f]{32}$/;

/** In certificate mode a response without a serial is rejected. */
async function judgeAnswer(
  { ring, certificateMode }: AlipayKeys,
  signed: Uint8Array,
  sign: string,
  serial: string,
): Promise<'genuine' | 'serial_unknown' | 'signature_invalid'> {
  if (!certificateMode) return signerIn(ring, signed, sign) ? 'genuine' : 'signature_invalid';
  // A malformed serial must not start a certificate download.
  const found = SERIAL.test(serial) ? await ring.find(serial) : undefined;
  if (!found) return 'serial_unknown';
  return verifyRsa2(signed, sign, found.key) ? 'genuine' : 'signature_invalid';
}

function unsigned(envelope: Envelope): Unknown {
  const { code, subCode, message } = contentOf(envelope);
  const detail = `unsigned: ${code} ${subCode} ${message}`.trim();
  if (subCode === 'isv.invalid-timestamp') return unknown('clock_skew', detail, subCode);
  return unknown(blamedField(subCode) === null ? 'unsigned' : 'misconfigured', detail, subCode);
}

function contentOf({ text: answer }: Envelope): SignedAnswer {
  const content = JSON.parse(answer) as Record<string, unknown>;
  const text = (name: string): string => (typeof content[name] === 'string' ? content[name] : '');
  return { code: text('code'), subCode: text('sub_code'), message: text('sub_msg') || text('msg'), content };
}

/** The parts of a response. `signed` has the raw bytes of the response field, which the signature covers. */
interface Envelope {
  signed: Uint8Array;
  text: string;
  /** True if the response field is `error_response`. Such a response can only be a refusal. */
  isError: boolean;
  /** The signature; empty if the response has none. */
  sign: string;
  certSerial: string;
}

class UnreadableAnswer extends Error {
  readonly why: Extract<UnknownCause, 'unparsable' | 'duplicate_key'>;
  constructor(why: UnreadableAnswer['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableAnswer';
    this.why = why;
  }
}

/** The charsets of Alipay's messages. The decoder of GB18030 also reads GBK. */
type Charset = 'utf-8' | 'gb18030';

/** Returns the decoder for a charset that Alipay names. The decoder throws on invalid bytes. */
export function decoderOf(charset: string): TextDecoder {
  const known: Charset = charset.toLowerCase().startsWith('gb') ? 'gb18030' : 'utf-8';
  return new TextDecoder(known, { fatal: true, ignoreBOM: true });
}

/** Parses a response before its signature is verified. Throws unless it is one JSON object with unique keys. */
export function readEnvelope(body: Uint8Array, method: string): Envelope {
  const charset = charsetOf(body);
  const decoder = decoderOf(charset);
  const members = topLevelMembers(body, charset, decoder);
  const name = `${method.replaceAll('.', '_')}_response`;
  const own = members.get(name);
  const signed = own ?? members.get('error_response');
  const text = signed && decoder.decode(signed);
  if (!signed || !text?.startsWith('{'))
    throw new UnreadableAnswer('unparsable', `The response has no object ${name}.`);
  // UTF-8 bytes decode to a different text in GBK. So the unsigned part of the response must not change the charset of
  // the signed part.
  if (charset === 'gb18030' && isUtf8(signed))
    throw new UnreadableAnswer('unparsable', 'The response mixes two charsets, UTF-8 and GBK.');
  const textOf = (member: string): string => {
    const bytes = members.get(member);
    return bytes ? stringOf(decoder.decode(bytes)) : '';
  };
  return {
    signed,
    text,
    isError: own === undefined,
    sign: textOf('sign'),
    certSerial: textOf('alipay_cert_sn'),
  };
}

/** Returns the charset of a response. Alipay uses the charset of the request, UTF-8, but sends some refusals in GBK. */
function charsetOf(body: Uint8Array): Charset {
  const charset = isUtf8(body) ? 'utf-8' : 'gb18030';
  try {
    JSON.parse(decoderOf(charset).decode(body));
    return charset;
  } catch {
    throw new UnreadableAnswer('unparsable', `The response (${body.byteLength} bytes) is not JSON in UTF-8 or GBK.`);
  }
}

/**
 * Returns a text with one character per byte, so that positions in the text are positions in the bytes. Bytes of
 * multi-byte GBK characters are masked, because some of them equal ASCII characters.
 */
function outlineOf(body: Uint8Array, charset: Charset): string {
  const outline = Buffer.from(body);
  if (charset === 'utf-8') return outline.toString('latin1');
  for (let at = 0; at < outline.length; at += 1) {
    if (outline[at]! <= 0x80) continue;
    const isLong = /\d/.test(String.fromCharCode(outline[at + 1] ?? 0));
    outline.fill(0xff, at, at + (isLong ? 4 : 2));
    at += isLong ? 3 : 1;
  }
  return outline.toString('latin1');
}

/** Returns the raw bytes of each top-level field of valid JSON. Throws if any object has a duplicate key. */
function topLevelMembers(body: Uint8Array, charset: Charset, decoder: TextDecoder): Map<string, Uint8Array> {
  const text = outlineOf(body, charset);
  const members = new Map<string, Uint8Array>();
  const open: (Set<string> | null)[] = [];
  let awaitsKey = false;
  let key: string | undefined;
  let from = 0;
  const endMember = (at: number): void => {
    if (key !== undefined) members.set(key, trimmed(body.subarray(from, at)));
    key = undefined;
  };

  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      if (awaitsKey) {
        const name = addKey(open.at(-1), decoder.decode(body.subarray(at, end)));
        awaitsKey = false;
        if (open.length === 1) [key, from] = [name, text.indexOf(':', end) + 1];
      }
      at = end - 1;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null);
      awaitsKey = char === '{';
    } else if (char === '}' || char === ']') {
      if (open.length === 1) endMember(at);
      open.pop();
      awaitsKey = false;
    } else if (char === ',') {
      if (open.length === 1) endMember(at);
      awaitsKey = open.at(-1) instanceof Set;
    }
  }
  return members;
}

function trimmed(bytes: Uint8Array): Uint8Array {
  const isBlank = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
  const from = bytes.findIndex((byte) => !isBlank(byte));
  return bytes.subarray(Math.max(from, 0), bytes.findLastIndex((byte) => !isBlank(byte)) + 1);
}

/** Keys are compared after unescaping, so `"\u0073ign"` is a duplicate of `"sign"`. */
function addKey(keys: Set<string> | null | undefined, raw: string): string {
  const name = stringOf(raw);
  if (keys?.has(name)) throw new UnreadableAnswer('duplicate_key', `Duplicate key ${raw}.`);
  keys?.add(name);
  return name;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function stringOf(raw: string): string {
  const value: unknown = raw.startsWith('"') ? JSON.parse(raw) : '';
  return typeof value === 'string' ? value : '';
}
