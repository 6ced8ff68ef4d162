import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { EffectRun, ExceptionKind, OrderState, RefundState } from '../../domain.ts';
import type { Money } from '../../money.ts';
import type { DisputeState } from '../channel.ts';

/** An allowed state change. `rule`: the name of the state change; `from` null = the row is created. */
export interface Transition<State> {
  readonly rule: string;
  readonly from: State | null;
  readonly to: State;
}

/**
 * The allowed transitions of an order; `apply` rejects all others. After `late_payment` the order stays `closed` or
 * `failed` if the payment is refunded.
 */
export const ORDER_TRANSITIONS = [
  { rule: 'placed', from: null, to: 'created' },
  { rule: 'accepted', from: 'created', to: 'pending' },
  { rule: 'declined', from: 'created', to: 'failed' },
  { rule: 'paid', from: 'created', to: 'paid' },
  { rule: 'paid', from: 'pending', to: 'paid' },
  { rule: 'close_requested', from: 'created', to: 'closing' },
  { rule: 'close_requested', from: 'pending', to: 'closing' },
  { rule: 'close_requested', from: 'created', to: 'closed' },
  { rule: 'close_requested', from: 'pending', to: 'closed' },
  { rule: 'close_confirmed', from: 'closing', to: 'closed' },
  { rule: 'paid_before_close', from: 'closing', to: 'paid' },
  { rule: 'late_payment', from: 'closing', to: 'paid' },
  { rule: 'late_payment', from: 'closing', to: 'closed' },
  { rule: 'late_payment', from: 'closed', to: 'paid' },
  { rule: 'late_payment', from: 'closed', to: 'closed' },
  { rule: 'late_payment', from: 'failed', to: 'paid' },
  { rule: 'late_payment', from: 'failed', to: 'failed' },
  { rule: 'payment_accepted', from: 'created', to: 'paid' },
  { rule: 'payment_accepted', from: 'pending', to: 'paid' },
  { rule: 'payment_accepted', from: 'closing', to: 'paid' },
  { rule: 'payment_accepted', from: 'closed', to: 'paid' },
  { rule: 'payment_accepted', from: 'failed', to: 'paid' },
] as const satisfies readonly Transition<OrderState>[];

/** The allowed transitions of a refund; `apply` rejects all others. */
export const REFUND_TRANSITIONS = [
  { rule: 'refund_requested', from: null, to: 'pending' },
  { rule: 'refund_sent', from: 'pending', to: 'processing' },
  { rule: 'refund_succeeded', from: 'pending', to: 'succeeded' },
  { rule: 'refund_succeeded', from: 'processing', to: 'succeeded' },
  { rule: 'refund_succeeded', from: 'abnormal', to: 'succeeded' },
  { rule: 'refund_succeeded', from: 'failed', to: 'succeeded' },
  { rule: 'refund_failed', from: 'pending', to: 'failed' },
  { rule: 'refund_failed', from: 'processing', to: 'failed' },
  { rule: 'refund_reversed', from: 'pending', to: 'abnormal' },
  { rule: 'refund_reversed', from: 'processing', to: 'abnormal' },
  { rule: 'refund_reversed', from: 'succeeded', to: 'abnormal' },
  { rule: 'refund_reversed', from: 'failed', to: 'abnormal' },
  { rule: 'refund_resumed', from: 'failed', to: 'pending' },
  { rule: 'refund_decided', from: 'pending', to: 'succeeded' },
  { rule: 'refund_decided', from: 'pending', to: 'failed' },
  { rule: 'refund_decided', from: 'processing', to: 'succeeded' },
  { rule: 'refund_decided', from: 'processing', to: 'failed' },
  { rule: 'refund_decided', from: 'abnormal', to: 'processing' },
  { rule: 'refund_decided', from: 'abnormal', to: 'succeeded' },
  { rule: 'refund_decided', from: 'abnormal', to: 'failed' },
  { rule: 'refund_elsewhere', from: null, to: 'succeeded' },
] as const satisfies readonly Transition<RefundState>[];

const DECIDED = ['won', 'lost'] as const;
const UNDECIDED = ['open', 'needs_answer', 'under_review'] as const;

/**
 * The transitions of a dispute. The channel decides a dispute, so any state may follow any other; an appeal reopens the
 * dispute.
 */
export const DISPUTE_TRANSITIONS = [
  ...[...UNDECIDED, ...DECIDED].map((to) => ({ rule: 'dispute_opened', from: null, to }) as const),
  ...UNDECIDED.flatMap((from) =>
    UNDECIDED.filter((to) => to !== from).map((to) => ({ rule: 'dispute_updated', from, to }) as const),
  ),
  ...UNDECIDED.map((from) => ({ rule: 'dispute_won', from, to: 'won' }) as const),
  ...UNDECIDED.map((from) => ({ rule: 'dispute_lost', from, to: 'lost' }) as const),
  { rule: 'appeal_decided', from: 'lost', to: 'won' },
  { rule: 'appeal_decided', from: 'won', to: 'lost' },
  ...DECIDED.flatMap((from) => UNDECIDED.map((to) => ({ rule: 'dispute_appealed', from, to }) as const)),
] as const satisfies readonly Transition<DisputeState>[];

type OrderRule = (typeof ORDER_TRANSITIONS)[number]['rule'];
type RefundRule = (typeof REFUND_TRANSITIONS)[number]['rule'];
export type DisputeRule = (typeof DISPUTE_TRANSITIONS)[number]['rule'];

const SETTLED_STATES: readonly OrderState[] = ['closed', 'failed', 'paid'];

/** Whether the order has not ended. */
export function isOpen(state: OrderState): boolean {
  return !SETTLED_STATES.includes(state);
}

/** Whether the channel has decided a dispute; an appeal may open it again. */
export function isDecided(state: DisputeState): boolean {
  return state === 'won' || state === 'lost';
}

/** Whether the channel may still accept a payment for the order. */
export function takesMoney(state: OrderState): boolean {
  return state === 'created' || state === 'pending';
}

/** Whether the payment link or code is still valid; it may expire before the order. */
export function hasCredential({ credential, credentialUntil }: OrderRow, now: Date): boolean {
  return credential !== null && (credentialUntil === null || credentialUntil > now);
}

/** The refundable amount in minor units; never negative. */
export function refundableOf(order: Pick<OrderRow, 'paid' | 'refunded' | 'refunding'>): bigint {
  const left = order.paid - order.refunded - order.refunding;
  return left > 0n ? left : 0n;
}

/** A decided change of an order or refund. `apply` writes the whole change in one commit, or nothing. */
export type Change = Touched | OrderTransition | RefundTransition;

interface Beside {
  /** The channel's answer that caused the change. It is stored in the history. */
  readonly outcome?: object;
  readonly emit?: readonly EmittedEvent[];
  readonly raise?: readonly Raised[];
  readonly resolve?: readonly Resolved[];
  readonly effects?: readonly EffectRun[];
  /** A new refund; it is created in the same commit, after all other writes. */
  readonly open?: OpenedRefund;
  /** The job that starts immediately after the commit. Without `wake`, the job starts at its due time. */
  readonly wake?: 'capture';
}

/** A change of fields other than state and sums. It writes no history entry. */
export interface Touched extends Beside {
  readonly rule: null;
  readonly order?: Partial<Omit<OrderRow, MovedOfOrder>>;
  readonly refund?: Partial<Omit<RefundRow, MovedOfRefund>>;
}

export interface OrderTransition extends Beside {
  readonly rule: OrderRule;
  readonly order: Partial<OrderRow> & Pick<OrderRow, 'state'>;
  readonly refund?: undefined;
}

export interface RefundTransition extends Beside {
  readonly rule: RefundRule;
  readonly refund: Partial<RefundRow> & Pick<RefundRow, 'state'>;
  readonly order?: Partial<Pick<OrderRow, SumOfOrder>>;
}

type SumOfOrder = 'refunded' | 'refunding' | 'overrun';

/** Fields of an order that change only by a transition that `ORDER_TRANSITIONS` or `REFUND_TRANSITIONS` lists. */
export const MOVED_OF_ORDER = ['state', 'paid', 'refunded', 'refunding', 'overrun', 'sequence'] as const;
export const MOVED_OF_REFUND = ['state', 'amount', 'surplus'] as const;
type MovedOfOrder = (typeof MOVED_OF_ORDER)[number];
type MovedOfRefund = (typeof MOVED_OF_REFUND)[number];

/**
 * An event for the application that owns the order. By default an order or refund has at most one event of each type.
 * With `dedupe` it has one event for each different `dedupe` text. With `each` it has one event for every transition.
 */
export interface EmittedEvent {
  readonly type:
    | `order.${'paid' | 'paid_late' | 'closed' | 'failed' | 'payer_action_required'}`
    | `refund.${'succeeded' | 'failed' | 'abnormal' | 'approval_requested'}`;
  readonly each?: true;
  readonly dedupe?: string;
}

/** An exception (a case for an operator) to open; at most one per order, kind and `dedupe`. */
export interface Raised {
  readonly kind: ExceptionKind;
  readonly dedupe: string;
  readonly refundNo?: string;
  readonly detail?: object;
  readonly received?: Money;
  readonly blocksRefunds?: boolean;
  /** If an exception with the same `dedupe` value exists but was resolved, the exception is opened again. */
  readonly again?: true;
}

export interface Resolved {
  readonly where:
    | { readonly id: string }
    | { readonly refundNo: string; readonly kind?: ExceptionKind }
    | { readonly orderNo: string; readonly kind: ExceptionKind; readonly dedupe?: string };
  readonly resolution: string;
  readonly by: string;
  readonly reason?: string;
}

export interface OpenedRefund {
  readonly rule: 'refund_requested' | 'refund_elsewhere';
  readonly row: RefundRow;
  readonly sums: Partial<Pick<OrderRow, SumOfOrder>>;
  readonly cause: string;
  readonly emit?: readonly EmittedEvent[];
  readonly raise?: readonly Raised[];
  readonly effects: readonly EffectRun[];
  /** Whether a job sends the refund immediately after the commit. */
  readonly wake?: boolean;
}

export const STAY: Touched = { rule: null };

/** A command that the stored state does not allow; `refusalFor` (payments/errors.ts) turns it into an error. */
export interface Refusal {
  readonly refuse:
    | { readonly code: 'order_not_paid' | 'refund_exceeds_refundable' }
    | { readonly code: 'refunds_blocked'; readonly kind: string }
    | { readonly code: 'refund_in_progress'; readonly refundNo: string }
    | { readonly code: 'order_already_paid'; readonly message: string }
    | { readonly code: 'refund_not_retryable' | 'refund_not_abnormal' | 'refund_window_over'; readonly message: string }
    | { readonly code: 'refund_limit_reached' | 'refund_not_released'; readonly message: string }
    | { readonly code: 'invalid_action'; readonly message: string };
}
