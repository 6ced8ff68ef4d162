import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { RefundOutcome } from '../channel.ts';
import { type Change, type Refusal, STAY } from './change.ts';
import type { RefundFacts } from './facts.ts';
import { hearRefund, type RefundHeard } from './hear-refund.ts';
import { foreignRefund, newRefund, type RefundIntent } from './open-refund.ts';
import { later } from './plan.ts';
import { refundableOf, refundsRefused, type RefundWish, wishRefund } from './wish-refund.ts';

/** What an outcome does to a refund and the sums of its order. */
export function decideRefund(order: OrderRow, refund: RefundRow, heard: RefundHeard, now: Date): Change;
/** What a wish does to a refund and the sums of its order. */
export function decideRefund(order: OrderRow, refund: RefundRow, wish: RefundWish, now: Date): Change | Refusal;
export function decideRefund(
  order: OrderRow,
  refund: RefundRow,
  input: RefundHeard | RefundWish,
  now: Date,
): Change | Refusal;
/** What an outcome or a wish does to a refund: the same answer for the same rows and time. */
export function decideRefund(
  order: OrderRow,
  refund: RefundRow,
  input: RefundHeard | RefundWish,
  now: Date,
): Change | Refusal {
  return 'wish' in input ? wishRefund(order, refund, input, now) : hearRefund(order, refund, input, now);
}

/** What a new refund needs beyond the order. */
export interface NewRefundFacts extends RefundFacts {
  /** All refunds of the order so far. */
  readonly earlier: readonly RefundRow[];
}

/** A refund that somebody asks for; `mayRepeat` = nothing tells it from a retry of the same request (no key, no number). */
export type RefundAsked = Omit<RefundIntent, 'dueAt' | 'sentByCaller'> & { readonly mayRepeat: boolean };

/** The guards of a new refund, in the order in which they refuse, and its reservation. */
export function decideNewRefund(
  order: OrderRow,
  { blockedBy, limits, earlier }: NewRefundFacts,
  { mayRepeat, ...asked }: RefundAsked,
  now: Date,
): Change | Refusal {
  const refusal = refundsRefused(order, blockedBy);
  if (refusal) return refusal;
  if (asked.amount > refundableOf(order)) return { refuse: { code: 'refund_exceeds_refundable' } };
  const twin = mayRepeat ? earlier.find((one) => isUndecidedTwin(one, asked.amount, now)) : undefined;
  if (twin) return { refuse: { code: 'refund_in_progress', refundNo: twin.refundNo } };
  const { maxRefundsPerOrder: most, refundWindowDays: days } = limits;
  if (most !== null && earlier.filter(({ state }) => state !== 'failed').length >= most)
    return {
      refuse: { code: 'refund_limit_reached', message: `The channel allows at most ${most} refunds per order.` },
    };
  if (order.paidAt && now > later(order.paidAt, days * 86_400))
    return {
      refuse: {
        code: 'refund_window_over',
        message: `The channel accepts refunds only within ${days} days of the payment.`,
      },
    };
  const dueAt = firstSlot(earlier, limits.refundSpacingSeconds, now);
  return { rule: null, open: newRefund(order, { ...asked, dueAt, sentByCaller: true }, now) };
}

/** Without a key two equal refunds cannot be told from a retry, so the second waits for the first one's outcome. */
function isUndecidedTwin({ amount, state, unknownAt, createdAt }: RefundRow, asked: bigint, now: Date): boolean {
  const isOpen = state === 'pending' || state === 'processing';
  return amount === asked && isOpen && (unknownAt !== null || now > later(createdAt, 2));
}

/** When the channel takes the next refund of this order: refunds that come too close together are scheduled, not refused. */
function firstSlot(earlier: readonly RefundRow[], spacingSeconds: number, now: Date): Date {
  const last = Math.max(0, ...earlier.map(({ sentAt, createdAt }) => (sentAt ?? createdAt).getTime()));
  const slot = new Date(last + spacingSeconds * 1000);
  return last > 0 && slot > now ? slot : now;
}

/** A refund that was made elsewhere becomes known; before its payment is known the channel is asked, and a person looks. */
export function decideForeignRefund(
  order: OrderRow,
  { isKnown }: { readonly isKnown: boolean },
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  also: { refundNo: string; channelRefundNo: string | null; actor: string; cause: string },
  now: Date,
): Change {
  if (isKnown) return STAY;
  if (order.paid > 0n) return { rule: null, open: foreignRefund(order, outcome, also, now) };
  const dedupe = also.channelRefundNo ?? 'once';
  return {
    rule: null,
    order: { nextCheckAt: now, leasedUntil: null },
    raise: [{ kind: 'refund_unexplained', dedupe, received: outcome.amount, blocksRefunds: true }],
  };
}
