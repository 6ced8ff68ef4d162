import { createHash } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import { NO_OFFERS, stateAt, type Hold, type Payment, type Refund, type Trade } from '../trade.ts';
import type { Span } from './days.ts';
import { feeOf } from './fees.ts';
import type { BillRow, RowState } from './row.ts';

/** Whose movements of which time a bill is about. */
export interface Scope extends Span {
  payWay: PayWay;
  account: string;
  /** Other accounts here that are the same merchant's: its bill has what all of them did. */
  beside?: readonly string[];
  /** Narrows the trades of the account: those of one merchant. */
  isOurs?(trade: Trade): boolean;
  /** When a refund is in the bill; left out = when it was asked for. */
  timeOf?(refund: Refund): number;
  /** As of when refunds stand in the bill, which is not made again afterwards; left out = as they stand now. */
  madeAt?: number;
  /** A statement of the account: money stands there when it comes or leaves, so what left and came back is there twice. */
  isOfMoney?: boolean;
}

const PAYMENT_STATES = { completed: 'done', pending: 'under-way', declined: 'failed' } as const;
const REFUND_STATES: Readonly<Record<Refund['state'], RowState>> = {
  succeeded: 'done',
  processing: 'under-way',
  failed: 'failed',
  abnormal: 'failed',
};

/** What the ledger says about the time of a bill, the oldest first; whatever happens to a trade afterwards, its rows stay as they are. */
export function ledgerRows(trades: ReadonlyMap<string, Trade>, scope: Scope): BillRow[] {
  const { payWay, from, to, isOurs = () => true } = scope;
  const rows: BillRow[] = [];
  for (const trade of trades.values()) {
    if (trade.payWay !== payWay || !isIn(scope, trade.account) || !isOurs(trade)) continue;
    const own = rowsOf(trade, scope).filter(({ at }) => at >= from && at < to);
    if (own.length === 0) continue;
    const seen = structuredClone(trade);
    rows.push(...own.map((row) => ({ ...row, trade: seen })));
  }
  return rows.toSorted((a, b) => a.at - b.at);
}

/** Whether an account of the simulator is one that a bill is about. */
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

function rowOfRefund(trade: Trade, refund: Refund, { timeOf = ({ at }) => at, madeAt, paid }: Around): BillRow[] {
  const own = { ...ofRefund(trade, refund, paid), at: timeOf(refund) };
  // What a dispute took was taken, also when it came back: that is a movement of its own.
  if (refund.origin === 'dispute') {
    const row = { ...own, state: 'done', fee: 0 } as const;
    if (refund.state === 'succeeded') return [row];
    return [row, { ...row, kind: 'dispute-back', number: backNumber(row.number), at: refund.doneAt ?? row.at }];
  }
  const stood = madeAt === undefined ? refund.state : stateAt(refund, madeAt);
  // A refund of WeChat Pay's that is stuck has left the account; no document gives it a word of its own in bills.
  const state = stood === 'abnormal' && trade.payWay === 'wechat' ? 'under-way' : REFUND_STATES[stood];
  return [{ ...own, state, fee: state === 'failed' ? 0 : feeBack(refund) }];
}

/** A line whenever its money leaves, and one whenever that comes back. */
function movesOf(trade: Trade, refund: Refund, { paid }: Around): BillRow[] {
  const row = { ...ofRefund(trade, refund, paid), state: 'done', fee: feeBack(refund) } as const;
  return refund.moves.flatMap(({ state, at }, index): BillRow[] => {
    const wasOut = index > 0 && isOutIn(trade, refund.moves[index - 1]!.state);
    const isOut = isOutIn(trade, state);
    if (wasOut === isOut) return [];
    return [isOut ? { ...row, at } : { ...row, at, kind: 'returned', fee: refund.feeBack }];
  });
}

/** Whether the money of a refund has left: at PayPal once it is done, elsewhere as soon as it is accepted. */
function isOutIn({ payWay }: Trade, state: Refund['state']): boolean {
  return payWay === 'paypal' ? state === 'succeeded' : state !== 'failed';
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

/** The number of the movement that gives back what another one took: the same each time. */
function backNumber(number: string): string {
  return createHash('md5').update(number).digest('hex').slice(0, number.length).toUpperCase();
}

function rowsOfHold(trade: Trade, { number, minor, at, releasedAt }: Hold, paid: Payment | undefined): BillRow[] {
  const of = { number, refundNo: null, minor, offers: NO_OFFERS, fromAvailable: false, state: 'done', fee: 0 } as const;
  const hold = { ...shared(trade, paid), ...of, kind: 'hold', at } as const;
  return releasedAt === null ? [hold] : [hold, { ...hold, kind: 'release', at: releasedAt }];
}

function rowOfPayment(trade: Trade, payment: Payment, { isOfMoney }: Scope): BillRow {
  const { number, minor, completedAt } = payment;
  const at = isOfMoney ? (completedAt ?? payment.at) : payment.at;
  const { offers = NO_OFFERS } = trade;
  const state = PAYMENT_STATES[payment.state];
  const fee = state === 'done' ? feeOf(trade.payWay, minor - offers.merchant) : 0;
  const row = { kind: 'payment', number, refundNo: null, minor, offers, fromAvailable: false, state, fee, at } as const;
  return { ...shared(trade, payment), ...row };
}

function shared(trade: Trade, payment: Payment | undefined) {
  const { orderNo, currency, createdAt, subject } = trade;
  return { tradeNo: payment?.number ?? '', orderNo, currency, createdAt, subject, trade };
}
