import { z } from 'zod';
import { readMajorText } from '../payments/money.ts';
import { SimulatorRefusal } from './refusal.ts';
import type { Trade } from './trade.ts';

/** What a payer, or the channel's own people, do about a payment that is disputed. */
export const DISPUTE_DEEDS = ['open', 'escalate', 'ask', 'review', 'lose', 'win', 'cancel', 'appeal'] as const;

/** One such deed. Amounts are major units; `refund`: how a loss shows, see `server/simulator/README.md`. */
export const DisputeDeed = z.object({
  act: z.enum(DISPUTE_DEEDS),
  amount: z.union([z.string(), z.number()]).optional(),
  reason: z.string().max(64).optional(),
  dueDays: z.number().min(0).max(180).default(10),
  refund: z.enum(['told', 'untold', 'payout']).default('untold'),
  /** Of `open`, at PayPal: the money is held until the dispute ends. */
  hold: z.boolean().optional(),
});
export type DisputeDeed = z.infer<typeof DisputeDeed>;

/** The amount of a deed in minor units, the whole payment when it names none. */
export function disputedMinor(trade: Trade, { amount }: DisputeDeed): number {
  if (amount === undefined) return trade.minor;
  const money = readMajorText(String(amount), trade.currency);
  if (money === undefined || money.minor <= 0n || money.minor > BigInt(trade.minor))
    throw new SimulatorRefusal(400, 'amount_invalid', 'amount must be in major units, at most the payment.');
  return Number(money.minor);
}
