import type { BillLine, FeeRate, PayHint } from '../domain.ts';
import type { Money } from '../money.ts';

export interface Settlement {
  fee?: Money;
  net?: Money;
  /** The amount credited to the merchant's account, if the account has another currency than the payment. */
  received?: Money;
  /** When the channel completed a payment that it had first held back (PayPal: for up to 35 days). */
  completedAt?: Date;
}

/** Why a verified refusal of a create call does not prove that no payment exists. */
export type RefusalDoubt = 'unlisted' | 'trade_may_exist';

/**
 * The channel's answer about an order. A channel state that this service does not know becomes `pending`. A missing or
 * unreadable answer becomes `unknown`.
 */
export type Outcome =
  /**
   * The payment is not complete. `pay`: the payment link or code.
   * - `paySeconds`: `pay` is valid for this many seconds; afterwards the same create call renews it. Absent = `pay`
   *   is valid as long as the order.
   * - `capturePending`: the channel's reason why a capture is not complete.
   * - `waitsFor`: `merchant` if the merchant must act first.
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
      /** Whether the channel reports that the payment has refunds. */
      refundsHint?: boolean;
      /** The total refunded, in minor units of the amount's currency. */
      refundedTotal?: bigint;
      settlement?: Settlement;
    }
  | { kind: 'approved'; channelOrderId?: string }
  /** The order is closed finally and was never paid. */
  | { kind: 'closed' }
  /** The channel does not know the trade. This answer alone never changes an order. */
  | { kind: 'absent' }
  /**
   * The channel refused. `definite`: the code is listed as one that rules out a trade. `doubt`: the reason why a
   * verified refusal is not definite (the code is unlisted, or a trade may exist). If both are missing, the refusal was
   * not verified. `left`: after a refused capture, whether the payer can still choose another payment method.
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

/** A payment that the channel returned to the payer when it closed an order with a payer's code. */
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

export interface PaymentGivenBack {
  channelNo: string;
  /** The amount of the payment before refunds. */
  amount: Money;
}

/** The channel's answer about a refund. `pending` = certainly accepted, not done yet. */
export type RefundOutcome =
  | { kind: 'pending'; channelRefundNo?: string }
  /**
   * The refund succeeded. `toMerchant`: the money went to the merchant's own account, because the payer's account could
   * not be credited (WeChat Pay). `payment`: the refunded payment, for a refund made outside this service, because the
   * order may have two payments.
   */
  | {
      kind: 'succeeded';
      amount: Money;
      at: Date;
      channelRefundNo?: string;
      toMerchant?: boolean;
      payment?: PaymentGivenBack;
    }
  /** The refund will never happen; this result is final (WeChat CLOSED, PayPal CANCELLED/FAILED). */
  | { kind: 'failed'; code: string; reason: string; channelRefundNo?: string }
  /** The channel refused this call. Unless it is `definite`, an earlier call may still have made the refund. */
  | { kind: 'refused'; code: string; reason: string; definite?: boolean }
  | { kind: 'abnormal'; code: string; reason: string; channelRefundNo?: string }
  | { kind: 'absent' }
  /** `repeat`: the refund cannot be queried any more, but a repeat of the same call returns its result. */
  | (UnknownOutcome & { repeat?: true });

/** The id by which the channel's support finds the request. `callChannel` adds the id. */
export interface Traced {
  supportId?: string;
}

/** `refusal`: code and text of a verified refusal whose code is not listed in this service. */
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

/**
 * The sums that a bill states, to be compared with its lines. Minor units of one currency; null = the bill does not
 * state this sum.
 */
export interface BillTotals {
  currency: string;
  payments: number | null;
  paid: bigint | null;
  refunds: number | null;
  refunded: bigint | null;
  fees: bigint | null;
  /** The net amount that the channel pays to the merchant. */
  net: bigint | null;
  /** The balances of the account before and after the day. */
  balance?: {
    opening: bigint;
    closing: bigint;
    /** The sum of the lines that only hold back money, or release money that was held back. */
    holds: bigint;
  };
}

/** A bill is read in parts: batches of lines, then the sums that the bill states, if it states any. */
export type BillPart =
  | { kind: 'lines'; lines: readonly BillLine[] }
  | {
      kind: 'totals';
      totals: readonly BillTotals[];
      /** The sums in the bill that differ from the sums of the readable rows; only set if some rows were unreadable. */
      shortfall?: string;
    };

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

/** The file is not the expected bill; none of its lines count. */
export class BillMalformed extends Error {
  readonly fault: BillFault;
  /**
   * The position of the fault, counted from 1. `column` is a table cell, or a character of the line. Absent = the fault
   * concerns the whole file.
   */
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
 * The channel's answer to a request for a bill. `bill`: the file; reading `bytes` throws BillMalformed (`wrong_hash`,
 * `too_large`) or TransportFailed. `isWhole`: the file also has lines of other payees. `empty`: the day has no lines;
 * if `payee` is set, this is true only for that payee. `not_ready`: the bill is not available yet. `gone`: the day is
 * too old.
 */
export type BillAnswer =
  | { kind: 'bill'; bytes: AsyncIterable<Uint8Array>; isWhole?: true }
  | { kind: 'empty'; code: string; payee?: string }
  | { kind: 'not_ready' | 'gone'; code: string }
  | ({ kind: 'refused'; code: string; reason: string } & Traced)
  | UnknownOutcome;

export interface ReadHow {
  /**
   * If true, an unreadable row becomes a line of the kind `unreadable`. If false, the first unreadable row rejects the
   * file. Too many unreadable rows reject the file in both cases.
   */
  isLenient?: boolean;
  /** The file also has lines of other payees, which are skipped. */
  isWhole?: boolean;
}

export interface BillDesk {
  /** The configured fee rate; absent = fees are not compared. */
  readonly rate?: FeeRate;
  /** Fetches the bill of a day, `yyyy-MM-dd` in the channel's time zone; does not throw for a fault of the channel. */
  fetch(day: string): Promise<BillAnswer>;
  /**
   * Reads only the payee id from a bill file; the other content is not checked. Throws BillMalformed if the id cannot
   * be read.
   */
  payeeIn(file: string): Promise<string>;
  /**
   * Reads a file without holding it in memory. Throws BillMalformed if it is not the bill of this account and day, or
   * if its sums differ from its lines.
   */
  read(file: string, day: string, how?: ReadHow): AsyncIterable<BillPart>;
}

export interface BillCalendar {
  /** The offset of the channel's time zone from UTC in minutes: 480 in Beijing. */
  utcOffsetMinutes: number;
  /** Minutes between the end of a day and the first fetch of its bill. */
  readyAfterMinutes: number;
  /** The number of past days for which the channel still has bills. */
  backDays: number;
  /**
   * The maximum number of days for which the channel holds back a payment. The bill of the payment's first day contains
   * the payment only after the channel has completed it. Absent = bills contain no payments that were held back.
   */
  heldDays?: number;
  /** Set if the channel's bills contain the balances of the account before and after the day. */
  hasBalances?: true;
  /** Set if refunds on a bill are queried by PayPal's refund id; absent = by the refund number of this service. */
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

/** The day that is `days` days after `day`. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Whether a text is a valid date in the form `yyyy-MM-dd`. */
export function isDay(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/**
 * A bill is fetched again this many days after `readyAt` (the time of the first fetch), because channels correct bills.
 * The value 0 applies only to a bill that was fetched before `readyAt`.
 */
const AGAIN_DAYS = [0, 1, 6] as const;
/** A bill that is still not available this many days after `readyAt` is no longer fetched. */
const LAST_DAYS = 7;
const EVERY_SECONDS = 3600;

/** When to fetch the bill of a day for the first time. */
export function readyAt(day: string, calendar: BillCalendar): Date {
  return new Date(boundsOf(day, calendar).to.getTime() + calendar.readyAfterMinutes * MINUTE_MS);
}

/** When to fetch a bill again that was already read; null = never. */
export function againAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const first = readyAt(day, calendar).getTime();
  const next = AGAIN_DAYS.map((days) => new Date(first + days * DAY_MS)).find((at) => at > now);
  return next ?? null;
}

/** When to fetch a bill again because of a held payment; null = the channel's longest hold time is over. */
export function heldAgainAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  // The bill of `day` is fetched again whenever the newest bill is fetched. A payment that the channel held back
  // appears in the bill of `day` only after the channel has completed the payment.
  const next = readyAt(dayOf(new Date(now.getTime() - calendar.readyAfterMinutes * MINUTE_MS), calendar), calendar);
  const last = boundsOf(day, calendar).to.getTime() + (calendar.heldDays ?? 0) * DAY_MS;
  return next.getTime() <= last ? next : null;
}

/** When to request a bill again that was not available. null = no further request; the bill counts as missing. */
export function retryAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const next = new Date(now.getTime() + EVERY_SECONDS * 1000);
  return next.getTime() <= readyAt(day, calendar).getTime() + LAST_DAYS * DAY_MS ? next : null;
}
