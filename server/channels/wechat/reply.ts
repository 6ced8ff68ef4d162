import { TransportFailed, type UnknownCause, type WireAnswer } from '../../payments/channel.ts';
import type { Judge } from './genuine.ts';
import { readObject, textIn, UnreadableJson, type Members } from './json.ts';
import { BUSY_CODES, CREDENTIAL_CODES, readCode } from './status.ts';

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
export async function readReply(answer: WireAnswer, judge: Judge): Promise<Reply> {
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
export function unknownFrom(error: unknown): Unknown {
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
