import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { EffectRun, ExceptionKind, OrderState, RefundState } from '../../domain.ts';
import type { Money } from '../../money.ts';
import type { DisputeState } from '../channel.ts';

/** One line of a transition table; `from` null = the row is created. */
export interface Move<State> {
  readonly rule: string;
  readonly from: State | null;
  readonly to: State;
}

/** The transitions of an order; `apply` writes no other. `O9` stays in `closed` or `failed` if the late payment is refunded. */
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

/** The transitions of a refund; `apply` writes no other. */
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

/** The transitions of a dispute. The channel decides, so every state may follow; an appeal reopens a dispute. */
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

/** The rules of the tables above. */
type OrderRule = (typeof ORDER_MOVES)[number]['rule'];
type RefundRule = (typeof REFUND_MOVES)[number]['rule'];
export type DisputeRule = (typeof DISPUTE_MOVES)[number]['rule'];

/** The states in which an order has ended. */
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

/** The result of a decision as data; `apply` writes all of it in one commit, or nothing. */
export type Change = Touched | OrderMoved | RefundMoved;

/** Members that every change may have. */
interface Beside {
  /** The channel's outcome, for the history. */
  readonly outcome?: object;
  readonly tell?: readonly Told[];
  readonly raise?: readonly Raised[];
  readonly resolve?: readonly Resolved[];
  readonly effects?: readonly EffectRun[];
  /** A refund that is created in the same commit (R1, R8); written last. */
  readonly open?: OpenedRefund;
  /** The job to run at once instead of at its due time. */
  readonly wake?: 'capture';
}

/** A change of neither state nor sums: leases, counters, due times, what the channel last reported. It writes no line of history. */
export interface Touched extends Beside {
  readonly rule: null;
  readonly order?: Partial<Omit<OrderRow, MovedOfOrder>>;
  readonly refund?: Partial<Omit<RefundRow, MovedOfRefund>>;
}

/** A transition of an order. */
export interface OrderMoved extends Beside {
  readonly rule: OrderRule;
  readonly order: Partial<OrderRow> & Pick<OrderRow, 'state'>;
  readonly refund?: undefined;
}

/** A transition of a refund, with the sums of its order. */
export interface RefundMoved extends Beside {
  readonly rule: RefundRule;
  readonly refund: Partial<RefundRow> & Pick<RefundRow, 'state'>;
  readonly order?: Partial<Pick<OrderRow, SumOfOrder>>;
}

type SumOfOrder = 'refunded' | 'refunding' | 'overrun';

/** Members of an order that only a listed transition may change. */
export const MOVED_OF_ORDER = ['state', 'paid', 'refunded', 'refunding', 'overrun', 'sequence'] as const;
/** Members of a refund that only a listed transition may change. */
export const MOVED_OF_REFUND = ['state', 'amount', 'surplus'] as const;
type MovedOfOrder = (typeof MOVED_OF_ORDER)[number];
type MovedOfRefund = (typeof MOVED_OF_REFUND)[number];

/** An event for the owner of the order; `each` = for every such transition, otherwise once per order, refund or `dedupe`. */
export interface Told {
  readonly type:
    | `order.${'paid' | 'paid_late' | 'closed' | 'failed' | 'payer_action_required'}`
    | `refund.${'succeeded' | 'failed' | 'abnormal' | 'approval_requested'}`;
  readonly each?: true;
  readonly dedupe?: string;
}

/** An exception for a person; one per order, kind and `dedupe`. */
export interface Raised {
  readonly kind: ExceptionKind;
  readonly dedupe: string;
  readonly refundNo?: string;
  readonly detail?: object;
  readonly received?: Money;
  readonly blocksRefunds?: boolean;
  /** A resolved exception is opened again. */
  readonly again?: true;
}

/** Open exceptions that the change resolves. */
export interface Resolved {
  readonly where:
    | { readonly id: string }
    | { readonly refundNo: string; readonly kind?: ExceptionKind }
    | { readonly orderNo: string; readonly kind: ExceptionKind; readonly dedupe?: string };
  readonly resolution: string;
  readonly by: string;
  readonly reason?: string;
}

/** A new refund with its sums and its own line of history. */
export interface OpenedRefund {
  readonly rule: 'R1' | 'R8';
  readonly row: RefundRow;
  readonly sums: Partial<Pick<OrderRow, SumOfOrder>>;
  readonly cause: string;
  readonly tell?: readonly Told[];
  readonly raise?: readonly Raised[];
  readonly effects: readonly EffectRun[];
  /** The caller does not send it, so the job is woken. */
  readonly wake?: boolean;
}

/** No change. */
export const STAY: Touched = { rule: null };

/** A command that the rows do not allow; `payments/refusals.ts` makes the error of it. */
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
