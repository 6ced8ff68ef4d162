/**
 * The rows of a bill in a form common to all channels: from the ledger and from the filler (payments of another
 * system), with days and fees.
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

/** The state of a row's money: it moved, it will move, or it did not. */
type RowState = 'done' | 'under-way' | 'failed';

/** One row of a bill before it is written in a channel's own form. Times are milliseconds on the simulated clock, amounts minor units. */
export interface BillRow {
  /**
   * `dispute` = taken for a dispute, `dispute-back` = returned after the merchant won it. `returned` = the money of a refund that failed
   * after it had left the account. `hold`, `release`: held while a payment is disputed. `withdrawal`: paid out to the merchant's bank.
   */
  kind: 'payment' | 'refund' | 'dispute' | 'dispute-back' | 'returned' | 'hold' | 'release' | 'withdrawal';
  /** The channel's number of this payment or refund. */
  number: string;
  /** The channel's number of the payment that the row belongs to. */
  tradeNo: string;
  /** The merchant's number of the order. */
  orderNo: string;
  /** The merchant's number of the refund. */
  refundNo: string | null;
  state: RowState;
  /** Never negative; `kind` gives the direction. */
  minor: number;
  /** The parts that parties other than the payer bear. */
  offers: Offers;
  /** For a refund: paid from the available balance. */
  fromAvailable: boolean;
  currency: string;
  /** The channel's fee; negative when a fee is refunded. */
  fee: number;
  at: number;
  /** When the order was created. */
  createdAt: number;
  subject: string;
  /** The amount is written as unreadable text. */
  isUnreadable?: true;
  /** Null = a payment of another system. */
  trade: Trade | null;
}

const DAY_MS = 86_400_000;

/** The rules of a channel for its bills and fees. Amounts are minor units. */
export interface BillRules {
  readonly payWay: PayWay;
  /** How far the channel's days are ahead of UTC (ms). */
  readonly offsetMs: number;
  /** The currency of another system's payments. */
  readonly currency: string;
  /** The merchant's fee rate, as in the configuration. */
  readonly feeRate: string;
  /** The fee for the amount that the merchant receives, without its own discounts. */
  feeOf(minor: number): number;
  /** Refunds do not return their part of the fee. */
  readonly keepsFees?: true;
  /** Whether a refund leaves the account when it is accepted or when it is done. */
  readonly refundsLeave: 'accepted' | 'done';
  /** An `abnormal` refund has left the account, and the bill shows it as under way. */
  readonly stuckIsUnderWay?: true;
  /** Derives a number in the channel's form from these hexadecimal digits. */
  numberFrom(digest: string): string;
  /** The conditions and differences that the channel's bills cannot show. */
  readonly lacks: readonly string[];
  /** The parties other than the payer that may bear a part of a payment. */
  readonly offers: readonly (keyof Offers)[];
}

/** A time span (ms), without its end. */
export interface Span {
  from: number;
  to: number;
}

/** The common rules of Alipay and WeChat Pay. */
export const CHINA_RULES = {
  offsetMs: 8 * 3_600_000,
  currency: 'CNY',
  feeRate: '0.6',
  // Rounded half up to the fen: 7.79 of 1299.02 in WeChat Pay's sample of a bill.
  feeOf: (minor: number) => Math.floor((minor * 6 + 500) / 1000),
  refundsLeave: 'accepted',
} as const;

type Zone = Pick<BillRules, 'offsetMs'>;

/** Returns the channel's day of an instant, `yyyy-MM-dd`. */
export function dayOf(zone: Zone, at: number): string {
  return new Date(at + zone.offsetMs).toISOString().slice(0, 10);
}

/** Returns the span of a day; undefined for an invalid day. */
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

/** Returns the channel's days that a span touches. */
export function daysIn(zone: Zone, { from, to }: Span): string[] {
  const first = midnight(zone, dayOf(zone, from)) ?? from;
  return Array.from({ length: Math.ceil((to - first) / DAY_MS) }, (_, index) => dayOf(zone, first + index * DAY_MS));
}

/** Returns midnight of the same day some months before an instant. */
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

/** Returns the fee that a further refund returns: the fee of its amount, at most the fee that is left. */
export function feeBackOf({ feeOf, keepsFees }: BillRules, trade: Trade, minor: number): number {
  if (keepsFees) return 0;
  const { refunds, offers } = trade;
  const paid = feeOf((paymentOf(trade)?.minor ?? 0) - (offers?.merchant ?? 0));
  const back = refunds.filter(({ state }) => state !== 'failed').reduce((sum, { feeBack }) => sum + feeBack, 0);
  return Math.min(feeOf(minor), paid - back);
}

/**
 * Payments of another system, spread over a span. They are computed, not stored; every call returns the same payments.
 */
export interface Filler extends Span {
  rules: BillRules;
  count: number;
}

/** Returns the filler's payment with this index. */
export function fillerRow({ rules, from, to, count }: Filler, index: number): BillRow {
  const at = timeOfFiller({ from, to, count }, index);
  return foreignRow(rules, at, `${from}-${index}`, 100 + ((index * 37) % 99_900));
}

/** Returns the time of the payment with this index. */
function timeOfFiller({ from, to, count }: Pick<Filler, 'from' | 'to' | 'count'>, index: number): number {
  return from + Math.floor((index * (to - from)) / count);
}

/** Returns the first index whose payment is at this time or later. */
export function firstOfFiller(filler: Pick<Filler, 'from' | 'to' | 'count'>, at: number): number {
  const { from, to, count } = filler;
  let index = Math.min(count, Math.max(0, Math.floor(((at - from) * count) / (to - from)) - 1));
  while (index < count && timeOfFiller(filler, index) < at) index += 1;
  return index;
}

/** Returns a payment that another system of the same merchant made. */
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

/** The account and span of a bill. */
export interface Scope extends Span {
  rules: BillRules;
  account: string;
  /** The merchant's other accounts, which the bill also covers. */
  beside?: readonly string[];
  /** Filters the trades of the account, for one merchant's bill. */
  isOurs?(trade: Trade): boolean;
  /** The time at which the bill shows a refund; by default its creation. */
  timeOf?(refund: Refund): number;
  /**
   * The time at which the bill was created; the bill shows the refund states of that time. Absent = the present states.
   */
  madeAt?: number;
  /** True for an account statement: it shows each movement, so a returned refund has two rows. */
  isOfMoney?: boolean;
}

const PAYMENT_STATES = { completed: 'done', pending: 'under-way', declined: 'failed' } as const;
const REFUND_STATES: Readonly<Record<Refund['state'], RowState>> = {
  succeeded: 'done',
  processing: 'under-way',
  failed: 'failed',
  abnormal: 'failed',
};

/** Returns the ledger's rows for a bill, oldest first, as copies that later changes of a trade do not affect. */
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

/** Whether a bill covers this account of the simulator. */
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
  // The debit of a dispute stays in the bill; if the money is returned, that is a separate row.
  if (refund.origin === 'dispute') {
    const row = { ...own, state: 'done', fee: 0 } as const;
    if (refund.state === 'succeeded') return [row];
    return [row, { ...row, kind: 'dispute-back', number: backNumber(row.number), at: refund.doneAt ?? row.at }];
  }
  const stood = madeAt === undefined ? refund.state : stateAt(refund, madeAt);
  const state = stood === 'abnormal' && rules.stuckIsUnderWay ? 'under-way' : REFUND_STATES[stood];
  return [{ ...own, state, fee: state === 'failed' ? 0 : feeBack(refund) }];
}

/** Returns a row each time the refund's money leaves the account, and each time it returns. */
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

/** The number of the row that returns the money of a dispute; every call returns the same number. */
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
