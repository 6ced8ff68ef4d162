import type { Offers, Trade } from '../trade.ts';

/** Where money of a bill stands: it moved, it is about to, or it did not. */
export type RowState = 'done' | 'under-way' | 'failed';

/** One line of a bill before a channel writes it in its own form. Times are milliseconds on the simulated clock, amounts minor units. */
export interface BillRow {
  /**
   * `dispute` = taken for a dispute, `dispute-back` = given back when it was won after all. `returned` = a refund that failed after its money
   * had left: it comes back. `hold`, `release`: kept from the merchant while a payment is disputed. `withdrawal`: paid out to its bank.
   */
  kind: 'payment' | 'refund' | 'dispute' | 'dispute-back' | 'returned' | 'hold' | 'release' | 'withdrawal';
  /** The channel's number of this payment or refund. */
  number: string;
  /** The channel's number of the payment that it is about. */
  tradeNo: string;
  /** The merchant's number of the order. */
  orderNo: string;
  /** The merchant's number of the refund. */
  refundNo: string | null;
  state: RowState;
  /** Never negative; `kind` says which way it goes. */
  minor: number;
  /** Who bears what of it. */
  offers: Offers;
  /** Of a refund: paid from the available balance. */
  fromAvailable: boolean;
  currency: string;
  /** What the channel keeps; negative when it gives a fee back. */
  fee: number;
  at: number;
  /** When the order was created. */
  createdAt: number;
  subject: string;
  /** Its amount is written as no amount is. */
  isUnreadable?: true;
  /** Null = another system's. */
  trade: Trade | null;
}
