import { createHash } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import type { Payment, Refund, Trade } from '../trade.ts';
import type { Span } from './days.ts';
import { feeBackOf, feeOf } from './fees.ts';
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

function rowsOf(trade: Trade, { timeOf = ({ at }) => at }: Scope): BillRow[] {
  const paid = trade.payments.find(({ state }) => state === 'completed');
  let kept = paid ? feeOf(trade.payWay, paid.minor) : 0;
  const refunds = trade.refunds.flatMap((refund): BillRow[] => {
    const isTaken = refund.origin === 'dispute';
    // What a dispute took was taken, also when it came back: that is a movement of its own.
    const state = isTaken ? 'done' : REFUND_STATES[refund.state];
    const back = state === 'failed' || isTaken ? 0 : feeBackOf(trade.payWay, refund.minor, kept);
    kept -= back;
    const kind = isTaken ? 'dispute' : 'refund';
    const { number, refundNo, minor } = refund;
    const fee = back === 0 ? 0 : -back;
    const row: BillRow = { ...shared(trade, paid), kind, number, refundNo, minor, state, fee, at: timeOf(refund) };
    if (!isTaken || refund.state === 'succeeded') return [row];
    return [row, { ...row, kind: 'dispute-back', number: backNumber(number), at: refund.doneAt ?? row.at }];
  });
  return [...trade.payments.map((payment) => rowOfPayment(trade, payment)), ...refunds];
}

/** The number of the movement that gives back what another one took: the same each time. */
function backNumber(number: string): string {
  return createHash('md5').update(number).digest('hex').slice(0, number.length).toUpperCase();
}

function rowOfPayment(trade: Trade, payment: Payment): BillRow {
  const { number, minor, at } = payment;
  const state = PAYMENT_STATES[payment.state];
  const fee = state === 'done' ? feeOf(trade.payWay, minor) : 0;
  return { ...shared(trade, payment), kind: 'payment', number, refundNo: null, minor, state, fee, at };
}

function shared(trade: Trade, payment: Payment | undefined) {
  const { orderNo, currency, createdAt, subject } = trade;
  return { tradeNo: payment?.number ?? '', orderNo, currency, createdAt, subject, trade };
}
