import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { OrderState } from '../../domain.ts';
import type { Outcome, Scene } from '../channel.ts';
import { type Change, takesMoney } from './transitions.ts';

/** The key of a channel account in the job queues. Jobs with the same key call the same account at the channel. */
export function queueKeyOf({ payWay, mode, account }: Pick<OrderRow, 'payWay' | 'mode' | 'account'>): string {
  return `${payWay} ${mode} ${account}`;
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Seconds before the n-th query about an order, by its state; the last value repeats. */
const ORDER_STEPS: Readonly<Record<'created' | 'pending' | 'closing', readonly number[]>> = {
  created: [5, 15, MINUTE, 5 * MINUTE, 30 * MINUTE, HOUR],
  pending: [15, 30, MINUTE, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR],
  closing: [5, 30, 2 * MINUTE, 10 * MINUTE, HOUR],
};

/**
 * Seconds before the n-th query about an in-store order. Its payer waits at the till, so the first queries come
 * quickly.
 */
const TILL_STEPS = {
  created: [3, 5, 10, 30, MINUTE],
  pending: [3, 5, 5, 5, 5, 10, 15, 30, MINUTE],
  closing: ORDER_STEPS.closing,
} as const;

/** Seconds between the end of an order (closed or failed) and the queries that look for a late payment. */
const LATE_STEPS: readonly number[] = [5 * MINUTE, HOUR, DAY];

/** Seconds before the n-th query about a refund; the last value repeats. */
const REFUND_STEPS: readonly number[] = [10, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, DAY];

/**
 * The first capture may start up to this long after the end of the order (`endOf`). The payer may approve just before
 * the end, and the service may learn of the approval only after the end.
 */
const APPROVED_GRACE_SECONDS = 10 * MINUTE;

/** Seconds before the n-th query about a dispute; the last value repeats. */
const DISPUTE_STEPS: readonly number[] = [10 * MINUTE, HOUR, 6 * HOUR];

/** The second "not found" answer counts only if it arrives at least this many seconds after the first answer. */
export const ABSENCE_SECONDS = 60;

/** An expired order starts to close this long after its expiry, so that it has expired by the channel's clock too. */
const EXPIRY_GRACE_SECONDS = 60;

export interface Scheduled {
  state: OrderState;
  scene: Scene;
  checks: number;
  expiresAt: Date;
  closedAt: Date | null;
  absentFirstAt: Date | null;
}

/** When to query an order in `state` next, after `checks` queries; null = never. */
export function nextOrderCheck(order: Scheduled, now: Date): Date | null {
  const { state, checks } = order;
  if (state === 'paid') return null;
  if (state === 'closed' || state === 'failed') {
    const step = LATE_STEPS[checks];
    return step === undefined ? null : later(order.closedAt ?? now, step);
  }
  const steps = (order.scene === 'code' ? TILL_STEPS : ORDER_STEPS)[state];
  const regular = later(now, steps[Math.min(checks, steps.length - 1)]!);
  const end = endOf(order);
  if (now < end) return regular < end ? regular : end;
  if (state === 'closing' && order.absentFirstAt !== null) return later(now, ABSENCE_SECONDS + 1);
  return regular;
}

/** Seconds until the channel is queried after a notification that was not confirmed. */
const SOON_SECONDS = 15;

/** Plans a query in a few seconds. An earlier planned query is kept, and a paid order is not queried. */
export function soon(
  { state, nextCheckAt }: Pick<OrderRow, 'state' | 'nextCheckAt'>,
  now: Date,
): Pick<Partial<OrderRow>, 'nextCheckAt'> {
  const dueAt = later(now, SOON_SECONDS);
  const isDue = nextCheckAt !== null && nextCheckAt <= dueAt;
  return state === 'paid' || isDue ? {} : { nextCheckAt: dueAt };
}

/** The expiry of an order plus one minute. At this time the order has expired by the channel's clock too. */
export function endOf({ expiresAt }: { expiresAt: Date }): Date {
  return later(expiresAt, EXPIRY_GRACE_SECONDS);
}

/** When to query an unfinished refund next. */
export function nextRefundCheck(checks: number, now: Date): Date {
  return later(now, REFUND_STEPS[Math.min(checks, REFUND_STEPS.length - 1)]!);
}

/**
 * Whether an approved payment may be captured. An approval whose capture the channel refused cannot be captured again.
 * After the expiry of the order, only a first capture is allowed.
 */
export function mayTakeApproved(
  order: Pick<OrderRow, 'approvalAskedAt' | 'captures' | 'expiresAt'>,
  now: Date,
): boolean {
  const { approvalAskedAt, captures, expiresAt } = order;
  return approvalAskedAt === null && now < (captures === 0 ? later(endOf(order), APPROVED_GRACE_SECONDS) : expiresAt);
}

/** When to query an undecided dispute next. Queries are needed because the channel's notifications may be lost. */
export function nextDisputeCheck(checks: number, now: Date): Date {
  return later(now, DISPUTE_STEPS[Math.min(checks, DISPUTE_STEPS.length - 1)]!);
}

export type NextStep =
  | 'rest'
  | 'look_for_late_money'
  | 'close'
  | 'give_up'
  | 'capture'
  | 'settle_capture'
  | 'await_capture'
  | 'await_review'
  | 'expire'
  | 'ask';

/** Determines the next step from the stored fields and `answer`, the channel's outcome if it was just queried. */
export function nextStep(order: OrderRow, now: Date, answer?: Outcome): NextStep {
  const { state, captureState } = order;
  if (state === 'paid') return 'rest';
  if (state === 'closed' || state === 'failed') return 'look_for_late_money';
  if (captureState === 'pending') return 'await_review';
  if (isDoubtful(order, now)) return 'settle_capture';
  if (takesMoney(state) && answer?.kind === 'approved' && mayTakeApproved(order, now)) return 'capture';
  if (captureState !== null) return 'await_capture';
  if (state === 'closing') return isGone(order) ? 'give_up' : 'close';
  return now >= endOf(order) ? 'expire' : 'ask';
}

/** Whether the result of a capture is unknown and no capture is running. */
export function isDoubtful(order: Pick<OrderRow, 'captureState' | 'captureLeasedUntil'>, now: Date): boolean {
  if (order.captureState === 'unknown') return true;
  return order.captureState === 'live' && (order.captureLeasedUntil === null || order.captureLeasedUntil <= now);
}

/** Whether the channel reported "not found" twice, a minute apart, after the order had expired at the channel. */
export function isGone({ absentCount }: Pick<OrderRow, 'absentCount'>): boolean {
  return absentCount >= 2;
}

export type NextRefundStep = 'rest' | 'await_slot' | 'send' | 'confirm_refusal' | 'ask_if_done' | 'ask_if_known';

/** Determines the next step of a refund from its stored fields. */
export function nextRefundStep(refund: RefundRow, now: Date): NextRefundStep {
  const { state, tries, sentAt, refusedAt, accepted, approval } = refund;
  if (state !== 'pending' && state !== 'processing') return 'rest';
  if (accepted) return 'ask_if_done';
  if (approval === 'waiting') return 'await_slot';
  if (tries === 0) return sentAt !== null && sentAt > now ? 'await_slot' : 'send';
  return refusedAt === null ? 'ask_if_known' : 'confirm_refusal';
}

/**
 * A refund that has been open for this long is overdue: its next query opens an exception (a case for an operator). The
 * pause between two queries is at most one day, so the exception is opened after at most about four days.
 */
const REFUND_OVERDUE_SECONDS = 3 * DAY;
/** An order that is still open this long after the channel's expiry is overdue: an exception is opened. */
const ORDER_OVERDUE_SECONDS = DAY;

/** Whether a refund has been open for longer than `REFUND_OVERDUE_SECONDS` (three days). */
export function isRefundOverdue({ state, sentAt, createdAt }: RefundRow, now: Date): boolean {
  const isOpen = state === 'pending' || state === 'processing';
  return isOpen && now >= later(sentAt ?? createdAt, REFUND_OVERDUE_SECONDS);
}

/** Whether an order expired at the channel more than a day ago. */
export function isOrderOverdue(order: Pick<OrderRow, 'expiresAt'>, now: Date): boolean {
  return now >= later(endOf(order), ORDER_OVERDUE_SECONDS);
}

/** Whether a refund may be sent: it is reserved, waits for no approval, and the channel has not accepted it yet. */
export function isSendable({ state, accepted, approval }: Pick<RefundRow, 'state' | 'accepted' | 'approval'>): boolean {
  return (state === 'pending' || state === 'processing') && !accepted && approval !== 'waiting';
}

/** The instant `seconds` after `at`. */
export function later(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000);
}

/** Closes an unpaid order. The state `closed` is final, unless a late payment arrives. */
export function closed(
  order: OrderRow,
  closeReason: NonNullable<OrderRow['closeReason']>,
  now: Date,
  outcome?: object,
): Change {
  const patch = {
    state: 'closed',
    closeReason,
    closedAt: now,
    credential: null,
    reverseDoubtAt: null,
    checks: 0,
    leasedUntil: null,
  } as const;
  return {
    rule: order.state === 'closing' ? 'close_confirmed' : 'close_requested',
    order: { ...patch, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) },
    ...(outcome ? { outcome } : {}),
    emit: [{ type: 'order.closed' }],
    effects: [{ name: 'ended', run: ['ended'] }],
  };
}
