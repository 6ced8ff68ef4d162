import { createHash } from 'node:crypto';

/** The simulated payer's behaviour, encoded in the last digit. */
const LAST = { pays: '7', 'asks-password': '1', 'has-no-money': '2', 'showed-it-long-ago': '0' } as const;

/** Returns a payment code that is unique and stable per seed. */
export function shownCode(seed: string, payer: keyof typeof LAST = 'pays'): string {
  const digits = BigInt(`0x${createHash('sha256').update(seed).digest('hex').slice(0, 16)}`).toString();
  return `28${digits.padStart(15, '0').slice(0, 15)}${LAST[payer]}`;
}
