/**
 * Where a bill stands. `waiting`: the channel is to be asked for it. `reading`: its file is read into lines. `matching`: its lines are
 * to be compared with the orders. `done`: compared. `refused`: the file was not the bill that it should be, or the channel gives none
 * to this account. `missing`: the channel gives none any more.
 */
export const BILL_STATES = ['waiting', 'reading', 'matching', 'done', 'refused', 'missing'] as const;
export type BillState = (typeof BILL_STATES)[number];

/** Where a bill came from. */
export const BILL_SOURCES = ['channel', 'import'] as const;
export type BillSource = (typeof BILL_SOURCES)[number];

/** How a bill and the orders of its account may differ. A line without a number of our form is counted and is no difference. */
export const DIFFERENCE_KINDS = [
  'paid_unknown_to_us',
  'paid_missing_at_channel',
  'amount_differs',
  'currency_differs',
  'refund_unknown_to_us',
  'refund_missing_at_channel',
  'refund_amount_differs',
  'fee_differs',
  'duplicate_payment',
  'line_twice',
  'order_unknown_here',
  'dispute_unknown_to_us',
  'line_unreadable',
] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

/** Lines of other systems at the same account: counted in every bill, listed when they are asked for. */
export const NOT_OURS = 'order_not_ours';

/**
 * Where a difference stands. `open`: the channel is to be asked. `healed`: bill and order agree by now. `listed`: the channel was
 * asked and they still differ, so it is an exception. `ended`: a person resolved that.
 */
export const DIFFERENCE_STATES = ['open', 'healed', 'listed', 'ended'] as const;
export type DifferenceState = (typeof DIFFERENCE_STATES)[number];

/** One of the two sides of a difference: what stands in the bill, or in our books. Amounts are minor units as text. */
export interface DifferenceSide {
  state?: string | undefined;
  amount?: string | undefined;
  currency?: string | undefined;
  fee?: string | undefined;
  channelNo?: string | undefined;
  at?: string | undefined;
  line?: number | undefined;
  /** Why the line could not be read, with its line and column in the file. */
  reason?: string | undefined;
}

/** What the lines of a bill come to for one project and currency, in minor units as text; `project` null = other systems. */
export interface BillSum {
  project: string | null;
  currency: string;
  payments: number;
  paid: string;
  refunds: number;
  refunded: string;
  /** What the merchant gave up of payments, less what came back of it with refunds. */
  discounts: string;
  fees: string;
  /** What went on to those with whom the merchant shares. */
  shares: string;
  /** What disputes took from the account, as a positive amount. */
  disputed: string;
  /** What else moved money of the account. */
  other: string;
  /** Refunds that were under way when the bill was made: in none of these sums, because only our books know their end. */
  pending: number;
  /** The net of payments that the channel had held, by the other day on which it completed them. Absent = none. */
  onOtherDays?: Readonly<Record<string, string>>;
}

/** Refunds that a bill says are under way, by their end in our books. Minor units as text. */
export interface PendingRefunds {
  billNo: string;
  project: string | null;
  currency: string;
  /** `open` = their end is not known: they are under way, stuck, or another system's. */
  end: 'succeeded' | 'failed' | 'open';
  refunds: number;
  refunded: string;
  discounts: string;
  fees: string;
  shares: string;
}
