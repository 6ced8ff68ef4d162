import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundLookupRow, RefundRow } from '../../db/entities/refunds.ts';
import type { ExceptionKind } from '../../domain.ts';
import type { ChannelLimits, PaymentGivenBack, RefundOutcome } from '../channel.ts';
import type { RefundFacts } from './facts.ts';
import { type RefundReport, failedRefund, applyRefundOutcome } from './apply-refund-outcome.ts';
import {
  type Change,
  type Raised,
  type RefundTransition,
  type Refusal,
  type Resolved,
  STAY,
  type Touched,
  isOpen,
  refundableOf,
} from './transitions.ts';
import {
  type RefundIntent,
  externalRefund,
  externalSurplus,
  isExternal,
  newRefund,
  reservation,
} from './open-refund.ts';
import { isRefundOverdue, isSendable, later, nextRefundCheck } from './plan.ts';

/** A lookup (queries about a refund that the channel named) without a result for this long opens an exception. */
const LISTED_SECONDS = 86_400;

interface LookupTransition {
  readonly patch: Partial<RefundLookupRow>;
  readonly raise?: readonly Raised[];
  readonly resolve?: readonly Resolved[];
  /** The outcome to store for the refund; absent = nothing to store. */
  readonly settle?: RefundAnswer;
}

/** An outcome that ends a refund, or makes it wait for an administrator. */
type RefundEnd = Extract<RefundOutcome, { kind: 'succeeded' | 'failed' | 'abnormal' }>;
/** `pending` is stored too, because the service may have stored this refund as failed. */
export type RefundAnswer = RefundEnd | Extract<RefundOutcome, { kind: 'pending' }>;

interface LookedUp extends Pick<OrderRow, 'paid'> {
  readonly isKnown: boolean;
  /**
   * Whether an exception exists for the refunded payment. If so, the queries about the refund can end even if the order
   * is not paid.
   */
  readonly isOfListed?: boolean;
}

/**
 * Decides what changes after an answer to a refund lookup. Only a final or abnormal refund ends the lookup. After any
 * other answer the channel is queried again, without limit.
 */
export function decideLookup(
  { paid, isKnown, isOfListed = false }: LookedUp,
  lookup: RefundLookupRow,
  outcome: RefundOutcome,
  now: Date,
): LookupTransition {
  const { orderNo, number, checks, createdAt } = lookup;
  const isOfPayment = outcome.kind === 'succeeded' && (paid > 0n || isOfListed);
  if (isEnd(outcome) && (isKnown || outcome.kind === 'failed' || isOfPayment))
    return {
      patch: { state: 'answered', nextAt: null, leasedUntil: null, lastAnswer: outcome.kind, finishedAt: now },
      resolve: [{ where: listedAs(orderNo, number), resolution: outcome.kind, by: 'service' }],
      ...(isKnown || outcome.kind === 'succeeded' ? { settle: outcome } : {}),
    };
  const listedAt = later(createdAt, LISTED_SECONDS);
  const regular = nextRefundCheck(checks, now);
  const nextAt = now < listedAt && regular > listedAt ? listedAt : regular;
  return {
    patch: { checks: checks + 1, nextAt, leasedUntil: null, lastAnswer: outcome.kind },
    raise: now < listedAt ? [] : [unanswered(number, outcome)],
    ...(isKnown && outcome.kind === 'pending' ? { settle: outcome } : {}),
  };
}

function isEnd(outcome: RefundOutcome): outcome is RefundEnd {
  return outcome.kind === 'succeeded' || outcome.kind === 'failed' || outcome.kind === 'abnormal';
}

/** The exception for a refund that the channel named but whose result could not be queried. */
export function unanswered(number: string, answer: object = {}): Raised {
  return {
    kind: 'refund_unexplained',
    dedupe: number,
    detail: { number, said: answer },
    blocksRefunds: true,
    again: true,
  };
}

function listedAs(orderNo: string, number: string) {
  return { orderNo, kind: 'refund_unexplained' as const, dedupe: number };
}

/** Decides how an outcome changes a refund and the sums of its order. */
export function decideRefund(order: OrderRow, refund: RefundRow, report: RefundReport, now: Date): Change;
export function decideRefund(order: OrderRow, refund: RefundRow, command: RefundCommand, now: Date): Change | Refusal;
export function decideRefund(
  order: OrderRow,
  refund: RefundRow,
  input: RefundReport | RefundCommand,
  now: Date,
): Change | Refusal;
/** Decides how an outcome or a command changes a refund. The same rows and time always give the same result. */
export function decideRefund(
  order: OrderRow,
  refund: RefundRow,
  input: RefundReport | RefundCommand,
  now: Date,
): Change | Refusal {
  return 'command' in input
    ? runRefundCommand(order, refund, input, now)
    : applyRefundOutcome(order, refund, input, now);
}

interface NewRefundFacts extends RefundFacts {
  readonly earlier: readonly RefundRow[];
}

/** `mayRepeat`: the request has neither an Idempotency-Key nor a refund number, so it may be a retry. */
type RequestedRefund = Omit<RefundIntent, 'dueAt' | 'sentByCaller'> & { readonly mayRepeat: boolean };

/** Checks a new refund and reserves its amount. The sequence of the checks decides which error the caller receives. */
export function decideNewRefund(
  order: OrderRow,
  { blockedBy, limits, earlier }: NewRefundFacts,
  { mayRepeat, ...requested }: RequestedRefund,
  now: Date,
): Change | Refusal {
  const refusal = refundsRefused(order, blockedBy);
  if (refusal) return refusal;
  if (requested.amount > refundableOf(order)) return { refuse: { code: 'refund_exceeds_refundable' } };
  const twin = mayRepeat ? earlier.find((one) => isUndecidedTwin(one, requested.amount)) : undefined;
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
  return { rule: null, open: newRefund(order, { ...requested, dueAt, sentByCaller: true }, now) };
}

/** Without an Idempotency-Key, the new request may be a retry of this undecided refund. */
function isUndecidedTwin({ amount, state }: RefundRow, requested: bigint): boolean {
  return amount === requested && (state === 'pending' || state === 'processing');
}

/**
 * Some channels require a minimum time between two refunds of an order. A refund that is requested earlier is
 * scheduled, not rejected.
 */
function firstSlot(earlier: readonly RefundRow[], spacingSeconds: number, now: Date): Date {
  const sent = earlier.filter(
    ({ approval, state }) => approval !== 'waiting' && !(approval === 'rejected' && state === 'failed'),
  );
  const last = Math.max(0, ...sent.map(({ sentAt, createdAt }) => (sentAt ?? createdAt).getTime()));
  const slot = new Date(last + spacingSeconds * 1000);
  return last > 0 && slot > now ? slot : now;
}

interface ForeignFacts {
  readonly isKnown: boolean;
  /**
   * The refund row that the service created for the same money when the dispute was lost. The channel has not reported
   * this refund yet.
   */
  readonly ofDispute?: RefundRow | undefined;
  /** The refunded payment, if the refund is not for the order's own payment. */
  readonly ofOther?: OtherPayment | undefined;
}

/** A payment that the order's sums do not include: a second payment, or a payment whose amount differs. */
export interface OtherPayment extends PaymentGivenBack {
  /** The number of another order that has this payment; null = none. */
  readonly owner: string | null;
  /** The amount of this payment that was refunded before, in minor units. */
  readonly back: bigint;
  /** Whether this payment has its own exception, open or resolved. */
  readonly isListed: boolean;
}

type ForeignRefund = Extract<RefundOutcome, { kind: 'succeeded' }>;
interface ForeignNames {
  readonly refundNo: string;
  readonly channelRefundNo: string | null;
  readonly number: string | null;
  readonly actor: string;
  readonly cause: string;
}

/** Whether a refund belongs to the payment in the order's sums; a refund that names no payment does. */
export function isOwnPayment(
  { paid, channelTradeNo }: Pick<OrderRow, 'paid' | 'channelTradeNo'>,
  payment: PaymentGivenBack | undefined,
): boolean {
  if (payment === undefined) return true;
  return paid > 0n && (channelTradeNo === null || channelTradeNo === payment.channelNo);
}

/**
 * Records a refund that was made outside this service. If no payment of the order is known, a query is scheduled and an
 * exception is opened.
 */
export function decideForeignRefund(
  order: OrderRow,
  { isKnown, ofDispute, ofOther }: ForeignFacts,
  outcome: ForeignRefund,
  also: ForeignNames,
  now: Date,
): Change {
  if (isKnown) return STAY;
  if (ofOther) return givenBackOfOther(order, ofOther, outcome, also, now);
  if (ofDispute) return { rule: null, refund: { channelRefundNo: also.channelRefundNo } };
  if (order.paid > 0n) return { rule: null, open: externalRefund(order, outcome, also, now) };
  const dedupe = also.number ?? 'once';
  return {
    rule: null,
    order: { nextCheckAt: now, leasedUntil: null },
    raise: [{ ...unanswered(dedupe, outcome), received: outcome.amount }],
  };
}

/**
 * Handles a refund of a payment that is not the order's own: the order's sums do not change. If the payment is unknown,
 * an exception is opened. The exception is resolved when the payment is refunded in full.
 */
function givenBackOfOther(
  order: OrderRow,
  { owner, back, isListed, channelNo, amount: received }: OtherPayment,
  outcome: ForeignRefund,
  also: ForeignNames,
  now: Date,
): Change {
  const { orderNo, state } = order;
  const { amount, at } = outcome;
  // The exception shows the time of the refund (`refundedAt`), because the message does not contain the time of the
  // payment.
  const listed = { dedupe: channelNo, received, detail: { channelNo, refundedAt: at } };
  if (owner !== null)
    return {
      rule: null,
      raise: [{ ...listed, kind: 'payment_of_another_order', detail: { ...listed.detail, owner } }],
    };
  const listedAs = (kind: ExceptionKind) => ({ orderNo, kind, dedupe: channelNo.slice(0, 128) });
  const isWhole = amount.currency === received.currency && back + amount.minor >= received.minor;
  const how = { resolution: 'refunded', by: 'service' } as const;
  const ended = isWhole ? (['double_paid', 'amount_mismatch'] as const) : [];
  return {
    rule: null,
    ...(isOpen(state) ? { order: { nextCheckAt: now, leasedUntil: null } } : {}),
    raise: isListed ? [] : [{ ...listed, kind: 'double_paid' }],
    resolve: [
      ...ended.map((kind) => ({ where: listedAs(kind), ...how })),
      // The comparison of a bill may have opened an exception about this payment. It is resolved too.
      { where: listedAs('duplicate_payment'), resolution: 'explained', by: 'service' },
    ],
    open: externalSurplus(order, outcome, also, now),
  };
}

export type RefundCommand =
  /** Records the start of a send before the channel is called. A repeated call has the same number and content. */
  | { readonly command: 'send' }
  /** A failed or overdue refund is requested again. */
  | { readonly command: 'retry'; readonly facts: RefundFacts }
  /** An administrator retries an abnormal refund. */
  | { readonly command: 'reopen' }
  /** An administrator ends a refund that the channel has just reported as unknown. */
  | ByPerson<'release'>
  /** An administrator declares that the payer got the money outside the channel. */
  | ByPerson<'paid_elsewhere'>
  /** An administrator declares that the channel will never make this refund. */
  | ByPerson<'failed_at_channel'>
  | { readonly command: 'approve'; readonly facts: NewRefundFacts }
  | { readonly command: 'reject'; readonly reason: string }
  | { readonly command: 'rest' };

interface ByPerson<Name extends string> {
  readonly command: Name;
  readonly reason: string;
  readonly actor: string;
  readonly listed: boolean;
}

type Command<Name extends RefundCommand['command']> = Extract<RefundCommand, { command: Name }>;
type DecideCommand<Name extends RefundCommand['command']> = (
  pair: Pair,
  command: Command<Name>,
  now: Date,
) => Change | Refusal;

interface Pair {
  readonly order: OrderRow;
  readonly refund: RefundRow;
}

function runRefundCommand(order: OrderRow, refund: RefundRow, command: RefundCommand, now: Date): Change | Refusal {
  return COMMANDS[command.command]({ order, refund }, command as never, now);
}

const COMMANDS: { readonly [Name in RefundCommand['command']]: DecideCommand<Name> } = {
  send: ({ refund }, _command, now) => (isSendable(refund) ? sent(refund, now) : STAY),
  retry,
  reopen,
  release: endedByPerson('released'),
  paid_elsewhere: paidElsewhere,
  failed_at_channel: endedByPerson('failed_at_channel'),
  approve,
  reject,
  rest: ({ refund: { state } }) =>
    state === 'pending' || state === 'processing'
      ? STAY
      : { rule: null, refund: { nextCheckAt: null, leasedUntil: null } },
};

/** Rejects the approval if a dispute has meanwhile taken the reserved amount. */
function approve({ order, refund }: Pair, { facts }: Command<'approve'>, now: Date): Change | Refusal {
  if (refund.approval !== 'waiting' || refund.state !== 'pending') return STAY;
  if (order.refunded + order.refunding > order.paid) return { refuse: { code: 'refund_exceeds_refundable' } };
  const { earlier, limits } = facts;
  const sentAt = firstSlot(earlier, limits.refundSpacingSeconds, now);
  const nextCheckAt = sentAt <= now ? later(now, 10) : sentAt;
  return { rule: null, refund: { approval: 'approved', sentAt, nextCheckAt, leasedUntil: null } };
}

/** Rejects a refund that was never sent, and releases its amount. */
function reject({ order, refund }: Pair, { reason }: Command<'reject'>, now: Date): Change {
  if (refund.approval !== 'waiting' || refund.state !== 'pending') return STAY;
  const failure = { code: 'approval_rejected', message: reason, byPerson: true, isSpent: false };
  const ended = failedRefund(order, refund, failure, now) as RefundTransition;
  return { ...ended, refund: { ...ended.refund, approval: 'rejected' } };
}

function reopen({ refund }: Pair, _command: Command<'reopen'>, now: Date): Change | Refusal {
  if (refund.origin === 'dispute') return ofDispute();
  if (isExternal(refund.origin)) return madeElsewhere();
  if (refund.state !== 'abnormal') return notAbnormal();
  return { rule: 'refund_decided', refund: { state: 'processing', nextCheckAt: now, checks: 0, leasedUntil: null } };
}

/**
 * `sentAt` keeps its first value, so that a repeated call is identical. Until `leasedUntil`, no job sends the refund.
 */
function sent(refund: RefundRow, now: Date): Touched {
  // If the channel has not refused the earlier call, the call can still reach the channel.
  const mayLand = refund.tries > 0 && refund.refusedAt === null;
  return {
    rule: null,
    refund: {
      sentAt: refund.tries === 0 ? now : (refund.sentAt ?? now),
      tries: refund.tries + 1,
      nextCheckAt: later(now, 10),
      leasedUntil: later(now, 15),
      refusedAt: null,
      absentCount: 0,
      absentFirstAt: null,
      unknownAt: mayLand ? now : refund.unknownAt,
    },
  };
}

/** Retries a failed refund: checks it and reserves its amount again. An overdue refund is sent again unchanged. */
function retry({ order, refund }: Pair, { facts }: Command<'retry'>, now: Date): Change | Refusal {
  const { blockedBy, limits } = facts;
  if (refund.origin === 'dispute') return ofDispute();
  if (isExternal(refund.origin)) return madeElsewhere();
  if (isRefundOverdue(refund, now)) return sendOverdue(refund, limits, now);
  if (refund.approval === 'rejected') return notRetryable('The refund was rejected; make a new one.');
  if (refund.state !== 'failed') return notRetryable(`A refund in the state ${refund.state} cannot be retried.`);
  const isSystemRefund = refund.surplus || refund.origin === 'late';
  const refusal = isSystemRefund ? undefined : refundsRefused(order, blockedBy);
  if (refusal) return refusal;
  if (!refund.surplus && refund.amount > refundableOf(order)) return { refuse: { code: 'refund_exceeds_refundable' } };
  const isSpent = refund.accepted || isForgotten(refund, limits, now);
  return {
    rule: 'refund_resumed',
    refund: {
      state: 'pending',
      finishedAt: null,
      checks: 0,
      nextCheckAt: later(now, 10),
      leasedUntil: null,
      ...(isSpent ? nextNumber(refund, now) : {}),
    },
    order: refund.surplus ? {} : { refunding: order.refunding + refund.amount },
    effects: [reservation(order, refund)],
  };
}

/** The channel has ended or forgotten the refund with the current number, so the next attempt gets a new number. */
function nextNumber({ attempt }: RefundRow, now: Date) {
  const untried = { accepted: false, tries: 0, refusedAt: null, absentCount: 0, absentFirstAt: null, unknownAt: null };
  return { attempt: attempt + 1, channelRefundNo: null, sentAt: now, ...untried };
}

/** Sends an overdue refund again under the same number, because the channel may have it. */
function sendOverdue(refund: RefundRow, limits: ChannelLimits, now: Date): Change | Refusal {
  if (isForgotten(refund, limits, now))
    return notRetryable('The channel no longer knows numbers of this age; resolve the refund instead.');
  return {
    rule: null,
    refund: {
      accepted: false,
      refusedAt: null,
      absentCount: 0,
      absentFirstAt: null,
      nextCheckAt: now,
      leasedUntil: null,
    },
  };
}

/** Rejects a refund unless the order is paid and no open exception blocks refunds. */
export function refundsRefused(order: OrderRow, blockedBy: string | null): Refusal | undefined {
  if (order.paid === 0n || order.state !== 'paid') return { refuse: { code: 'order_not_paid' } };
  return blockedBy === null ? undefined : { refuse: { code: 'refunds_blocked', kind: blockedBy } };
}

/** Whether the channel may have forgotten the refund number. If so, a repeated call could pay twice. */
export function isForgotten(
  { sentAt, createdAt, tries }: Pick<RefundRow, 'sentAt' | 'createdAt' | 'tries'>,
  { refundResendDays }: Pick<ChannelLimits, 'refundResendDays'>,
  now: Date,
): boolean {
  return tries > 0 && refundResendDays !== null && now > later(sentAt ?? createdAt, refundResendDays * 86_400);
}

function needsPerson(refund: RefundRow, listed: boolean, now: Date): boolean {
  const isOpen = refund.state === 'pending' || refund.state === 'processing';
  return refund.state === 'abnormal' || (isOpen && (listed || isRefundOverdue(refund, now)));
}

/** Ends a refund as failed and releases its amount. */
function endedByPerson(code: string) {
  return (
    { order, refund }: Pair,
    { command, reason, actor, listed }: ByPerson<'release' | 'failed_at_channel'>,
    now: Date,
  ): Change | Refusal => {
    if (!needsPerson(refund, listed, now)) return notAbnormal();
    if (command === 'release' && isExternal(refund.origin)) return notReleased();
    const isSpent = refund.accepted || command === 'failed_at_channel';
    const ended = failedRefund(order, refund, { code, message: reason, byPerson: true, isSpent }, now);
    return { ...ended, resolve: [{ where: { refundNo: refund.refundNo }, resolution: command, by: actor, reason }] };
  };
}

function paidElsewhere(
  { order, refund }: Pair,
  { reason, actor, listed }: Command<'paid_elsewhere'>,
  now: Date,
): Change | Refusal {
  if (!needsPerson(refund, listed, now)) return notAbnormal();
  const { refundNo, amount, surplus } = refund;
  const ended = { finishedAt: now, nextCheckAt: null, leasedUntil: null };
  return {
    rule: 'refund_decided',
    refund: { state: 'succeeded', elsewhere: true, failureMessage: reason, ...ended },
    order: surplus ? {} : { refunding: order.refunding - amount, refunded: order.refunded + amount },
    emit: [{ type: 'refund.succeeded', each: true }],
    resolve: [{ where: { refundNo }, resolution: 'paid_elsewhere', by: actor, reason }],
    effects: [{ name: `refund-succeeded:${refundNo}:${order.sequence + 1}`, run: ['refundSucceeded'] }],
  };
}

function notRetryable(message: string): Refusal {
  return { refuse: { code: 'refund_not_retryable', message } };
}

/** Rejects sending the money of a lost dispute: the payer would be paid twice. */
function ofDispute(): Refusal {
  return notRetryable(
    'The money was lost to a dispute; the service does not refund it again. Resolve the refund instead.',
  );
}

/** The channel may still complete a refund made in its portal. A retry would then pay the payer twice. */
function madeElsewhere(): Refusal {
  return notRetryable(
    'The refund was made outside this service, which does not send it again. Resolve it, or make a new refund.',
  );
}

/**
 * The channel knows a refund made outside this service by another number. Therefore its answer "not found" for the
 * number of this service proves nothing.
 */
function notReleased(): Refusal {
  return {
    refuse: {
      code: 'refund_not_released',
      message: 'The refund was made outside this service. Use the action failed_at_channel or paid_elsewhere.',
    },
  };
}

function notAbnormal(): Refusal {
  return {
    refuse: {
      code: 'refund_not_abnormal',
      message: 'Only a refund that is abnormal, is overdue or has an open exception can be resolved manually.',
    },
  };
}
