import type { Money } from './money.ts';
import type { Traced, UnknownOutcome } from './unknown-outcome.ts';

/** Where a dispute stands: `needs_answer` waits for the merchant, `lost` and `won` are its ends. */
export const DISPUTE_STATES = ['open', 'needs_answer', 'under_review', 'won', 'lost'] as const;
export type DisputeState = (typeof DISPUTE_STATES)[number];

/** A dispute as its channel tells it. */
export interface ChannelDispute {
  channelDisputeNo: string;
  /** The channel's numbers of the payments that it is about. */
  tradeNos: readonly string[];
  /** Our number of the order, where the channel repeats it. */
  orderNo: string | null;
  /** The channel's own word. */
  reason: string;
  /** What the payer disputes; the money may be less than the payment. */
  amount: Money;
  state: DisputeState;
  /** Until when the merchant must answer. */
  dueAt: Date | null;
  openedAt: Date;
  /** What was taken from the merchant; only of a dispute that is lost. */
  lost?: LostMoney;
}

/** The money of a lost dispute. */
export interface LostMoney {
  amount: Money;
  at: Date;
  /** The channel booked it for the dispute itself; otherwise a refund of the merchant may be meant. */
  booked: boolean;
}

/** What a channel said about one dispute. */
export type DisputeOutcome = { kind: 'found'; dispute: ChannelDispute } | { kind: 'absent' } | UnknownOutcome;

/** One dispute in a list. `mark` is another text when something about the dispute is: what has the same one need not be read again. */
export interface ListedDispute {
  channelDisputeNo: string;
  mark: string;
}

/** One page of a list; `next` asks for the page after it. */
export type DisputePage =
  | { kind: 'listed'; disputes: readonly ListedDispute[]; next: string | undefined }
  | UnknownOutcome;

/** What a channel said to an answer or to the acceptance of a claim. */
export type DisputeDeed =
  | { kind: 'done' }
  | ({ kind: 'refused'; code: string; reason: string } & Traced)
  | UnknownOutcome;

/** What a merchant may say that became of a complaint, where the channel asks for it. */
export const COMPLAINT_RESULTS = ['agreed', 'refunded', 'corrected', 'proven', 'other'] as const;
export type ComplaintResult = (typeof COMPLAINT_RESULTS)[number];

/** A file that goes with an answer; the channel gets it and nobody keeps it. */
export interface EvidenceFile {
  name: string;
  bytes: Buffer;
}

/** What a channel offers for disputes. No method throws for anything the channel does. */
export interface DisputeDesk {
  read(channelDisputeNo: string): Promise<DisputeOutcome>;
  /** Disputes that were opened or changed since then. */
  list(since: Date, page?: string): Promise<DisputePage>;
  /** Those about one payment, whenever they were opened. Absent = the channel lists by time alone. */
  listOf?(channelTradeNo: string, page?: string): Promise<DisputePage>;
  /** Sends text to the payer or to the channel, whichever the stage of the dispute calls for. */
  answer(channelDisputeNo: string, text: string, files: readonly EvidenceFile[]): Promise<DisputeDeed>;
  /** Says that the merchant has dealt with it. Absent = the channel decides that alone. */
  finish?(channelDisputeNo: string, result: ComplaintResult): Promise<DisputeDeed>;
  /** Gives in: the payer gets the disputed money from the merchant. Absent = the channel does not take it. */
  accept?(channelDisputeNo: string, note: string): Promise<DisputeDeed>;
}
