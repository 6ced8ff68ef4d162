import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { RefundOutcome } from '../channel.ts';
import { type Change, type Raised, type RefundTransition, type Resolved, STAY, type Touched } from './transitions.ts';
import { isExternal, reservedAgain, withOverrun, withRefunded } from './open-refund.ts';
import { ABSENCE_SECONDS, isRefundOverdue, later, nextRefundCheck } from './plan.ts';

/** The number of seconds after a refund call with an unknown result in which the channel may still receive the call. */
const LANDING_SECONDS = 600;

export interface RefundReport {
  readonly outcome: RefundOutcome;
  /** True = the outcome answers a refund call; otherwise it answers a query. */
  readonly sent?: boolean;
  /** The attempt that was sent or queried; absent = the current attempt. */
  readonly attempt?: number;
}

interface OutcomeContext<OutcomeOf extends RefundOutcome = RefundOutcome> {
  readonly order: OrderRow;
  readonly refund: RefundRow;
  readonly outcome: OutcomeOf;
  readonly sent: boolean;
  readonly now: Date;
}

type Sums = NonNullable<RefundTransition['order']>;
type OutcomeOf<Kind extends RefundOutcome['kind']> = Extract<RefundOutcome, { kind: Kind }>;

/** Decides how an outcome changes a refund and its order's sums. Time alone never fails a refund. */
export function applyRefundOutcome(
  order: OrderRow,
  refund: RefundRow,
  { outcome, sent = false, attempt = refund.attempt }: RefundReport,
  now: Date,
): Change {
  // An answer about an earlier attempt does not apply to the current attempt.
  if (attempt !== refund.attempt) return STAY;
  return STEPS[outcome.kind]({ order, refund, outcome, sent, now } as never);
}

const STEPS: { readonly [Kind in RefundOutcome['kind']]: (context: OutcomeContext<OutcomeOf<Kind>>) => Change } = {
  succeeded,
  pending: accepted,
  failed: refusedForGood,
  abnormal,
  refused: unsettled,
  absent: unsettled,
  unknown: unsettled,
};

/**
 * Whether a message may be outdated: it reports a refund as succeeded or pending, but the stored state is newer
 * (failed, abnormal, or returned by an administrator outside the channel). If so, the channel is queried. A message
 * that reports a failure never counts as outdated; it opens an exception (a case for an operator) immediately.
 */
export function mayBeOutdated(refund: RefundRow, { kind }: RefundOutcome): boolean {
  const { state } = refund;
  if (kind === 'pending') return state === 'failed';
  return kind === 'succeeded' && (state === 'failed' || state === 'abnormal' || wasPaidByPerson(refund));
}

/**
 * Whether a message reports that a succeeded refund was reversed. If so, an exception is opened immediately. The
 * channel is queried as well, because the message may be older than the previous message.
 */
export function isReversal(refund: RefundRow, { kind }: RefundOutcome): boolean {
  return refund.state === 'succeeded' && (kind === 'failed' || kind === 'abnormal') && !wasPaidByPerson(refund);
}

/**
 * Marks a refund as succeeded, even a failed one, because the channel's report overrules the stored state. If the
 * refunds then exceed the payment, `overrun` records the excess.
 */
function succeeded(context: OutcomeContext<OutcomeOf<'succeeded'>>): Change {
  const { order, refund, outcome } = context;
  if (wasPaidByPerson(refund)) return paidTwice(context);
  if (refund.state === 'succeeded') return STAY;
  if (outcome.amount.minor !== refund.amount || outcome.amount.currency !== refund.currency)
    return differentAmount(context);
  const isBack = refund.state === 'failed';
  const sums: Sums = refund.surplus ? {} : withRefunded(order, refund.amount, isBack ? 0n : refund.amount);
  const { toMerchant = false } = outcome;
  return {
    rule: 'refund_succeeded',
    refund: {
      state: 'succeeded',
      accepted: true,
      elsewhere: toMerchant || isExternal(refund.origin),
      channelRefundNo: outcome.channelRefundNo ?? refund.channelRefundNo,
      finishedAt: outcome.at,
      failureCode: null,
      failureMessage: null,
      nextCheckAt: null,
      leasedUntil: null,
    },
    order: sums,
    outcome,
    emit: [{ type: 'refund.succeeded', each: true }],
    raise: [...overrunOf(order, refund, sums.overrun), ...(toMerchant ? [unpaidPayer(refund)] : [])],
    resolve: resolvedBy(refund),
    effects: [
      ...(isBack ? [reservedAgain(order, refund)] : []),
      { name: `refund-succeeded:${refund.refundNo}:${order.sequence + 1}`, run: ['refundSucceeded'] },
    ],
  };
}

/** Whether an administrator has returned the money outside the channel and given a reason. */
function wasPaidByPerson({ state, elsewhere, failureMessage }: RefundRow): boolean {
  return state === 'succeeded' && elsewhere && failureMessage !== null;
}

/** An administrator had already paid this refund: the channel's refund counts, and an exception is opened. */
function paidTwice({ refund, outcome }: OutcomeContext<OutcomeOf<'succeeded'>>): Change {
  const { refundNo, failureMessage: reason } = refund;
  const { amount: received, at: finishedAt, channelRefundNo = refund.channelRefundNo } = outcome;
  if (outcome.toMerchant) return STAY;
  const isSame = received.minor === refund.amount && received.currency === refund.currency;
  const counted = {
    accepted: true,
    elsewhere: isExternal(refund.origin),
    channelRefundNo,
    failureCode: null,
    failureMessage: null,
    finishedAt,
  };
  const detail = { paidTwice: true, reason };
  return {
    rule: null,
    ...(isSame ? { refund: counted } : {}),
    raise: [{ kind: 'refund_elsewhere', dedupe: `${refundNo}:twice`, refundNo, received, detail, again: true }],
  };
}

/** The exception of a refund that the channel paid to the merchant instead of the payer. */
function unpaidPayer({ refundNo }: RefundRow): Raised {
  return { kind: 'refund_elsewhere', dedupe: `${refundNo}:merchant`, refundNo, detail: { paidTo: 'merchant' } };
}

/** A successful refund resolves its own exceptions, and the exception of the late payment that it returns. */
function resolvedBy({ refundNo, orderNo, origin }: RefundRow): Resolved[] {
  const how = { resolution: 'refunded', by: 'service' } as const;
  const own = (['refund_abnormal', 'refund_reversed', 'refund_overdue'] as const).map((kind) => ({
    where: { refundNo, kind },
    ...how,
  }));
  return origin === 'late' ? [...own, { where: { orderNo, kind: 'late_paid' }, ...how }] : own;
}

function accepted({ order, refund, outcome, now }: OutcomeContext<OutcomeOf<'pending'>>): Change {
  if (refund.state === 'succeeded' || refund.state === 'abnormal') return STAY;
  const patch = {
    accepted: true,
    channelRefundNo: outcome.channelRefundNo ?? refund.channelRefundNo,
    refusedAt: null,
    absentCount: 0,
    absentFirstAt: null,
    unknownAt: null,
    checks: refund.checks + 1,
    nextCheckAt: nextRefundCheck(refund.checks, now),
    leasedUntil: null,
  };
  if (refund.state === 'failed') return revived(order, refund, patch);
  return onItsWay(refund, patch, outcome, now);
}

/** Reserves the amount of a failed refund that is pending again. `overrun` records what exceeds the payment. */
function revived(order: OrderRow, refund: RefundRow, patch: NonNullable<Touched['refund']>): RefundTransition {
  const sums: Sums = refund.surplus
    ? {}
    : withOverrun(order, { refunded: order.refunded, refunding: order.refunding + refund.amount });
  return {
    rule: 'refund_resumed',
    refund: { ...patch, state: 'pending', finishedAt: null },
    order: sums,
    raise: overrunOf(order, refund, sums.overrun),
    effects: [reservedAgain(order, refund)],
  };
}

/** The channel reports that the refund will never happen. For a succeeded refund this is a reversal. */
function refusedForGood(context: OutcomeContext<OutcomeOf<'failed'>>): Change {
  const { order, refund, outcome, now } = context;
  if (refund.state === 'succeeded') return abnormal({ ...context, outcome: { ...outcome, kind: 'abnormal' } });
  // The channel repeats a reversal that is already stored.
  if (refund.state === 'abnormal' && refund.failureCode === outcome.code) return STAY;
  // The channel rejects a refund number whose refund has failed, so a retry needs another number.
  return failedRefund(order, refund, { code: outcome.code, message: outcome.reason, isSpent: true }, now);
}

/** Marks a refund as failed and releases its reserved amount in the same commit. */
export function failedRefund(
  order: OrderRow,
  refund: RefundRow,
  failure: { code: string; message: string; byPerson?: boolean; isSpent?: boolean },
  now: Date,
): Change {
  const { refundNo, origin, state } = refund;
  const { byPerson = false, isSpent = refund.accepted } = failure;
  if (state === 'failed' || state === 'succeeded') return STAY;
  const isOurOwn = origin !== 'merchant' && origin !== 'admin';
  return {
    rule: byPerson || state === 'abnormal' ? 'refund_decided' : 'refund_failed',
    refund: {
      state: 'failed',
      accepted: isSpent,
      failureCode: failure.code.slice(0, 128),
      failureMessage: failure.message,
      finishedAt: now,
      nextCheckAt: null,
      leasedUntil: null,
    },
    order: refund.surplus ? {} : { refunding: order.refunding - refund.amount },
    emit: [{ type: 'refund.failed', each: true }],
    raise: isOurOwn ? [{ kind: 'refund_abnormal', dedupe: refundNo, refundNo, again: true }] : [],
    resolve: [notOverdue(refund, 'failed')],
    effects: [{ name: `refund-failed:${refundNo}:${order.sequence + 1}`, run: ['refundFailed'] }],
  };
}

/**
 * Marks a refund as abnormal. Possibly neither payer nor merchant has the money, so an operator must check. If the
 * refund had failed, its amount is reserved again.
 */
function abnormal({ order, refund, outcome }: OutcomeContext<OutcomeOf<'abnormal'>>): Change {
  const { refundNo, state, surplus } = refund;
  // A reversal at the channel does not affect money that the payer received outside the channel.
  if (state === 'abnormal' || wasPaidByPerson(refund)) return STAY;
  const isBack = state === 'failed';
  const sums: Sums = surplus ? {} : sumsOfAbnormal(order, refund);
  return {
    rule: 'refund_reversed',
    refund: {
      state: 'abnormal',
      accepted: true,
      failureCode: outcome.code.slice(0, 128),
      failureMessage: outcome.reason,
      channelRefundNo: outcome.channelRefundNo ?? refund.channelRefundNo,
      finishedAt: null,
      nextCheckAt: null,
      leasedUntil: null,
    },
    order: sums,
    outcome,
    emit: [{ type: 'refund.abnormal', each: true }],
    raise: [
      {
        kind: state === 'succeeded' ? 'refund_reversed' : 'refund_abnormal',
        dedupe: `${refundNo}:${order.sequence + 1}`,
        refundNo,
        detail: outcome,
      },
      ...overrunOf(order, refund, sums.overrun),
    ],
    resolve: [notOverdue(refund, 'abnormal')],
    effects: isBack ? [reservedAgain(order, refund)] : [],
  };
}

function sumsOfAbnormal(order: OrderRow, { state, amount }: RefundRow): Sums {
  const { refunded, refunding } = order;
  if (state === 'succeeded') return { refunded: refunded - amount, refunding: refunding + amount };
  return state === 'failed' ? withOverrun(order, { refunded, refunding: refunding + amount }) : {};
}

/** Resolves the exception `refund_overdue`, because the refund has ended or has another exception. */
function notOverdue({ refundNo }: RefundRow, resolution: string): Resolved {
  return { where: { refundNo, kind: 'refund_overdue' }, resolution, by: 'service' };
}

/**
 * Handles an outcome without a final result. A refusal fails the refund only if it is definite, or if two "not found"
 * answers confirm it. While an earlier call can still reach the channel, the refund stays open.
 */
function unsettled({
  order,
  refund,
  outcome,
  sent,
  now,
}: OutcomeContext<OutcomeOf<'refused'> | OutcomeOf<'absent'> | OutcomeOf<'unknown'>>): Change {
  if (refund.state !== 'pending' && refund.state !== 'processing') return STAY;
  const patch = {
    checks: refund.checks + 1,
    leasedUntil: null,
    ...(outcome.kind === 'refused'
      ? { refusedAt: now, failureCode: outcome.code.slice(0, 128), failureMessage: outcome.reason }
      : {}),
    ...(outcome.kind === 'unknown' && sent ? { unknownAt: now } : {}),
    ...(outcome.kind === 'absent' ? countAbsence(refund, now) : {}),
  };
  const next = { ...refund, ...patch };
  if (isDisowned(next))
    return onItsWay(refund, { ...patch, ...DISOWNED, nextCheckAt: later(now, ABSENCE_SECONDS + 1) }, outcome, now);
  const isDefinite = outcome.kind === 'refused' && outcome.definite === true;
  if (!isRefusedForSure(next, isDefinite, now))
    return onItsWay(refund, { ...patch, nextCheckAt: nextQuery(next, now) }, outcome, now);
  if (isSystemRefund(refund)) return sentAgain(refund, patch, now);
  const failure = { code: next.failureCode ?? 'refused', message: next.failureMessage ?? '' };
  return failedRefund(order, refund, failure, now);
}

/**
 * Plans to send a refused refund again with the same number, and opens an exception. Used for refunds of late payments
 * and of payments outside the order's sums.
 */
function sentAgain(refund: RefundRow, patch: NonNullable<Touched['refund']>, now: Date): Change {
  const { refundNo, checks } = refund;
  const nextCheckAt = nextRefundCheck(checks, now);
  return {
    rule: null,
    refund: { ...patch, refusedAt: null, absentCount: 0, absentFirstAt: null, nextCheckAt },
    raise: [
      { kind: 'refund_abnormal', dedupe: refundNo, refundNo, again: true },
      ...overdue({ ...refund, ...patch }, now),
    ],
  };
}

function isSystemRefund({ origin }: RefundRow): boolean {
  return origin === 'late' || origin === 'surplus';
}

function onItsWay(refund: RefundRow, patch: NonNullable<Touched['refund']>, outcome: RefundOutcome, now: Date): Change {
  const raise = overdue(refund, now);
  if (refund.state === 'processing') return { rule: null, refund: patch, raise };
  return { rule: 'refund_sent', refund: { ...patch, state: 'processing' }, outcome, raise };
}

function overdue(refund: RefundRow, now: Date): Raised[] {
  const { refundNo, failureCode } = refund;
  if (!isRefundOverdue(refund, now)) return [];
  return [{ kind: 'refund_overdue', dedupe: refundNo, refundNo, detail: { failureCode }, again: true }];
}

/**
 * Whether the channel accepted a refund and later reported "not found" twice. If so, the refund is sent again with the
 * same number. A refund made outside this service is never sent.
 */
function isDisowned({ accepted, absentCount, origin }: RefundRow): boolean {
  return accepted && absentCount >= 2 && !isExternal(origin);
}

const DISOWNED = { accepted: false, absentCount: 0, absentFirstAt: null } as const;

function countAbsence(refund: RefundRow, now: Date): Partial<Pick<RefundRow, 'absentCount' | 'absentFirstAt'>> {
  const first = refund.absentFirstAt;
  if (first === null) return { absentCount: 1, absentFirstAt: now };
  return now >= later(first, ABSENCE_SECONDS) ? { absentCount: refund.absentCount + 1 } : {};
}

function isRefusedForSure(refund: RefundRow, isDefinite: boolean, now: Date): boolean {
  const canStillLand = refund.unknownAt !== null && now < later(refund.unknownAt, LANDING_SECONDS);
  const isConfirmed = isDefinite || refund.absentCount >= 2;
  return refund.refusedAt !== null && isConfirmed && !canStillLand && !refund.accepted;
}

/** After a refusal or a "not found" answer, the next query comes after only a minute, to confirm the answer soon. */
function nextQuery(refund: RefundRow, now: Date): Date {
  const regular = nextRefundCheck(refund.checks - 1, now);
  const soon = later(now, ABSENCE_SECONDS + 1);
  const isCounting = (refund.refusedAt !== null || refund.absentCount > 0) && refund.absentCount < 2;
  return isCounting && regular > soon ? soon : regular;
}

/** The refunded amount differs from the requested amount: the refund is abnormal until an administrator ends it. */
function differentAmount(context: OutcomeContext<OutcomeOf<'succeeded'>>): Change {
  const { refund, outcome } = context;
  const { refundNo } = refund;
  const { amount: received } = outcome;
  const listed: Raised = { kind: 'refund_mismatch', dedupe: refundNo, refundNo, received, blocksRefunds: true };
  if (refund.state === 'failed' || refund.state === 'abnormal')
    return { rule: null, refund: { nextCheckAt: null, leasedUntil: null }, raise: [listed] };
  const reason = 'The channel refunded a different amount.';
  const change = abnormal({ ...context, outcome: { kind: 'abnormal', code: 'amount_mismatch', reason } });
  return { ...change, raise: [listed, ...(change.raise ?? [])] };
}

function overrunOf(order: OrderRow, { refundNo }: RefundRow, overrun: bigint | undefined): Raised[] {
  if (overrun === undefined || overrun <= order.overrun) return [];
  return [{ kind: 'refund_overrun', dedupe: refundNo, refundNo }];
}
