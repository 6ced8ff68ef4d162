import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

/** The number under which the channel knows a refund, with the suffix `_<attempt>` from the second attempt on. */
export function numberAtChannel({ refundNo, attempt }: { refundNo: string; attempt: number }): string {
  return attempt === 1 ? refundNo : `${refundNo}_${attempt}`;
}

/** Splits the channel's number of a refund; a number in another form counts as a first attempt. */
export function readNumberAtChannel(text: string): { refundNo: string; attempt: number } {
  const [, refundNo, attempt] = /^(R[A-Z0-9]+)_([2-9]|[1-9]\d+)$/.exec(text) ?? [];
  return refundNo === undefined ? { refundNo: text, attempt: 1 } : { refundNo, attempt: Number(attempt) };
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Generates a number that every channel accepts: letter, yyyyMMddHHmmss (UTC), 10 random base32 characters. */
export function newNumber(letter: 'P' | 'R' | 'X' | 'D' | 'B', at: Date): string {
  const stamp = at.toISOString().replace(/\D/g, '').slice(0, 14);
  let random = '';
  for (const byte of randomBytes(10)) random += ALPHABET[byte & 31];
  return letter + stamp + random;
}

/** When the service generated a number; undefined for a number in another form. */
export function madeAt(text: string): Date | undefined {
  if (!isOurNumber(text)) return undefined;
  const at = text.slice(1, 15).replace(/^(....)(..)(..)(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z');
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Whether a number has the form of an order or refund number of the service. */
export function isOurNumber(text: string): boolean {
  return /^[PRX]\d{14}[0-9A-HJKMNP-TV-Z]{10}$/.test(text);
}

/** `supportId`: the id by which the channel's support finds the request. */
interface ChannelCall {
  supportId: string | null;
}

const calls = new AsyncLocalStorage<ChannelCall>();

/** Runs one channel call; also returns the support id of its last request. */
export async function inChannelCall<T>(work: () => Promise<T>): Promise<{ answer: T; supportId: string | null }> {
  const call: ChannelCall = { supportId: null };
  const answer = await calls.run(call, work);
  return { answer, supportId: call.supportId };
}

/** Stores the channel's id of a request in the running channel call, if there is one. */
export function noteSupportId(supportId: string): void {
  const call = calls.getStore();
  if (call) call.supportId = supportId;
}
