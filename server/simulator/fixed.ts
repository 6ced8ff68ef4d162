import { majorText } from '../payments/money.ts';
import type { FixedOutcome } from './trade.ts';

const OUTCOMES: Readonly<Record<string, FixedOutcome>> = {
  '0.01': 'pays',
  '0.02': 'declined',
  '0.03': 'pays-later',
  '0.04': 'late-notice',
  '0.05': 'refunds-fail',
  '0.06': 'silent',
};

/** Which outcome the exact amount of a create call asks for; null = the order waits for its payer. */
export function fixedOutcome(minor: number, currency: string): FixedOutcome | null {
  const text = majorText({ minor: BigInt(minor), currency });
  return Object.hasOwn(OUTCOMES, text) ? OUTCOMES[text]! : null;
}
