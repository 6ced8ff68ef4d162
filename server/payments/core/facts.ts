import type { OrderRow } from '../../db/entities/orders.ts';
import type { OrderState } from '../../domain.ts';
import type { Money } from '../../money.ts';
import type { ChannelLimits, Outcome } from '../channel.ts';
import { takesMoney } from './moves.ts';

/** What is done with an outcome, given the stored state. */
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

/** Every pair of state and outcome; the default of the service is to stay. */
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

/** What a decision about an order needs beyond its row; loaded under the order's lock, and only when it is needed. */
export interface OrderFacts {
  /** The other order that has the payment already, by the channel's number of it; null = no other one has. */
  readonly owner?: string | null;
  /** Another order of the same merchantOrderNo is live or has money. */
  readonly sibling?: boolean;
  /** The exception about this payment of another amount: never listed, listed and waiting, or ended by a person. */
  readonly mismatch?: 'new' | 'open' | 'ended';
  /** There is stock for late money, and it is held. */
  readonly readmitted?: boolean;
}

/** What a decision about a new or a repeated refund needs beyond the rows. */
export interface RefundFacts {
  /** The open exception that forbids refunds of this order. */
  readonly blockedBy: string | null;
  readonly limits: ChannelLimits;
}

/** What the channel said about an order, and as the answer to what. */
export interface Heard {
  readonly outcome: Outcome;
  /** place, query, capture, check, notice … */
  readonly cause: string;
  /** It answers the first call ever made about the order. */
  readonly firstWord?: boolean;
}

/** One outcome about one order, with everything that the decision may look at. */
export interface Hearing<Said extends Outcome = Outcome> {
  readonly order: OrderRow;
  readonly facts: OrderFacts;
  readonly outcome: Said;
  readonly cause: string;
  readonly now: Date;
}

/** The outcome of one kind. */
export type Said<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

/** The fact that has to be known before the decision can be made; undefined = all that it needs are there. */
export function missingFact(order: OrderRow, facts: OrderFacts, { outcome }: Heard): keyof OrderFacts | undefined {
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

/** Money after the end was told, or for an order whose number a sibling took while it was closing. */
export function isLate(order: OrderRow, { sibling }: OrderFacts): boolean {
  if (order.state === 'closed' || order.state === 'failed') return true;
  return order.state === 'closing' && (order.closeAnswered || sibling === true);
}

/** Whether the whole payment has gone back to the payer already, as the channel itself says. */
export function wentBack({ amount, refundedTotal = 0n }: Said<'paid'>): boolean {
  return refundedTotal >= amount.minor;
}

/** Whether the close of a payer's code has given the payment back: whatever asks meanwhile hears of money that is gone. */
export function isCancelled(order: Pick<OrderRow, 'state' | 'scene'>, outcome: Said<'paid'>): boolean {
  return order.state === 'closing' && order.scene === 'code' && wentBack(outcome);
}

/** Whether the application keeps money that comes after the end; a sibling overrules it. */
export function isWelcomeLate({ state, closeReason, latePayment }: OrderRow, { sibling }: OrderFacts): boolean {
  if (sibling) return false;
  if (state === 'failed') return latePayment.afterFailed === 'accept';
  return (closeReason === 'expired' ? latePayment.afterExpiry : latePayment.afterClose) === 'accept';
}
