import type { BillLine, FeeRate, PayHint } from '../domain.ts';
import type { Money } from '../money.ts';

/** What is left of a payment for the merchant, as the channel says it. */
export interface Settlement {
  fee?: Money;
  net?: Money;
  /** What is credited, when the account has another currency. */
  received?: Money;
  /** When a payment that the channel had held was completed. */
  completedAt?: Date;
}

/** Why a genuine refusal of a create decides nothing. */
export type RefusalDoubt = 'unlisted' | 'trade_may_exist';

/** What a channel said about an order. A word that no table lists is `pending`; silence and nonsense are `unknown`. */
export type Outcome =
  /**
   * `paySeconds`: `pay` is to be renewed by the same create after so many seconds; absent = it lives as long as the order.
   * `capturePending`: the channel's reason why the money is not there yet; `waitsFor` says whether the merchant has to do something about it.
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
      /** There are refunds; how much they are in all is `refundedTotal`, where the channel says it. */
      refundsHint?: boolean;
      /** What went back in all, in minor units of the amount's currency. */
      refundedTotal?: bigint;
      settlement?: Settlement;
    }
  | { kind: 'approved'; channelOrderId?: string }
  /** The channel says that it is closed for good and was never paid. */
  | { kind: 'closed' }
  /** The channel knows no such trade; never moves an order by itself. */
  | { kind: 'absent' }
  /**
   * Refused; `definite` only when the code is on the allow-list of codes that cannot hide a trade. `doubt` says why a refusal that the
   * channel itself wrote is not: no list has its code, or the code says that there is such a trade, or may be one. With neither, anybody
   * may have written it. `left` says of a refused capture who can still do something about it: the payer, who chooses another way to
   * pay, or nobody.
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

/** A payment that the channel gave back when it closed the order (a payer's code that is cancelled). */
export interface Returned {
  /** The channel's id of the payment, where it says it. */
  channelNo: string | null;
  at: Date;
}

/** What a channel said when asked to close. `paid` and `refused` mean: query now. */
export type CloseOutcome =
  | { kind: 'closed'; returned?: Returned }
  | { kind: 'absent' }
  | { kind: 'paid' }
  | { kind: 'refused'; code: string; reason: string }
  | UnknownOutcome;

/** The payment that a refund gave back, as the channel names it. */
export interface PaymentGivenBack {
  /** The channel's own number of it. */
  channelNo: string;
  /** What came with it, before anything went back. */
  amount: Money;
}

/** What a channel said about a refund. `pending` = accepted for sure, not done yet. */
export type RefundOutcome =
  | { kind: 'pending'; channelRefundNo?: string }
  /**
   * `toMerchant`: paid out to the merchant's own account, because the payer's could not be credited (WeChat Pay). `payment`: whose
   * money it is, where a refund that somebody else made was looked up: an order may have been paid twice.
   */
  | {
      kind: 'succeeded';
      amount: Money;
      at: Date;
      channelRefundNo?: string;
      toMerchant?: boolean;
      payment?: PaymentGivenBack;
    }
  /** Final at the channel: it will not happen (WeChat CLOSED, PayPal CANCELLED/FAILED). */
  | { kind: 'failed'; code: string; reason: string; channelRefundNo?: string }
  /** This call was refused; the refund may still exist from an earlier call, unless the refusal is `definite`. */
  | { kind: 'refused'; code: string; reason: string; definite?: boolean }
  | { kind: 'abnormal'; code: string; reason: string; channelRefundNo?: string }
  | { kind: 'absent' }
  /** `repeat`: it cannot be asked any more; the same call under the same number tells. */
  | (UnknownOutcome & { repeat?: true });

/** Filled in by whoever asked: how the channel's support finds the request again. */
export interface Traced {
  supportId?: string;
}

/** Silence, or an answer that says nothing. `refusal`: it was genuine, and these are the words of the channel. */
export type UnknownOutcome = {
  kind: 'unknown';
  cause: UnknownCause;
  detail?: string;
  refusal?: { code: string; reason: string };
} & Traced;

/** Why an answer says nothing: stable words, distinct for each fault. */
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

/** The figures of a bill about itself, to be compared with the sum of its lines. Minor units of one currency; null = the bill has none. */
export interface BillTotals {
  currency: string;
  payments: number | null;
  paid: bigint | null;
  refunds: number | null;
  refunded: bigint | null;
  fees: bigint | null;
  /** What the channel settles for all of it. */
  net: bigint | null;
  /** The balances of the account before and after the day. */
  balance?: {
    opening: bigint;
    closing: bigint;
    /** The sum of its lines that only held or released money. */
    holds: bigint;
  };
}

/** What a reader gives: lines, some hundred at a time, and at the end the bill's own summary where it has one. */
export type BillPart =
  | { kind: 'lines'; lines: readonly BillLine[] }
  | {
      kind: 'totals';
      totals: readonly BillTotals[];
      /** Where rows could not be read: which sums of the bill are not those of the others. */
      shortfall?: string;
    };

/** Why a bill is refused as a whole. */
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

/** A file that is not the bill that it should be; nothing of it counts. */
export class BillMalformed extends Error {
  readonly fault: BillFault;
  /** Where, counted from 1; a column is a cell of a table or a character of a line. Absent where the fault is the whole file's. */
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
 * What a channel said when it was asked for a bill. `bill`: the file as it came, complete only when its last byte came; the iteration
 * throws BillMalformed (`wrong_hash`, `too_large`) or TransportFailed. `empty`: the channel says that nothing happened on that day, which
 * is a bill without lines, of this payee where the answer says or proves whose. `isWhole`: the file has the lines of other payees, too. `not_ready`: there is none yet. `gone`: too old, there will be none.
 */
export type BillAnswer =
  | { kind: 'bill'; bytes: AsyncIterable<Uint8Array>; isWhole?: true }
  | { kind: 'empty'; code: string; payee?: string }
  | { kind: 'not_ready' | 'gone'; code: string }
  | ({ kind: 'refused'; code: string; reason: string } & Traced)
  | UnknownOutcome;

/** How a file is read. */
export interface ReadHow {
  /** A row that cannot be read is a line of that kind, and refuses nothing, unless there are many. */
  isLenient?: boolean;
  /** The file has the lines of other payees, too, which are left out. */
  isWhole?: boolean;
}

/** What a channel offers for bills. */
export interface BillDesk {
  /** What the configuration says that the channel charges; absent = fees are not compared. */
  readonly rate?: FeeRate;
  /** Asks for the bill of a day, `yyyy-MM-dd` as the channel counts days; throws nothing for what the channel does. */
  fetch(day: string): Promise<BillAnswer>;
  /** The payee that a file says to be of, by the channel's own number; throws BillMalformed. Nothing else of the file is checked. */
  payeeIn(file: string): Promise<string>;
  /**
   * Reads a file, fetched or brought by hand, without holding it in memory. Throws BillMalformed for whatever is not this account's
   * bill of that day, and for sums that are not those of its lines.
   */
  read(file: string, day: string, how?: ReadHow): AsyncIterable<BillPart>;
}

/** When a channel makes its bills. */
export interface BillCalendar {
  /** Its days begin that many minutes before those of UTC: 480 in Beijing. */
  utcOffsetMinutes: number;
  /** From when on the bill of a day is asked for, in minutes after that day's end. */
  readyAfterMinutes: number;
  /** How many days back there are bills. */
  backDays: number;
  /** So long a payment may be held that enters the bill of its day only when it is completed. Absent = a bill has what was paid on its day. */
  heldDays?: number;
  /** A bill comes with the balances of the account, unless they could not be had. */
  hasBalances?: true;
  /** The channel looks a refund up by its own number; absent = by the number that its maker gave it. */
  refundsByOwnNumber?: true;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The day of an instant as a channel counts days: `yyyy-MM-dd`. */
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

/** The day so many days after another. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** A bill is asked for once more this many days after it came: channels mend theirs. 0: it was asked for before its day was over. */
const AGAIN_DAYS = [0, 1, 6] as const;
/** A bill that has not come by then is not asked for any more. */
const LAST_DAYS = 7;
const EVERY_SECONDS = 3600;

/** When a day's bill is first asked for. */
export function readyAt(day: string, calendar: BillCalendar): Date {
  return new Date(boundsOf(day, calendar).to.getTime() + calendar.readyAfterMinutes * MINUTE_MS);
}

/** When a bill that came is asked for once more; null = never. */
export function againAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const first = readyAt(day, calendar).getTime();
  const next = AGAIN_DAYS.map((days) => new Date(first + days * DAY_MS)).find((at) => at > now);
  return next ?? null;
}

/** When a bill is asked for once more because something of its day is held; null = no channel holds a payment for so long. */
export function heldAgainAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  // With the bill of the newest day: a settlement compares what was completed on it with the bill that lists it.
  const next = readyAt(dayOf(new Date(now.getTime() - calendar.readyAfterMinutes * MINUTE_MS), calendar), calendar);
  const last = boundsOf(day, calendar).to.getTime() + (calendar.heldDays ?? 0) * DAY_MS;
  return next.getTime() <= last ? next : null;
}

/** When a bill that did not come is asked for again; null = it is missing. */
export function retryAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const next = new Date(now.getTime() + EVERY_SECONDS * 1000);
  return next.getTime() <= readyAt(day, calendar).getTime() + LAST_DAYS * DAY_MS ? next : null;
}
