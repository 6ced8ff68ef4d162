import type { OrderRow } from '../../db/entities/orders.ts';
import type { OrderState } from '../../domain.ts';
import type { Money } from '../../money.ts';
import type { ChannelLimits, Outcome } from '../channel.ts';
import { takesMoney } from './transitions.ts';

export type Decision =
  | 'accept' // the channel has accepted the order
  | 'note' // store the answer; the state does not change
  | 'withhold' // a close was requested: discard the payment link, close again
  | 'capture' // capture the approved payment
  | 'pay'
  | 'late' // a payment arrived after the order ended
  | 'await_reverse' // a running close may be returning the payment
  | 'again' // the order was paid before
  | 'refuse' // another order has this payment
  | 'hint' // the channel reports a paid order as closed
  | 'close'
  | 'fail' // fail the order, if a definite refusal answers the first call about it
  | 'nothing';

/** The reaction to every outcome in every state of an order. */
export const DECISIONS: Readonly<Record<OrderState, Readonly<Record<Outcome['kind'], Decision>>>> = {
  created: {
    pending: 'accept',
    approved: 'capture',
    paid: 'pay',
    closed: 'close',
    absent: 'note',
    declined: 'fail',
    unknown: 'note',
  },
  pending: {
    pending: 'note',
    approved: 'capture',
    paid: 'pay',
    closed: 'close',
    absent: 'note',
    declined: 'note',
    unknown: 'note',
  },
  closing: {
    pending: 'withhold',
    approved: 'note',
    paid: 'pay',
    closed: 'close',
    absent: 'note',
    declined: 'note',
    unknown: 'note',
  },
  closed: {
    pending: 'withhold',
    approved: 'nothing',
    paid: 'late',
    closed: 'nothing',
    absent: 'nothing',
    declined: 'nothing',
    unknown: 'nothing',
  },
  failed: {
    pending: 'withhold',
    approved: 'nothing',
    paid: 'late',
    closed: 'nothing',
    absent: 'nothing',
    declined: 'nothing',
    unknown: 'nothing',
  },
  paid: {
    pending: 'nothing',
    approved: 'nothing',
    paid: 'again',
    closed: 'hint',
    absent: 'nothing',
    declined: 'nothing',
    unknown: 'nothing',
  },
};

/** Facts that a decision about an order may need beyond its row; loaded on demand, under the order's lock. */
export interface OrderFacts {
  /** The other order that already has this payment; null = no other order has it; absent = not looked up. */
  readonly owner?: string | null;
  /** Whether another order with the same merchantOrderNo can still be paid, or is paid. Absent = not looked up. */
  readonly sibling?: boolean;
  /**
   * The exception (a case for an operator) about this payment, whose amount differs from the order: `new` = not opened
   * yet, `open` = open, `ended` = resolved. Absent = not looked up.
   */
  readonly mismatch?: 'new' | 'open' | 'ended';
  /** Whether stock for a late payment could be reserved; absent = not tried. */
  readonly readmitted?: boolean;
}

export interface RefundFacts {
  /** The kind of the open exception that blocks refunds of this order; null = none. */
  readonly blockedBy: string | null;
  readonly limits: ChannelLimits;
}

export interface OrderReport {
  readonly outcome: Outcome;
  /**
   * The source of the outcome, for example `place` (the create call), `query` (asked by a caller), `check` (asked by a
   * job) or `notice` (a notification of the channel).
   */
  readonly cause: string;
  readonly isFirstResponse?: boolean;
}

export interface OutcomeContext<OutcomeOf extends Outcome = Outcome> {
  readonly order: OrderRow;
  readonly facts: OrderFacts;
  readonly outcome: OutcomeOf;
  readonly cause: string;
  readonly now: Date;
}

export type OutcomeOf<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

/**
 * Returns the name of the next fact (data beyond the order row) that the decision needs; undefined = all are loaded.
 */
export function missingFact(
  order: OrderRow,
  facts: OrderFacts,
  { outcome }: OrderReport,
): keyof OrderFacts | undefined {
  if (outcome.kind !== 'paid' || order.paid > 0n || DECISIONS[order.state].paid === 'again') return undefined;
  if (!isAmountOf(order, outcome.amount)) return facts.mismatch === undefined ? 'mismatch' : undefined;
  if (takesMoney(order.state)) return undefined;
  if (facts.sibling === undefined) return 'sibling';
  const wantsStock = isLate(order, facts) && isWelcomeLate(order, facts) && !wentBack(outcome);
  return wantsStock && facts.readmitted === undefined ? 'readmitted' : undefined;
}

/** Whether a payment has the amount and the currency of the order. */
export function isAmountOf(order: Pick<OrderRow, 'amount' | 'currency'>, money: Money): boolean {
  return money.minor === order.amount && money.currency === order.currency;
}

/**
 * Whether a payment is late. A payment is late in three cases: the order has ended; the caller has received the status
 * `closing`; or the order is closing and another order has taken its merchantOrderNo.
 */
export function isLate(order: OrderRow, { sibling }: OrderFacts): boolean {
  if (order.state === 'closed' || order.state === 'failed') return true;
  return order.state === 'closing' && (order.closeAnswered || sibling === true);
}

/** Whether the channel reports that the whole payment was refunded. */
export function wentBack({ amount, refundedTotal = 0n }: OutcomeOf<'paid'>): boolean {
  return refundedTotal >= amount.minor;
}

/**
 * Whether a close of an order with a payer's code has returned the payment. After such a close, a query still reports
 * the payment as paid.
 */
export function isCancelled(order: Pick<OrderRow, 'state' | 'scene'>, outcome: OutcomeOf<'paid'>): boolean {
  return order.state === 'closing' && order.scene === 'code' && wentBack(outcome);
}

/**
 * Whether the application's policy accepts a late payment. A late payment is never accepted if another order with the
 * same merchantOrderNo can be paid or is paid.
 */
export function isWelcomeLate({ state, closeReason, latePayment }: OrderRow, { sibling }: OrderFacts): boolean {
  if (sibling) return false;
  const end = state === 'failed' ? 'failed' : closeReason === 'expired' ? 'expiry' : 'close';
  return latePayment.split(' ').includes(end);
}
