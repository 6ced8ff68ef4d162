import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { EffectRun, ExceptionKind } from '../../domain.ts';
import type { Money } from '../../money.ts';
import type { OrderRule, RefundRule } from './moves.ts';

/** What one decision does, as data: `apply` writes all of it in one commit, or nothing. */
export type Change = Touched | OrderMoved | RefundMoved;

/** What goes with any change. */
interface Beside {
  /** What the channel said, for the history. */
  readonly outcome?: object;
  readonly tell?: readonly Told[];
  readonly raise?: readonly Raised[];
  readonly resolve?: readonly Resolved[];
  readonly effects?: readonly EffectRun[];
  /** A refund that begins to exist with it (R1, R8); written after everything else. */
  readonly open?: OpenedRefund;
  /** The job that should not wait for its due time. */
  readonly wake?: 'capture';
}

/** Neither state nor money moves: leases, counters, due times, what was seen last. No history line. */
export interface Touched extends Beside {
  readonly rule: null;
  readonly order?: Partial<Omit<OrderRow, MovedOfOrder>>;
  readonly refund?: Partial<Omit<RefundRow, MovedOfRefund>>;
}

/** An order moves. */
export interface OrderMoved extends Beside {
  readonly rule: OrderRule;
  readonly order: Partial<OrderRow> & Pick<OrderRow, 'state'>;
  readonly refund?: undefined;
}

/** A refund moves, and with it the sums of its order. */
export interface RefundMoved extends Beside {
  readonly rule: RefundRule;
  readonly refund: Partial<RefundRow> & Pick<RefundRow, 'state'>;
  readonly order?: Partial<Pick<OrderRow, SumOfOrder>>;
}

type SumOfOrder = 'refunded' | 'refunding' | 'overrun';

/** Members of an order that only a listed move may change. */
export const MOVED_OF_ORDER = ['state', 'paid', 'refunded', 'refunding', 'overrun', 'sequence'] as const;
/** Members of a refund that only a listed move may change. */
export const MOVED_OF_REFUND = ['state', 'amount', 'surplus'] as const;
type MovedOfOrder = (typeof MOVED_OF_ORDER)[number];
type MovedOfRefund = (typeof MOVED_OF_REFUND)[number];

/** An event for the owner of the order; `each` = for every such move, otherwise once in the life of the order or refund, or for each `dedupe`. */
export interface Told {
  readonly type:
    | `order.${'paid' | 'paid_late' | 'closed' | 'failed' | 'payer_action_required'}`
    | `refund.${'succeeded' | 'failed' | 'abnormal' | 'approval_requested'}`;
  readonly each?: true;
  readonly dedupe?: string;
}

/** Something that a person must look at; once per order, kind and `dedupe`. */
export interface Raised {
  readonly kind: ExceptionKind;
  readonly dedupe: string;
  readonly refundNo?: string;
  readonly detail?: object;
  readonly received?: Money;
  readonly blocksRefunds?: boolean;
  /** It is the case again each time: one that was resolved is opened again. */
  readonly again?: true;
}

/** Open exceptions that the change answers. */
export interface Resolved {
  readonly where:
    | { readonly id: string }
    | { readonly refundNo: string; readonly kind?: ExceptionKind }
    | { readonly orderNo: string; readonly kind: ExceptionKind; readonly dedupe?: string };
  readonly resolution: string;
  readonly by: string;
  readonly reason?: string;
}

/** A refund that begins to exist, with its sums and its own line of history. */
export interface OpenedRefund {
  readonly rule: 'R1' | 'R8';
  readonly row: RefundRow;
  readonly sums: Partial<Pick<OrderRow, SumOfOrder>>;
  readonly cause: string;
  readonly tell?: readonly Told[];
  readonly raise?: readonly Raised[];
  readonly effects: readonly EffectRun[];
  /** Nobody is about to send it: the job is woken. */
  readonly wake?: boolean;
}

/** Nothing is written. */
export const STAY: Touched = { rule: null };

/** A wish that the rows do not allow; `payments/refusals.ts` makes the answer of it. */
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
