import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

/** The number by which a channel knows a refund: its own, and from the second attempt on with the attempt behind it. */
export function numberAtChannel({ refundNo, attempt }: { refundNo: string; attempt: number }): string {
  return attempt === 1 ? refundNo : `${refundNo}_${attempt}`;
}

/** The refund and the attempt that a channel's number means; a number that is not ours reads as the first attempt of its own. */
export function readNumberAtChannel(text: string): { refundNo: string; attempt: number } {
  const [, refundNo, attempt] = /^(R[A-Z0-9]+)_([2-9]|[1-9]\d+)$/.exec(text) ?? [];
  return refundNo === undefined ? { refundNo: text, attempt: 1 } : { refundNo, attempt: Number(attempt) };
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A number that is valid at every channel: letter, yyyyMMddHHmmss (UTC), 10 random base32 characters. */
export function newNumber(letter: 'P' | 'R' | 'X' | 'D' | 'B', at: Date): string {
  const stamp = at.toISOString().replace(/\D/g, '').slice(0, 14);
  let random = '';
  for (const byte of randomBytes(10)) random += ALPHABET[byte & 31];
  return letter + stamp + random;
}

/** When a number of ours was made; undefined for one that is not ours. */
export function madeAt(text: string): Date | undefined {
  if (!isOurNumber(text)) return undefined;
  const at = text.slice(1, 15).replace(/^(....)(..)(..)(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z');
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Whether a number could be one that `newNumber` made. */
export function isOurNumber(text: string): boolean {
  return /^[PRX]\d{14}[0-9A-HJKMNP-TV-Z]{10}$/.test(text);
}

/** What the requests of one call of a channel brought beside their answers. */
interface ChannelCall {
  supportId: string | null;
}

const calls = new AsyncLocalStorage<ChannelCall>();

/** Runs one call of a channel, and gives the number by which the channel's support finds its last request. */
export async function inChannelCall<T>(work: () => Promise<T>): Promise<{ answer: T; supportId: string | null }> {
  const call: ChannelCall = { supportId: null };
  const answer = await calls.run(call, work);
  return { answer, supportId: call.supportId };
}

/** Tells the running call, if there is one, how the channel names a request that it answered. */
export function noteSupportId(supportId: string): void {
  const call = calls.getStore();
  if (call) call.supportId = supportId;
}
