import type { DisputeState } from '../channel.ts';
import type { OrderState, RefundState } from '../../domain.ts';

/** One line of a table of moves; `from` null = the row begins to exist. */
export interface Move<State> {
  readonly rule: string;
  readonly from: State | null;
  readonly to: State;
}

/** The moves that an order may make; `apply` writes no other. `O9` stays in `closed` or `failed` when its money goes back. */
export const ORDER_MOVES = [
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
  { rule: 'O9', from: 'closed', to: 'closed' },
  { rule: 'O9', from: 'failed', to: 'paid' },
  { rule: 'O9', from: 'failed', to: 'failed' },
  { rule: 'O10', from: 'created', to: 'paid' },
  { rule: 'O10', from: 'pending', to: 'paid' },
  { rule: 'O10', from: 'closing', to: 'paid' },
  { rule: 'O10', from: 'closed', to: 'paid' },
  { rule: 'O10', from: 'failed', to: 'paid' },
] as const satisfies readonly Move<OrderState>[];

/** The moves that a refund may make; `apply` writes no other. */
export const REFUND_MOVES = [
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
  { rule: 'R5', from: 'failed', to: 'abnormal' },
  { rule: 'R6', from: 'failed', to: 'pending' },
  { rule: 'R7', from: 'pending', to: 'succeeded' },
  { rule: 'R7', from: 'pending', to: 'failed' },
  { rule: 'R7', from: 'processing', to: 'succeeded' },
  { rule: 'R7', from: 'processing', to: 'failed' },
  { rule: 'R7', from: 'abnormal', to: 'processing' },
  { rule: 'R7', from: 'abnormal', to: 'succeeded' },
  { rule: 'R7', from: 'abnormal', to: 'failed' },
  { rule: 'R8', from: null, to: 'succeeded' },
] as const satisfies readonly Move<RefundState>[];

const DECIDED = ['won', 'lost'] as const;
const UNDECIDED = ['open', 'needs_answer', 'under_review'] as const;

/** The moves that a dispute may make; the channel decides, so it may say anything, and an appeal opens a dispute again. */
export const DISPUTE_MOVES = [
  ...[...UNDECIDED, ...DECIDED].map((to) => ({ rule: 'D1', from: null, to }) as const),
  ...UNDECIDED.flatMap((from) =>
    UNDECIDED.filter((to) => to !== from).map((to) => ({ rule: 'D2', from, to }) as const),
  ),
  ...UNDECIDED.map((from) => ({ rule: 'D3', from, to: 'won' }) as const),
  ...UNDECIDED.map((from) => ({ rule: 'D4', from, to: 'lost' }) as const),
  { rule: 'D5', from: 'lost', to: 'won' },
  { rule: 'D5', from: 'won', to: 'lost' },
  ...DECIDED.flatMap((from) => UNDECIDED.map((to) => ({ rule: 'D6', from, to }) as const)),
] as const satisfies readonly Move<DisputeState>[];

/** Rules that move orders, and rules that move refunds; the tables above are their only source. */
export type OrderRule = (typeof ORDER_MOVES)[number]['rule'];
export type RefundRule = (typeof REFUND_MOVES)[number]['rule'];
export type DisputeRule = (typeof DISPUTE_MOVES)[number]['rule'];

/** The states in which nothing will move an order but late money. */
const SETTLED_STATES: readonly OrderState[] = ['closed', 'failed', 'paid'];

/** Whether the order is still on its way. */
export function isOpen(state: OrderState): boolean {
  return !SETTLED_STATES.includes(state);
}

/** Whether the channel has decided a dispute; an appeal may open it again. */
export function isDecided(state: DisputeState): boolean {
  return state === 'won' || state === 'lost';
}

/** Whether the channel may still take the payer's money for it. */
export function takesMoney(state: OrderState): boolean {
  return state === 'created' || state === 'pending';
}
