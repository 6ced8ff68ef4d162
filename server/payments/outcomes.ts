import type { BillLine, FeeRate, PayHint } from '../domain.ts';
import type { Money } from '../money.ts';

/** Fee and net amount of a payment, as the channel reports them. */
export interface Settlement {
  fee?: Money;
  net?: Money;
  /** The credited amount, if the account has another currency. */
  received?: Money;
  /** When a held payment was completed. */
  completedAt?: Date;
}

/** Why a verified refusal of a create is not certain. */
export type RefusalDoubt = 'unlisted' | 'trade_may_exist';

/**
 * The channel's answer about an order. A state that is missing from the channel's mapping is `pending`; no answer or an unreadable one is
 * `unknown`.
 */
export type Outcome =
  /**
   * `paySeconds`: after so many seconds the payment link `pay` must be renewed by the same create call; absent = the link is valid as long
   * as the order. `capturePending`: the channel's reason why the money is not there yet; `waitsFor`: the merchant must act.
   */
  | {
      kind: 'pending';
      pay?: PayHint;
      paySeconds?: number;
      channelOrderId?: string;
      capturePending?: string;
      waitsFor?: 'merchant';
    }
  | {
      kind: 'paid';
      channelNo: string;
      amount: Money;
      at: Date;
      payer?: string;
      channelOrderId?: string;
      /** The payment has refunds; `refundedTotal` is their sum, if the channel reports it. */
      refundsHint?: boolean;
      /** The total refunded, in minor units of the amount's currency. */
      refundedTotal?: bigint;
      settlement?: Settlement;
    }
  | { kind: 'approved'; channelOrderId?: string }
  /** Closed for good and never paid. */
  | { kind: 'closed' }
  /** The channel does not know the trade; never changes an order by itself. */
  | { kind: 'absent' }
  /**
   * Refused; `definite` only if the code is on the list of codes that rule out a trade. `doubt`: why a verified refusal is not definite (the
   * code is unlisted, or a trade may exist). Without both, the refusal was not verified. `left`: after a refused capture, whether the payer
   * can still choose another payment method.
   */
  | ({
      kind: 'declined';
      code: string;
      reason: string;
      definite: boolean;
      doubt?: RefusalDoubt;
      left?: 'payer' | 'nobody';
    } & Traced)
  | UnknownOutcome;

/** A payment that the channel returned when it closed the order (a cancelled payer's code). */
export interface Returned {
  /** The channel's id of the payment, if reported. */
  channelNo: string | null;
  at: Date;
}

/** The channel's answer to a close. After `paid` or `refused` the order must be queried. */
export type CloseOutcome =
  | { kind: 'closed'; returned?: Returned }
  | { kind: 'absent' }
  | { kind: 'paid' }
  | { kind: 'refused'; code: string; reason: string }
  | UnknownOutcome;

/** The refunded payment, as the channel names it. */
export interface PaymentGivenBack {
  /** The channel's number of the payment. */
  channelNo: string;
  /** The amount of the payment before refunds. */
  amount: Money;
}

/** The channel's answer about a refund. `pending` = certainly accepted, not done yet. */
export type RefundOutcome =
  | { kind: 'pending'; channelRefundNo?: string }
  /**
   * `toMerchant`: paid to the merchant's own account, because the payer's could not be credited (WeChat Pay). `payment`: the refunded
   * payment, if the refund was made outside this service, because an order may have been paid twice.
   */
  | {
      kind: 'succeeded';
      amount: Money;
      at: Date;
      channelRefundNo?: string;
      toMerchant?: boolean;
      payment?: PaymentGivenBack;
    }
  /** Final: the refund will not happen (WeChat CLOSED, PayPal CANCELLED/FAILED). */
  | { kind: 'failed'; code: string; reason: string; channelRefundNo?: string }
  /** This call was refused; an earlier call may still have made the refund, unless the refusal is `definite`. */
  | { kind: 'refused'; code: string; reason: string; definite?: boolean }
  | { kind: 'abnormal'; code: string; reason: string; channelRefundNo?: string }
  | { kind: 'absent' }
  /** `repeat`: the refund cannot be queried any more; a repeat of the same call returns its result. */
  | (UnknownOutcome & { repeat?: true });

/** The id by which the channel's support finds the request; added by the caller. */
export interface Traced {
  supportId?: string;
}

/** No answer, or an unusable one. `refusal`: code and text of a verified refusal whose code is unlisted. */
export type UnknownOutcome = {
  kind: 'unknown';
  cause: UnknownCause;
  detail?: string;
  refusal?: { code: string; reason: string };
} & Traced;

/** The cause of an unknown result. The words are stable, because API errors contain them. */
export type UnknownCause =
  | 'timeout'
  | 'network'
  | 'http_status'
  | 'redirected'
  | 'too_large'
  | 'unparsable'
  | 'duplicate_key'
  | 'unsigned'
  | 'signature_invalid'
  | 'serial_unknown'
  | 'clock_skew'
  | 'mismatch'
  | 'busy'
  | 'in_progress'
  | 'rejected'
  | 'chain_incomplete'
  | 'misconfigured';

/** The sums that a bill states, to be compared with its lines. Minor units of one currency; null = the bill has none. */
export interface BillTotals {
  currency: string;
  payments: number | null;
  paid: bigint | null;
  refunds: number | null;
  refunded: bigint | null;
  fees: bigint | null;
  /** The net amount that the channel settles. */
  net: bigint | null;
  /** The balances of the account before and after the day. */
  balance?: {
    opening: bigint;
    closing: bigint;
    /** The sum of lines that only hold or release money. */
    holds: bigint;
  };
}

/** A part of a bill that is read: a batch of lines, or after the last line the bill's own sums, if it has any. */
export type BillPart =
  | { kind: 'lines'; lines: readonly BillLine[] }
  | {
      kind: 'totals';
      totals: readonly BillTotals[];
      /** If rows were unreadable: the sums that the bill states and that differ from the sums of the readable rows. */
      shortfall?: string;
    };

/** Why a whole bill is rejected. */
export const BILL_FAULTS = [
  'not_a_bill',
  'cut_short',
  'wrong_charset',
  'wrong_columns',
  'wrong_cell',
  'wrong_account',
  'wrong_day',
  'wrong_hash',
  'wrong_sums',
  'too_large',
  'empty_bill',
] as const;
export type BillFault = (typeof BILL_FAULTS)[number];

/** A file that is not the expected bill; nothing of it counts. */
export class BillMalformed extends Error {
  readonly fault: BillFault;
  /** The position, counted from 1; a column is a cell of a table or a character of a line. Absent = the whole file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  constructor(fault: BillFault, detail: string, at: { line?: number; column?: number } = {}) {
    super(detail);
    this.name = 'BillMalformed';
    this.fault = fault;
    this.line = at.line;
    this.column = at.column;
  }
}

/**
 * The channel's answer to a request for a bill. `bill`: the file, complete with its last byte; the iteration throws BillMalformed
 * (`wrong_hash`, `too_large`) or TransportFailed. `empty`: nothing happened on that day, for this payee if the answer names or proves one.
 * `isWhole`: the file also has lines of other payees. `not_ready`: not available yet. `gone`: too old.
 */
export type BillAnswer =
  | { kind: 'bill'; bytes: AsyncIterable<Uint8Array>; isWhole?: true }
  | { kind: 'empty'; code: string; payee?: string }
  | { kind: 'not_ready' | 'gone'; code: string }
  | ({ kind: 'refused'; code: string; reason: string } & Traced)
  | UnknownOutcome;

/** Options for reading a bill. */
export interface ReadHow {
  /** An unreadable row becomes a line of that kind instead of rejecting the file, up to a limit. */
  isLenient?: boolean;
  /** The file also has lines of other payees, which are skipped. */
  isWhole?: boolean;
}

/** The bills of a channel. */
export interface BillDesk {
  /** The configured fee rate; absent = fees are not compared. */
  readonly rate?: FeeRate;
  /** Fetches the bill of a day, `yyyy-MM-dd` in the channel's time zone; does not throw for a fault of the channel. */
  fetch(day: string): Promise<BillAnswer>;
  /** The payee that a file names, by the channel's number; throws BillMalformed. Checks nothing else. */
  payeeIn(file: string): Promise<string>;
  /**
   * Reads a fetched or imported file without holding it in memory. Throws BillMalformed if it is not the bill of this account and day, or
   * if its sums differ from its lines.
   */
  read(file: string, day: string, how?: ReadHow): AsyncIterable<BillPart>;
}

/** When a channel makes its bills. */
export interface BillCalendar {
  /** Minutes by which the channel's days begin before the days of UTC: 480 in Beijing. */
  utcOffsetMinutes: number;
  /** Minutes from the end of a day to the first fetch of its bill. */
  readyAfterMinutes: number;
  /** The number of past days with bills. */
  backDays: number;
  /**
   * The days for which a payment may be held. Such a payment appears in the bill of its first day only after it is completed. Absent =
   * bills have no such payments.
   */
  heldDays?: number;
  /** A bill comes with the balances of the account, if they are available. */
  hasBalances?: true;
  /** The channel finds a refund by the channel's own number; absent = by the refund number of the requester. */
  refundsByOwnNumber?: true;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The day of an instant in the channel's time zone: `yyyy-MM-dd`. */
export function dayOf(at: Date, { utcOffsetMinutes }: Pick<BillCalendar, 'utcOffsetMinutes'>): string {
  return new Date(at.getTime() + utcOffsetMinutes * MINUTE_MS).toISOString().slice(0, 10);
}

/** The instants at which a day begins and ends. */
export function boundsOf(
  day: string,
  { utcOffsetMinutes }: Pick<BillCalendar, 'utcOffsetMinutes'>,
): { from: Date; to: Date } {
  const from = new Date(Date.parse(`${day}T00:00:00Z`) - utcOffsetMinutes * MINUTE_MS);
  return { from, to: new Date(from.getTime() + DAY_MS) };
}

/** The day `days` after another. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Days after `readyAt` at which a bill is fetched again, because channels correct bills. 0: it was fetched before `readyAt`. */
const AGAIN_DAYS = [0, 1, 6] as const;
/** A bill that is still not available this many days after `readyAt` is no longer fetched. */
const LAST_DAYS = 7;
const EVERY_SECONDS = 3600;

/** When a day's bill is first fetched. */
export function readyAt(day: string, calendar: BillCalendar): Date {
  return new Date(boundsOf(day, calendar).to.getTime() + calendar.readyAfterMinutes * MINUTE_MS);
}

/** When a bill that was read is fetched again; null = never. */
export function againAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const first = readyAt(day, calendar).getTime();
  const next = AGAIN_DAYS.map((days) => new Date(first + days * DAY_MS)).find((at) => at > now);
  return next ?? null;
}

/** When a bill is fetched again because a payment of its day is held; null = no channel holds a payment for so long. */
export function heldAgainAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  // At the same time as the newest day's bill, because the settlement compares completed payments with the bill that lists them.
  const next = readyAt(dayOf(new Date(now.getTime() - calendar.readyAfterMinutes * MINUTE_MS), calendar), calendar);
  const last = boundsOf(day, calendar).to.getTime() + (calendar.heldDays ?? 0) * DAY_MS;
  return next.getTime() <= last ? next : null;
}

/** When a bill that did not come is fetched again; null = the bill counts as missing. */
export function retryAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const next = new Date(now.getTime() + EVERY_SECONDS * 1000);
  return next.getTime() <= readyAt(day, calendar).getTime() + LAST_DAYS * DAY_MS ? next : null;
}
