import { TransportFailed, type UnknownCause, type WireAnswer } from '../../payments/channel.ts';
import { readEnvelope, UnreadableAnswer, type Envelope } from './envelope.ts';
import { judgeAnswer, type AlipayKeys } from './keys.ts';
import { blamedField, BUSY, CODE } from './status.ts';

/** What Alipay said over its signature. */
export interface Said {
  code: string;
  subCode: string;
  message: string;
  content: Readonly<Record<string, unknown>>;
}

/** No usable response; `subCode` is what an unsigned refusal claimed. */
export interface Unknown {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
  subCode?: string;
}

/** A reply: verified, or unknown. */
export type Reply = { kind: 'said'; said: Said } | Unknown;

/**
 * Reads an answer: HTTP 200, one JSON object, a genuine signature over the response member, in this order.
 * An unsigned refusal (Alipay sends some 4000x so) is always `unknown`: anybody could have written it, so it is neither
 * definite nor absent and cannot fail, close or release anything; its sub_code is kept for the operator and the probe.
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

/** What a failed exchange says. Anything but TransportFailed is a fault of ours and says as little. */
export function unknownFrom(error: unknown): Unknown {
  if (error instanceof TransportFailed) return unknown(error.why, error.message);
  return unknown('network', error instanceof Error ? error.message : 'The request failed.');
}

/** An unknown outcome, which changes nothing. */
export function unknown(cause: UnknownCause, detail: string, subCode?: string): Unknown {
  return { kind: 'unknown', cause, detail, ...(subCode ? { subCode } : {}) };
}

/** Signed refusals that say nothing about the trade: busy, a clock that is off, a configuration that is wrong. */
export function unknownRefusal({ code, subCode, message }: Said): Unknown | undefined {
  const detail = `${code} ${subCode} ${message}`.trim();
  if (subCode === 'isv.invalid-timestamp') return unknown('clock_skew', detail, subCode);
  if (code === CODE.unknown || BUSY.has(subCode)) return unknown('busy', detail, subCode);
  if (code === CODE.waiting) return unknown('in_progress', detail, subCode);
  if (code === CODE.token || code === CODE.permission || code === CODE.missing || code === CODE.invalid) {
    return unknown('misconfigured', detail, subCode);
  }
  return undefined;
}

async function judged(envelope: Envelope, keys: AlipayKeys): Promise<Reply> {
  const judgement = await judgeAnswer(keys, envelope.signed, envelope.sign, envelope.certSerial);
  if (judgement === 'serial_unknown') return unknown(judgement, `alipay_cert_sn "${envelope.certSerial}" is unknown.`);
  if (judgement === 'signature_invalid') return unknown(judgement, "The signature does not match Alipay's key.");
  const said = contentOf(envelope);
  // The member's name is outside the signature: an error member never carries a success.
  if (envelope.isError && said.code === CODE.ok) return unknown('unparsable', 'error_response with a success code.');
  return { kind: 'said', said };
}

function unsigned(envelope: Envelope): Unknown {
  const { code, subCode, message } = contentOf(envelope);
  const detail = `unsigned: ${code} ${subCode} ${message}`.trim();
  if (subCode === 'isv.invalid-timestamp') return unknown('clock_skew', detail, subCode);
  return unknown(blamedField(subCode) === null ? 'unsigned' : 'misconfigured', detail, subCode);
}

function contentOf({ signed }: Envelope): Said {
  const content = JSON.parse(signed) as Record<string, unknown>;
  const text = (name: string): string => (typeof content[name] === 'string' ? content[name] : '');
  return { code: text('code'), subCode: text('sub_code'), message: text('sub_msg') || text('msg'), content };
}
