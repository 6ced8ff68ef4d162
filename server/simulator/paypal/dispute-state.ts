import type { Trade } from '../trade.ts';

/** A dispute as PayPal keeps it, inside the details of its trade. Times are milliseconds of the simulated clock. */
export interface SimulatedDispute {
  id: string;
  minor: number;
  reason: string;
  stage: 'INQUIRY' | 'CHARGEBACK';
  status: 'OPEN' | 'WAITING_FOR_SELLER_RESPONSE' | 'UNDER_REVIEW' | 'RESOLVED';
  outcome: string | null;
  /** What the payer got, and what of it the merchant paid; minor units. */
  refunded: number;
  taken: number;
  /** The number of the refund that took it. */
  refundNumber: string | null;
  /** Whether `money_movements` tells what was taken. */
  movements: boolean;
  messages: { by: 'BUYER' | 'SELLER'; text: string; at: number }[];
  evidence: string[];
  /** How many files came with the evidence. */
  files: number;
  dueAt: number | null;
  createdAt: number;
  updatedAt: number;
}

/** The disputes of a trade, oldest first. */
export function disputesOf({ details }: Trade): SimulatedDispute[] {
  return (details['disputes'] as SimulatedDispute[] | undefined) ?? [];
}

/** Whether the merchant may give in now. */
export function canAccept({ status }: SimulatedDispute): boolean {
  return status === 'OPEN' || status === 'WAITING_FOR_SELLER_RESPONSE';
}
