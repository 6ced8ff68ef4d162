import type { OrderRow } from '../../db/entities/orders.ts';
import type { OrderState } from '../../domain.ts';
import type { Money } from '../../money.ts';
import type { ChannelLimits, Outcome } from '../channel.ts';
import { takesMoney } from './transitions.ts';

/** The reaction to an outcome, given the stored state. */
export type Decision =
  | 'accept' // the channel has it
  | 'note' // what was said is remembered, the order stays
  | 'withhold' // an answer after the close: no credential, close again
  | 'capture' // take the approved money
  | 'pay'
  | 'late' // money after the end
  | 'await_reverse' // the close may be giving it back
  | 'again' // paid before
  | 'refuse' // another order has this payment
  | 'hint' // the channel calls a paid order closed
  | 'close'
  | 'fail' // when the refusal is definite and the first word ever
  | 'nothing';

/** The reaction for every state and outcome; the default is to stay. */
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
  /** The other order that already has the payment, by the channel's number; null = none. */
  readonly owner?: string | null;
  /** Another order of the same merchantOrderNo is live or paid. */
  readonly sibling?: boolean;
  /** The exception about this payment of another amount: not yet opened, open, or resolved. */
  readonly mismatch?: 'new' | 'open' | 'ended';
  /** Stock for a late payment is reserved. */
  readonly readmitted?: boolean;
}

/** Facts that a decision about a new or repeated refund needs beyond the rows. */
export interface RefundFacts {
  /** The open exception that forbids refunds of this order. */
  readonly blockedBy: string | null;
  readonly limits: ChannelLimits;
}

/** An outcome about an order, and its cause. */
export interface OrderReport {
  readonly outcome: Outcome;
  /** place, query, capture, check, notice … */
  readonly cause: string;
  /** It answers the first call ever made about the order. */
  readonly firstWord?: boolean;
}

/** An outcome with the order, facts and time that the decision uses. */
export interface OutcomeContext<OutcomeOf extends Outcome = Outcome> {
  readonly order: OrderRow;
  readonly facts: OrderFacts;
  readonly outcome: OutcomeOf;
  readonly cause: string;
  readonly now: Date;
}

/** The outcome of one kind. */
export type OutcomeOf<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

/** The next fact that the decision needs; undefined = it has all. */
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

/** Whether money is of the order's own amount and currency. */
export function isAmountOf(order: Pick<OrderRow, 'amount' | 'currency'>, money: Money): boolean {
  return money.minor === order.amount && money.currency === order.currency;
}

/** Whether a payment is late: after the reported end of the order, or for a closing order whose number another order has taken. */
export function isLate(order: OrderRow, { sibling }: OrderFacts): boolean {
  if (order.state === 'closed' || order.state === 'failed') return true;
  return order.state === 'closing' && (order.closeAnswered || sibling === true);
}

/** Whether the channel reports that the whole payment was refunded. */
export function wentBack({ amount, refundedTotal = 0n }: OutcomeOf<'paid'>): boolean {
  return refundedTotal >= amount.minor;
}

/** Whether the close of a payer's code has returned the payment; a query then still reports it as paid. */
export function isCancelled(order: Pick<OrderRow, 'state' | 'scene'>, outcome: OutcomeOf<'paid'>): boolean {
  return order.state === 'closing' && order.scene === 'code' && wentBack(outcome);
}

/** Whether the application accepts a late payment; another order of the same number overrules it. */
export function isWelcomeLate({ state, closeReason, latePayment }: OrderRow, { sibling }: OrderFacts): boolean {
  if (sibling) return false;
  if (state === 'failed') return latePayment.afterFailed === 'accept';
  return (closeReason === 'expired' ? latePayment.afterExpiry : latePayment.afterClose) === 'accept';
}
