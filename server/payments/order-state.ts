import type { Outcome } from './channel.ts';
import type { OrderState, RefundState } from './order.ts';

/** What settle does with an outcome, given the stored state (payments.md §2). */
export type Decision =
  | 'accept' // O2: the channel has it
  | 'note' // remember what was said, stay
  | 'withhold' // O2: an answer after the close: no credential, close again
  | 'capture' // C1: take the approved money
  | 'pay' // O5, O8
  | 'late' // O9
  | 'again' // O11: paid before
  | 'hint' // O12
  | 'close' // O7
  | 'fail' // O3, when the refusal is definite and the first word ever
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

/** The moves that an order may make, with their rule. `paid` is absorbing. */
export const ORDER_MOVES: readonly { rule: string; from: OrderState | null; to: OrderState }[] = [
  { rule: 'O1', from: null, to: 'created' },
  { rule: 'O2', from: 'created', to: 'pending' },
  { rule: 'O3', from: 'created', to: 'failed' },
  { rule: 'O5', from: 'created', to: 'paid' },
  { rule: 'O5', from: 'pending', to: 'paid' },
  { rule: 'O6', from: 'created', to: 'closing' },
  { rule: 'O6', from: 'pending', to: 'closing' },
  { rule: 'O6', from: 'created', to: 'closed' },
  { rule: 'O6', from: 'pending', to: 'closed' },
  { rule: 'O7', from: 'closing', to: 'closed' },
  { rule: 'O8', from: 'closing', to: 'paid' },
  { rule: 'O9', from: 'closing', to: 'paid' },
  { rule: 'O9', from: 'closing', to: 'closed' },
  { rule: 'O9', from: 'closed', to: 'paid' },
  { rule: 'O9', from: 'failed', to: 'paid' },
  { rule: 'O10', from: 'created', to: 'paid' },
  { rule: 'O10', from: 'pending', to: 'paid' },
  { rule: 'O10', from: 'closing', to: 'paid' },
  { rule: 'O10', from: 'closed', to: 'paid' },
  { rule: 'O10', from: 'failed', to: 'paid' },
];

/** The moves that a refund may make, with their rule. */
export const REFUND_MOVES: readonly { rule: string; from: RefundState | null; to: RefundState }[] = [
  { rule: 'R1', from: null, to: 'pending' },
  { rule: 'R2', from: 'pending', to: 'processing' },
  { rule: 'R3', from: 'pending', to: 'succeeded' },
  { rule: 'R3', from: 'processing', to: 'succeeded' },
  { rule: 'R3', from: 'abnormal', to: 'succeeded' },
  { rule: 'R3', from: 'failed', to: 'succeeded' },
  { rule: 'R4', from: 'pending', to: 'failed' },
  { rule: 'R4', from: 'processing', to: 'failed' },
  { rule: 'R5', from: 'pending', to: 'abnormal' },
  { rule: 'R5', from: 'processing', to: 'abnormal' },
  { rule: 'R5', from: 'succeeded', to: 'abnormal' },
  { rule: 'R6', from: 'failed', to: 'pending' },
  { rule: 'R7', from: 'abnormal', to: 'processing' },
  { rule: 'R7', from: 'abnormal', to: 'succeeded' },
  { rule: 'R7', from: 'abnormal', to: 'failed' },
  { rule: 'R8', from: null, to: 'succeeded' },
];

/** The states in which nothing will move an order but late money. */
export const SETTLED_STATES: readonly OrderState[] = ['closed', 'failed', 'paid'];

/** Whether the order is still on its way. */
export function isOpen(state: OrderState): boolean {
  return !SETTLED_STATES.includes(state);
}
