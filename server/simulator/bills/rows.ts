/**
 * Computes the rows of a bill in a format that is the same for all channels. The rows come from the simulator's trades
 * and from the fillers (payments that the simulator invents as if another system had made them). Also computes fees, days and months.
 */
import { createHash } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import {
  type Hold,
  NO_OFFERS,
  type Offers,
  type Payment,
  type Refund,
  type Trade,
  paymentOf,
  stateAt,
} from '../trade.ts';

/** Whether the money of a row moved (`done`), is still going to move (`under-way`) or did not move (`failed`). */
type RowState = 'done' | 'under-way' | 'failed';

/** Times are milliseconds on the simulated clock, amounts are minor units. */
export interface BillRow {
  /**
   * `dispute`: money that the channel took from the merchant because of a dispute. `dispute-back`: the channel returned
   * this money, because the merchant won the dispute. `returned`: a refund failed after its money had left the account,
   * so the money came back. `hold`: the channel holds money during a dispute. `release`: it no longer holds the money.
   * `withdrawal`: money went to the merchant's bank.
   */
  kind: 'payment' | 'refund' | 'dispute' | 'dispute-back' | 'returned' | 'hold' | 'release' | 'withdrawal';
  /** The id that the channel gave to the payment, refund or dispute of this row. */
  number: string;
  /** The id that the channel gave to the payment. The row of a refund names the refunded payment. */
  tradeNo: string;
  orderNo: string;
  /** The refund number that the merchant chose; null if the row has no refund number. */
  refundNo: string | null;
  state: RowState;
  /** Never negative; `kind` gives the direction. */
  minor: number;
  /** The discounts and profit shares that are included in `minor`. */
  offers: Offers;
  /** Only for a refund: true if the refund was paid from the merchant's available balance. */
  fromAvailable: boolean;
  currency: string;
  /** The fee in minor units. Positive: the channel charges the fee. Negative: the channel returns the fee. */
  fee: number;
  at: number;
  createdAt: number;
  subject: string;
  /** If true, the bill shows unreadable text instead of the amount. */
  isUnreadable?: true;
  /** The trade in the simulator; null for an invented payment of another system. */
  trade: Trade | null;
}

const DAY_MS = 86_400_000;

/** The rules of a channel for its bills and fees. Amounts are minor units. */
export interface BillRules {
  readonly payWay: PayWay;
  /** How far the channel's local time is ahead of UTC (ms); in bills, a day begins at midnight local time. */
  readonly offsetMs: number;
  /** The currency of payments that another system of the merchant made. */
  readonly currency: string;
  /** The fee rate of the merchant as text, in the form of the channel configuration (a percentage). */
  readonly feeRate: string;
  /** Computes the fee. `minor` is the amount of the payment minus the merchant's own discounts. */
  feeOf(minor: number): number;
  readonly keepsFees?: true;
  readonly refundsLeave: 'accepted' | 'done';
  /**
   * If true, the bill shows an `abnormal` refund (the payer's account could not be credited) as still in progress. Its
   * money has already left the merchant's account.
   */
  readonly stuckIsUnderWay?: true;
  /** Derives a payment id in the channel's format from hexadecimal digits. Used for invented payments. */
  numberFrom(digest: string): string;
  /** The test conditions and planted differences that the bills of this channel cannot show. */
  readonly lacks: readonly string[];
  readonly offers: readonly (keyof Offers)[];
}

/** A time span in ms; `to` is not part of it. */
export interface Span {
  from: number;
  to: number;
}

/** The rules for bills and fees that are the same at Alipay and WeChat Pay. */
export const CHINA_RULES = {
  offsetMs: 8 * 3_600_000,
  currency: 'CNY',
  feeRate: '0.6',
  // Rounds half up to the fen. WeChat Pay's sample of a bill has a fee of 7.79 for 1299.02.
  feeOf: (minor: number) => Math.floor((minor * 6 + 500) / 1000),
  refundsLeave: 'accepted',
} as const;

type Zone = Pick<BillRules, 'offsetMs'>;

/** Returns the day of an instant in the channel's time zone, as `yyyy-MM-dd`. */
export function dayOf(zone: Zone, at: number): string {
  return new Date(at + zone.offsetMs).toISOString().slice(0, 10);
}

/** Returns the time span of a day (`yyyy-MM-dd`) in the channel's time zone; undefined for an invalid day. */
export function spanOfDay(zone: Zone, day: string): Span | undefined {
  const from = midnight(zone, day);
  return from === undefined ? undefined : { from, to: from + DAY_MS };
}

/** Returns the span of a month, `yyyy-MM`; undefined for an invalid month. */
export function spanOfMonth(zone: Zone, month: string): Span | undefined {
  const from = midnight(zone, `${month}-01`);
  if (from === undefined) return undefined;
  const [year = 0, number = 0] = month.split('-').map(Number);
  return { from, to: Date.UTC(year, number, 1) - zone.offsetMs };
}

/** Returns every day of which at least a part lies in the time span. The days are in the channel's time zone. */
export function daysIn(zone: Zone, { from, to }: Span): string[] {
  const first = midnight(zone, dayOf(zone, from)) ?? from;
  return Array.from({ length: Math.ceil((to - first) / DAY_MS) }, (_, index) => dayOf(zone, first + index * DAY_MS));
}

/** Goes back `months` months from the day of `at`. Returns the start of that day in the channel's time zone. */
export function monthsBefore(zone: Zone, at: number, months: number): number {
  const day = new Date(at + zone.offsetMs);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() - months, day.getUTCDate()) - zone.offsetMs;
}

function midnight(zone: Zone, day: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return undefined;
  const at = Date.parse(`${day}T00:00:00Z`);
  const isReal = !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
  return isReal ? at - zone.offsetMs : undefined;
}

/**
 * Returns the fee that the channel gives back with one more refund. It is the fee for the refunded amount, but never
 * more than the channel still keeps of the original fee.
 */
export function feeBackOf({ feeOf, keepsFees }: BillRules, trade: Trade, minor: number): number {
  if (keepsFees) return 0;
  const { refunds, offers } = trade;
  const paid = feeOf((paymentOf(trade)?.minor ?? 0) - (offers?.merchant ?? 0));
  const back = refunds.filter(({ state }) => state !== 'failed').reduce((sum, { feeBack }) => sum + feeBack, 0);
  return Math.min(feeOf(minor), paid - back);
}

/** Payments of another system, spread evenly over a span; computed, not stored, and the same at every call. */
export interface Filler extends Span {
  rules: BillRules;
  count: number;
}

/** Returns one invented payment of another system. `index` counts from 0. */
export function fillerRow({ rules, from, to, count }: Filler, index: number): BillRow {
  const at = timeOfFiller({ from, to, count }, index);
  return foreignRow(rules, at, `${from}-${index}`, 100 + ((index * 37) % 99_900));
}

function timeOfFiller({ from, to, count }: Pick<Filler, 'from' | 'to' | 'count'>, index: number): number {
  return from + Math.floor((index * (to - from)) / count);
}

/** Returns the index of the first filler payment at `at` or later. */
export function firstOfFiller(filler: Pick<Filler, 'from' | 'to' | 'count'>, at: number): number {
  const { from, to, count } = filler;
  let index = Math.min(count, Math.max(0, Math.floor(((at - from) * count) / (to - from)) - 1));
  while (index < count && timeOfFiller(filler, index) < at) index += 1;
  return index;
}

/** Invents a payment that another system of the same merchant made. The same `seed` always gives the same payment. */
export function foreignRow(rules: BillRules, at: number, seed: string, minor: number): BillRow {
  const digest = createHash('md5').update(seed).digest('hex');
  const number = rules.numberFrom(digest);
  return {
    kind: 'payment',
    number,
    tradeNo: number,
    orderNo: `SHOP2_${digest.slice(0, 20)}`,
    refundNo: null,
    state: 'done',
    minor,
    offers: NO_OFFERS,
    fromAvailable: false,
    currency: rules.currency,
    fee: rules.feeOf(minor),
    at,
    createdAt: at - 30_000,
    subject: 'Another shop',
    trade: null,
  };
}

/** Derives decimal digits from hexadecimal ones. */
export function decimalsOf(digest: string, count: number): string {
  return BigInt(`0x${digest}`).toString().padStart(39, '0').slice(-24).slice(0, count);
}

export interface Scope extends Span {
  rules: BillRules;
  account: string;
  /** The merchant's other accounts, if the bill also covers them. */
  beside?: readonly string[];
  /** Selects the trades of one merchant, because an account can have several merchants; absent = all. */
  isOurs?(trade: Trade): boolean;
  /** Returns the time at which the bill shows a refund; by default the time at which the refund was created. */
  timeOf?(refund: Refund): number;
  /** The time at which the bill was created. The bill shows the state of each refund at this time. Absent = now. */
  madeAt?: number;
  /**
   * True for an account statement, which has one row for each movement of money. A refund whose money came back
   * therefore has two rows: money out and money in.
   */
  isOfMoney?: boolean;
}

const PAYMENT_STATES = { completed: 'done', pending: 'under-way', declined: 'failed' } as const;
const REFUND_STATES: Readonly<Record<Refund['state'], RowState>> = {
  succeeded: 'done',
  processing: 'under-way',
  failed: 'failed',
  abnormal: 'failed',
};

/** Returns the rows of a bill, oldest first. They hold copies of the trades, so later changes do not affect them. */
export function ledgerRows(trades: ReadonlyMap<string, Trade>, scope: Scope): BillRow[] {
  const { rules, from, to, isOurs = () => true } = scope;
  const rows: BillRow[] = [];
  for (const trade of trades.values()) {
    if (trade.payWay !== rules.payWay || !isIn(scope, trade.account) || !isOurs(trade)) continue;
    const own = rowsOf(trade, scope).filter(({ at }) => at >= from && at < to);
    if (own.length === 0) continue;
    const seen = structuredClone(trade);
    rows.push(...own.map((row) => ({ ...row, trade: seen })));
  }
  return rows.toSorted((a, b) => a.at - b.at);
}

/** Whether a bill covers the account `name`. */
export function isIn({ account, beside = [] }: Pick<Scope, 'account' | 'beside'>, name: string): boolean {
  return name === account || beside.includes(name);
}

function rowsOf(trade: Trade, scope: Scope): BillRow[] {
  const paid = trade.payments.find(({ state }) => state === 'completed');
  const rowsOfRefund = scope.isOfMoney ? movesOf : rowOfRefund;
  return [
    ...trade.payments.map((payment) => rowOfPayment(trade, payment, scope)),
    ...trade.refunds.flatMap((refund) => rowsOfRefund(trade, refund, { ...scope, paid })),
    ...(trade.holds ?? []).flatMap((hold) => rowsOfHold(trade, hold, paid)),
  ];
}

type Around = Scope & { paid: Payment | undefined };

function rowOfRefund(
  trade: Trade,
  refund: Refund,
  { rules, timeOf = ({ at }) => at, madeAt, paid }: Around,
): BillRow[] {
  const own = { ...ofRefund(trade, refund, paid), at: timeOf(refund) };
  if (refund.origin === 'dispute') {
    const row = { ...own, state: 'done', fee: 0 } as const;
    if (refund.state === 'succeeded') return [row];
    return [row, { ...row, kind: 'dispute-back', number: backNumber(row.number), at: refund.doneAt ?? row.at }];
  }
  const stood = madeAt === undefined ? refund.state : stateAt(refund, madeAt);
  const state = stood === 'abnormal' && rules.stuckIsUnderWay ? 'under-way' : REFUND_STATES[stood];
  return [{ ...own, state, fee: state === 'failed' ? 0 : feeBack(refund) }];
}

/** Returns one row for each time that the money of a refund leaves the account or returns to it. */
function movesOf(trade: Trade, refund: Refund, { rules, paid }: Around): BillRow[] {
  const row = { ...ofRefund(trade, refund, paid), state: 'done', fee: feeBack(refund) } as const;
  return refund.moves.flatMap(({ state, at }, index): BillRow[] => {
    const wasOut = index > 0 && isOutIn(rules, refund.moves[index - 1]!.state);
    const isOut = isOutIn(rules, state);
    if (wasOut === isOut) return [];
    return [isOut ? { ...row, at } : { ...row, at, kind: 'returned', fee: refund.feeBack }];
  });
}

function isOutIn({ refundsLeave }: BillRules, state: Refund['state']): boolean {
  return refundsLeave === 'done' ? state === 'succeeded' : state !== 'failed';
}

function ofRefund(
  trade: Trade,
  { number, refundNo, minor, offers, origin, fromAvailable }: Refund,
  paid: Payment | undefined,
) {
  const kind = origin === 'dispute' ? 'dispute' : 'refund';
  return {
    ...shared(trade, paid),
    kind,
    number,
    refundNo,
    minor,
    offers,
    fromAvailable: fromAvailable === true,
  } as const;
}

function feeBack({ feeBack: minor }: Refund): number {
  return minor === 0 ? 0 : -minor;
}

/** Derives an id for the row that returns the money of a dispute. The id is always the same for the same dispute. */
function backNumber(number: string): string {
  return createHash('md5').update(number).digest('hex').slice(0, number.length).toUpperCase();
}

function rowsOfHold(trade: Trade, { number, minor, at, releasedAt }: Hold, paid: Payment | undefined): BillRow[] {
  const of = { number, refundNo: null, minor, offers: NO_OFFERS, fromAvailable: false, state: 'done', fee: 0 } as const;
  const hold = { ...shared(trade, paid), ...of, kind: 'hold', at } as const;
  return releasedAt === null ? [hold] : [hold, { ...hold, kind: 'release', at: releasedAt }];
}

function rowOfPayment(trade: Trade, payment: Payment, { rules, isOfMoney }: Scope): BillRow {
  const { number, minor, completedAt } = payment;
  const at = isOfMoney ? (completedAt ?? payment.at) : payment.at;
  const { offers = NO_OFFERS } = trade;
  const state = PAYMENT_STATES[payment.state];
  const fee = state === 'done' ? rules.feeOf(minor - offers.merchant) : 0;
  const row = { kind: 'payment', number, refundNo: null, minor, offers, fromAvailable: false, state, fee, at } as const;
  return { ...shared(trade, payment), ...row };
}

function shared(trade: Trade, payment: Payment | undefined) {
  const { orderNo, currency, createdAt, subject } = trade;
  return { tradeNo: payment?.number ?? '', orderNo, currency, createdAt, subject, trade };
}
