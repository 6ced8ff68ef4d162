/** Builds and signs the responses of Alipay's gateway. Converts their charset and their times. */
import { randomBytes } from 'node:crypto';
import { signRsa2 } from '../../channels/alipay/signature.ts';
import type { Answer } from '../exchange.ts';
import { type FaultName, duplicateFirstKey } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import type { AlipayAccount } from './account.ts';

export type Charset = 'utf-8' | 'GBK';

/** Returns the charset that a `charset` parameter names; undefined if Alipay does not support it. */
export function charsetOf(name: string): Charset | undefined {
  if (/^utf-?8$/i.test(name)) return 'utf-8';
  return /^gb(k|2312|18030)$/i.test(name) ? 'GBK' : undefined;
}

/** Decodes text in a charset. */
export function decode(bytes: Uint8Array, charset: Charset): string {
  return new TextDecoder(charset === 'GBK' ? 'gb18030' : 'utf-8').decode(bytes);
}

/** Encodes text in a charset; characters that GBK lacks become `?`, as in Alipay's own messages. */
export function encode(text: string, charset: Charset): Buffer {
  if (charset === 'utf-8') return Buffer.from(text, 'utf8');
  const table = gbkTable();
  return Buffer.concat(
    Array.from(text, (char) => (char < '\u0080' ? Buffer.from(char) : (table.get(char) ?? Buffer.from('?')))),
  );
}

let gbk: Map<string, Buffer> | undefined;

/** Node decodes GBK but does not encode it, so the table is built with the decoder. */
function gbkTable(): Map<string, Buffer> {
  if (gbk !== undefined) return gbk;
  const decoder = new TextDecoder('gbk');
  gbk = new Map();
  for (let lead = 0x81; lead <= 0xfe; lead += 1) {
    for (let trail = 0x40; trail <= 0xfe; trail += 1) {
      const bytes = Buffer.from([lead, trail]);
      const text = decoder.decode(bytes);
      if (text.length === 1 && text !== '\uFFFD' && !gbk.has(text)) gbk.set(text, bytes);
    }
  }
  return gbk;
}

export type Content = Record<string, unknown> & { code: string; msg: string };

/** A refusal by the gateway or for a business reason. `signed: false` = Alipay sends it without a signature. */
export class AlipayRefusal extends Error {
  readonly content: Content;
  readonly signed: boolean;
  constructor(code: keyof typeof MESSAGES, subCode: string, subMessage: string, signed = true) {
    super(subMessage);
    this.content = { code, msg: MESSAGES[code], sub_code: subCode, sub_msg: subMessage };
    this.signed = signed;
  }
}

const MESSAGES = {
  '20000': 'Service Currently Unavailable',
  '20001': 'Insufficient Token Permissions',
  '40001': 'Missing Required Arguments',
  '40002': 'Invalid Arguments',
  '40004': 'Business Failed',
} as const;

/** Builds a success response with the given fields. */
export function success(content: Record<string, unknown>): Content {
  return { code: '10000', msg: 'Success', ...content };
}

/** Builds a business refusal: code 40004 and a sub_code that begins with `ACQ.`. */
export function refused(subCode: string, message: string): AlipayRefusal {
  return new AlipayRefusal('40004', `ACQ.${subCode}`, message);
}

/** Writes the fields of a response as JSON text in Alipay's way: slashes are escaped, non-ASCII characters are not. */
export function contentText(content: Content): string {
  return JSON.stringify(content).replaceAll('/', String.raw`\/`);
}

/**
 * Builds an unsigned response: for an error before the app is identified, or for the deliberate error (fault)
 * `no-signature`.
 */
export function unsignedAnswer(member: string, text: string, charset: Charset = 'utf-8'): Answer {
  return json(`{"${member}":${text}}`, charset);
}

/** `member` is the name of the `alipay_…_response` field. */
interface Unsigned {
  member: string;
  text: string;
  certificateMode: boolean;
  charset: Charset;
}

/**
 * Signs the exact bytes of the `alipay_…_response` field. Applies `fault`, a deliberate error such as `wrong-key`. The
 * response uses the charset of the request; with the fault `refused-in-gbk` it uses GBK.
 */
export async function signAnswer(
  core: Core,
  account: AlipayAccount,
  { member, text, certificateMode, charset: requested }: Unsigned,
  fault: FaultName | undefined,
): Promise<Answer> {
  const charset = fault === 'refused-in-gbk' ? 'GBK' : requested;
  if (fault === 'no-signature') return unsignedAnswer(member, text, charset);
  const stranger = fault === 'wrong-key' || (fault === 'unknown-serial' && !certificateMode);
  const sign =
    fault === 'signtest'
      ? randomBytes(256).toString('base64')
      : await signRsa2(encode(text, charset), stranger ? core.strangerKey : account.alipayKey);
  const serial = fault === 'unknown-serial' ? 'f'.repeat(32) : account.alipayCertSerial;
  const serialText = certificateMode ? `"alipay_cert_sn":"${serial}",` : '';
  const body = `{"${member}":${text},${serialText}"sign":"${sign}"}`;
  return json(fault === 'duplicate-key' ? duplicateFirstKey(body, forge(text)) : body, charset);
}

/** Returns a forged success content, as an attacker on the connection would insert it. */
function forge(text: string): string {
  return contentText({
    ...(JSON.parse(text) as Content),
    code: '10000',
    msg: 'Success',
    trade_status: 'TRADE_SUCCESS',
    fund_change: 'Y',
  });
}

function json(body: string, charset: Charset): Answer {
  const headers = { 'Content-Type': `application/json;charset=${charset}` };
  return { status: 200, body, headers, encode: (text) => encode(text, charset) };
}

const OFFSET_MS = 8 * 3_600_000;

/** Formats an instant as `yyyy-MM-dd HH:mm:ss` in UTC+8. */
export function chinaTime(at: number): string {
  return new Date(at + OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Reads `yyyy-MM-dd HH:mm:ss` in UTC+8 into milliseconds; undefined for another form or an invalid day. */
export function readChinaTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return undefined;
  const at = Date.parse(`${text.replace(' ', 'T')}Z`) - OFFSET_MS;
  return Number.isNaN(at) || chinaTime(at) !== text ? undefined : at;
}
