import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { EffectRun } from '../../domain.ts';
import type { Outcome, RefundOutcome } from '../channel.ts';
import type { Money } from '../../money.ts';
import {
  type Change,
  type OpenedRefund,
  type OrderTransition,
  type Raised,
  type Resolved,
  STAY,
  type EmittedEvent,
  isOpen,
} from './transitions.ts';
import {
  DECISIONS,
  type Decision,
  type OrderReport,
  type OutcomeContext,
  type OrderFacts,
  type OutcomeOf,
  isAmountOf,
  isCancelled,
  isLate,
  isWelcomeLate,
  wentBack,
} from './facts.ts';
import { externalRefund, newRefund } from './open-refund.ts';
import { ABSENCE_SECONDS, closed, endOf, later, mayTakeApproved, nextOrderCheck, soon } from './plan.ts';

type Sums = Pick<OrderRow, 'refunded' | 'refunding'>;

/** The `dedupe` key of the exception about unknown refunds without a reported refund total: one per order. */
const WITHOUT_TOTAL = 'once';
/** The unknown refunded amount follows this text in `dedupe`, so that another amount opens another exception. */
const BEYOND = 'beyond:';

/**
 * Returns the exception (a case for an operator) if the channel reports more refunds than the service knows. The refund
 * totals are compared, because the service may know some of the refunds and not others.
 */
export function unexplainedRefunds(
  order: Sums,
  { refundsHint = false, refundedTotal: total }: Pick<OutcomeOf<'paid'>, 'refundsHint' | 'refundedTotal'>,
): Raised[] {
  const known = order.refunded + order.refunding;
  if (total === undefined) return refundsHint && known === 0n ? [listed(WITHOUT_TOTAL, {})] : [];
  return total > known ? [listed(`${BEYOND}${total - known}`, { total, known })] : [];
}

function listed(dedupe: string, detail: object): Raised {
  return { kind: 'refund_unexplained', dedupe, detail, blocksRefunds: true };
}

/** Returns the open exceptions (cases for an operator) about refunds that were unknown before and are known now. */
export function explainedBy(
  { refunded, refunding }: Sums,
  open: readonly Pick<OrderExceptionRow, 'id' | 'kind' | 'dedupe' | 'detail'>[],
): Resolved[] {
  const known = refunded + refunding;
  return open
    .filter(({ kind, dedupe }) => kind === 'refund_unexplained' && isAboutSums(dedupe))
    .filter(({ detail }) => (typeof detail?.['total'] === 'string' ? known >= BigInt(detail['total']) : known > 0n))
    .map(({ id }) => ({ where: { id }, resolution: 'explained', by: 'service' }));
}

function isAboutSums(dedupe: string): boolean {
  return dedupe === WITHOUT_TOTAL || dedupe.startsWith(BEYOND);
}

type Paid = OutcomeContext<OutcomeOf<'paid'>>;
/**
 * A payment whose id at the channel may be missing: a channel that closes an order and returns its payment may not
 * report the id.
 */
type ReceivedPayment = Omit<OutcomeOf<'paid'>, 'channelNo'> & { readonly channelNo: string | null };
type Succeeded = Extract<RefundOutcome, { kind: 'succeeded' }>;

function paidPatch(outcome: ReceivedPayment, order: OrderRow, now: Date): OrderTransition['order'] {
  return {
    state: 'paid',
    paid: outcome.amount.minor,
    // The channel's clock may be behind ours or lack fractions of a second. Therefore `paidAt` is never earlier than
    // the creation of the order. The history keeps the channel's time.
    paidAt: outcome.at < order.createdAt ? order.createdAt : outcome.at,
    channelTradeNo: outcome.channelNo ?? order.channelTradeNo,
    channelOrderId: outcome.channelOrderId ?? order.channelOrderId,
    payer: outcome.payer?.slice(0, 256) ?? order.payer,
    credential: null,
    captureState: null,
    captureReason: null,
    captureLeasedUntil: null,
    approvalAskedAt: null,
    reverseDoubtAt: null,
    ...settlementPatch(outcome),
    checkedAt: now,
    nextCheckAt: null,
    leasedUntil: null,
  };
}

/**
 * Accepts or refunds a late payment, according to the order's `latePayment` policy. The payment is always refunded if
 * stock is missing. It is also refunded if another order uses the same merchantOrderNo.
 */
function latePaid(context: Paid): Change {
  const { order, facts, outcome, now } = context;
  if (!isWelcomeLate(order, facts) || facts.readmitted !== true) return refundLatePayment(context);
  return {
    rule: 'late_payment',
    order: { ...paidPatch(outcome, order, now), checks: 0 },
    outcome,
    emit: [{ type: 'order.paid' }],
    raise: [{ kind: 'late_paid', dedupe: 'once', detail: { accepted: true } }, ...unexplainedRefunds(order, outcome)],
    effects: [{ name: 'paid', run: ['paid'] }],
  };
}

/**
 * Refunds a late payment in full. The refund is created in the commit that stores the payment, under a fixed refund
 * number. The order's status in the API changes only when the refund has succeeded.
 */
function refundLatePayment({ order, outcome, now }: Paid): Change {
  const late = endedPatch(order, outcome, now);
  const intent = {
    refundNo: `R${order.orderNo}L`,
    amount: outcome.amount.minor,
    origin: 'late',
    reason: 'The order had ended before the payment arrived.',
    merchantRefundNo: null,
    actor: 'service',
    cause: 'late',
    dueAt: now,
  } as const;
  return {
    rule: 'late_payment',
    order: late,
    outcome,
    emit: [{ type: 'order.paid_late' }, ...endReported(order)],
    raise: [{ kind: 'late_paid', dedupe: 'once', detail: { accepted: false } }, ...unexplainedRefunds(order, outcome)],
    effects: endEffects(order),
    open: newRefund({ ...order, ...late, sequence: order.sequence + 1 }, intent, now),
  };
}

/** Records a payment that the channel has already returned in full, with its refund. */
export function autoRefunded({
  order,
  outcome,
  now,
}: {
  order: OrderRow;
  outcome: ReceivedPayment;
  now: Date;
}): Change {
  const ended = endedPatch(order, outcome, now);
  const { amount, at } = outcome;
  const paidOrder = { ...order, ...ended, sequence: order.sequence + 1 };
  const returned = refundByClose(paidOrder, { kind: 'succeeded', amount, at }, now);
  return {
    rule: 'late_payment',
    order: ended,
    outcome,
    emit: [{ type: 'order.paid_late' }, ...endReported(order)],
    effects: endEffects(order),
    open: { ...returned, raise: [] },
  };
}

/**
 * A refund that the channel made itself: it returned a payment when it closed the order, or before the service knew of
 * the payment.
 */
export function refundByClose(order: OrderRow, outcome: Succeeded, now: Date): OpenedRefund {
  const also = { refundNo: `R${order.orderNo}C`, channelRefundNo: null, actor: 'service', cause: 'close' };
  const opened = externalRefund(order, outcome, also, now);
  return { ...opened, row: { ...opened.row, reason: 'The channel returned the payment when it closed the order.' } };
}

function endedPatch(order: OrderRow, outcome: ReceivedPayment, now: Date): OrderTransition['order'] {
  return {
    ...paidPatch(outcome, order, now),
    state: order.state === 'failed' ? 'failed' : 'closed',
    closedAt: order.closedAt ?? now,
    ...(order.state === 'closing' ? { closeReason: order.closeReason ?? ('merchant' as const) } : {}),
  };
}

function endReported({ state }: OrderRow): EmittedEvent[] {
  return state === 'closing' ? [{ type: 'order.closed' }] : [];
}

function endEffects({ state }: OrderRow): EffectRun[] {
  return state === 'closing' ? [{ name: 'ended', run: ['ended'] }] : [];
}

/** Handles a payment report about a paid order: a second payment or an unknown refund opens an exception. */
function againPaid({ order, outcome, now }: Paid): Change {
  const isOther = order.channelTradeNo !== null && outcome.channelNo !== order.channelTradeNo;
  const { channelNo: dedupe, amount: received } = outcome;
  const second: Raised[] = isOther ? [{ kind: 'double_paid', dedupe, received, detail: outcome }] : [];
  // If this is a second payment, its refunds are not in the order's sums, so they are not compared with the sums.
  const raise = isOther ? second : unexplainedRefunds(order, outcome);
  const settlement = isOther || order.settlement !== null ? {} : settlementPatch(outcome);
  const where = { orderNo: order.orderNo, kind: 'double_paid', dedupe } as const;
  const isBack = isOther && wentBack(outcome);
  const resolve: Resolved[] = isBack ? [{ where, resolution: 'refunded', by: 'service' }] : [];
  return { rule: null, order: { checkedAt: now, ...settlement }, raise, resolve };
}

/** The exception for a payment that another order already has. An operator must find out which order was paid. */
export function ofAnother(
  owner: string,
  { channelNo, amount: received, at }: Pick<OutcomeOf<'paid'>, 'channelNo' | 'amount' | 'at'>,
): Raised {
  return { kind: 'payment_of_another_order', dedupe: channelNo, received, detail: { channelNo, at, owner } };
}

/** Stores the fee and the net amount that the channel reported first; later reports do not change them. */
function settlementPatch({ settlement }: Pick<ReceivedPayment, 'settlement'>): Partial<Pick<OrderRow, 'settlement'>> {
  if (!settlement) return {};
  const { fee, net, received, completedAt } = settlement;
  const stored = (money: Money | undefined) => money && { minor: String(money.minor), currency: money.currency };
  return {
    settlement: {
      fee: stored(fee),
      net: stored(net),
      received: stored(received),
      completedAt: completedAt?.toISOString(),
    },
  };
}

/**
 * Handles a payment whose amount differs from the amount of the order. Such a payment never makes the order paid. An
 * operator decides, and the channel is not queried until then.
 */
function differentAmount({ order, facts, outcome, now }: Paid): Change {
  // An operator has resolved the exception about the payment with the wrong amount, so the order closes.
  if (facts.mismatch === 'ended' && isOpen(order.state))
    return closed(order, order.closeReason ?? 'admin', now, outcome);
  const { channelNo, amount: received, at } = outcome;
  const listed: Raised = {
    kind: 'amount_mismatch',
    dedupe: channelNo,
    received,
    detail: { channelNo, at },
    blocksRefunds: true,
  };
  return {
    ...STAY,
    order: {
      nextCheckAt: null,
      leasedUntil: null,
      checkedAt: now,
      ...(order.channelTradeNo === null ? { channelTradeNo: channelNo } : {}),
    },
    raise: facts.mismatch === 'new' ? [listed] : [],
  };
}

/**
 * The service waits this many seconds for the response to a close request that may return money. After this time the
 * result of the request is unknown.
 */
const REVERSE_LEASE_SECONDS = 30;

/**
 * Whether a close may be sent. `plain`: the close moves no money. The other values are for orders with a payer's code:
 * their close can return a payment, so only one may run at a time. `first`: no close was sent yet; `again`: the result
 * of an earlier close is unknown; `running`: a close waits for its response.
 */
export type Reverse = 'plain' | 'first' | 'again' | 'running';

/** Returns the kind of close that the order needs now (see `Reverse`). */
export function reverseOf({ scene, state, reverseDoubtAt }: OrderRow, now: Date): Reverse {
  if (scene !== 'code' || state !== 'closing') return 'plain';
  if (reverseDoubtAt === null) return 'first';
  return reverseDoubtAt <= now ? 'again' : 'running';
}

/** Records the start of a close that may return a payment, and until when the service waits for the response. */
export function claimReverse(order: OrderRow, now: Date): Change {
  const reverse = reverseOf(order, now);
  if (reverse === 'plain') return STAY;
  if (reverse === 'running') return { rule: null, order: { nextCheckAt: order.reverseDoubtAt, leasedUntil: null } };
  const reverseDoubtAt = later(now, REVERSE_LEASE_SECONDS);
  return { rule: null, order: { reverseDoubtAt, nextCheckAt: later(reverseDoubtAt, 1), leasedUntil: null } };
}

/**
 * Records the end of a close that may return a payment. Without a response the result stays unknown, and the close is
 * due again.
 */
export function afterReverse(
  { reverseDoubtAt }: OrderRow,
  own: Date | undefined,
  isAnswered: boolean,
  now: Date,
): Pick<Partial<OrderRow>, 'reverseDoubtAt'> {
  const isOwn = own !== undefined && reverseDoubtAt?.getTime() === own.getTime();
  return isOwn ? { reverseDoubtAt: isAnswered ? null : now } : {};
}

/** A payment that a running close may return does not count until the close has a response. */
function awaitReverse({ reverseDoubtAt }: OrderRow, now: Date): Change {
  const nextCheckAt = reverseDoubtAt !== null && reverseDoubtAt > now ? reverseDoubtAt : now;
  return { rule: null, order: { checkedAt: now, nextCheckAt, leasedUntil: null } };
}

/**
 * Decides how an outcome (a channel's answer) changes an order. The table `DECISIONS` gives the usual reaction, which
 * `facts` may change.
 */
export function applyOrderOutcome(order: OrderRow, facts: OrderFacts, report: OrderReport, now: Date): Change {
  const decision = decisionOf(order, facts, report, now);
  return STEPS[decision]({ order, facts, outcome: report.outcome, cause: report.cause, now } as never);
}

function decisionOf(
  order: OrderRow,
  facts: OrderFacts,
  { outcome, isFirstResponse }: OrderReport,
  now: Date,
): Decision {
  if (outcome.kind === 'paid' && facts.owner) return 'refuse';
  const decision = DECISIONS[order.state][outcome.kind];
  if (decision === 'fail' && !(isFirstResponse && outcome.kind === 'declined' && outcome.definite)) return 'note';
  // If an approval was refused before or arrives too late, it is stored, but the money is not captured (collected).
  if (decision === 'capture' && order.state === 'pending' && !mayTakeApproved(order, now)) return 'note';
  if (decision !== 'pay' && decision !== 'late') return decision;
  if (order.paid > 0n) return 'again';
  if (outcome.kind === 'paid' && isCancelled(order, outcome)) return 'late';
  if (order.state === 'closing' && order.reverseDoubtAt !== null) return 'await_reverse';
  return isLate(order, facts) ? 'late' : 'pay';
}

const STEPS: Readonly<Record<Decision, (context: OutcomeContext<never>) => Change>> = {
  accept,
  note,
  await_reverse: ({ order, now }) => awaitReverse(order, now),
  withhold,
  capture,
  pay,
  late,
  again: againPaid,
  refuse,
  hint,
  close,
  fail,
  nothing: () => STAY,
};

function accept({ order, outcome, now }: OutcomeContext<OutcomeOf<'pending'>>): Change {
  const patch = {
    ...outcomePatch(order, outcome, now),
    ...captureAfter(order, outcome),
    state: 'pending' as const,
    checks: 0,
    leasedUntil: null,
  };
  return { rule: 'accepted', order: { ...patch, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) } };
}

function note({ order, outcome, cause, now }: OutcomeContext): Change {
  const patch = {
    ...outcomePatch(order, outcome, now),
    ...absence(order, outcome, now),
    ...captureAfter(order, outcome),
  };
  return { rule: null, order: { ...patch, ...planAfter({ ...order, ...patch }, cause, now) } };
}

/**
 * A query by a caller never postpones a planned check, because an order that a caller polls would then never expire.
 */
function planAfter(
  order: OrderRow,
  cause: string,
  now: Date,
): Pick<Partial<OrderRow>, 'checks' | 'leasedUntil' | 'nextCheckAt'> {
  const regular = nextOrderCheck(order, now);
  if (cause !== 'query') return { checks: order.checks + 1, leasedUntil: null, nextCheckAt: regular };
  const planned = order.nextCheckAt;
  return { nextCheckAt: planned !== null && (regular === null || planned < regular) ? planned : regular };
}

/** After a close was requested, the payment link of a `pending` outcome is not stored. */
function withhold({ order, outcome, cause, now }: OutcomeContext<OutcomeOf<'pending'>>): Change {
  const patch = {
    channelOrderId: outcome.channelOrderId ?? order.channelOrderId,
    absentCount: 0,
    absentFirstAt: null,
    ...captureAfter(order, outcome),
  };
  if (cause === 'place') return { rule: null, order: { ...patch, nextCheckAt: now } };
  if (order.state !== 'closing') return { rule: null, order: patch };
  return { rule: null, order: { ...patch, ...planAfter({ ...order, ...patch }, cause, now) } };
}

/** Stores the payer's approval. A job then runs the order command `capture`, which decides about the capture. */
function capture({ order, outcome, now }: OutcomeContext<OutcomeOf<'approved'>>): Change {
  const lease = order.captureState === 'live' ? order.captureLeasedUntil : null;
  const patch = {
    ...outcomePatch(order, outcome, now),
    ...captureAfter(order, outcome),
    leasedUntil: null,
    // While a capture is running, no second capture is due.
    nextCheckAt: lease !== null && lease > now ? later(lease, 1) : now,
  };
  if (order.state === 'created') return { rule: 'accepted', order: { ...patch, state: 'pending' }, wake: 'capture' };
  return { rule: null, order: patch, wake: 'capture' };
}

function pay(context: OutcomeContext<OutcomeOf<'paid'>>): Change {
  const { order, outcome, now } = context;
  if (!isAmountOf(order, outcome.amount)) return differentAmount(context);
  return {
    rule: order.state === 'closing' ? 'paid_before_close' : 'paid',
    order: paidPatch(outcome, order, now),
    outcome,
    emit: [{ type: 'order.paid' }],
    raise: unexplainedRefunds(order, outcome),
    effects: [{ name: 'paid', run: ['paid'] }],
  };
}

/** One payment pays only one order, so a payment that another order already has is rejected. */
function refuse({ order, facts, outcome, cause, now }: OutcomeContext<OutcomeOf<'paid'>>): Change {
  const raise = [ofAnother(facts.owner!, outcome)];
  const isOwnQuery = cause !== 'notice';
  if (isOwnQuery && isOpen(order.state))
    return { rule: null, order: { checkedAt: now, ...planAfter(order, cause, now) }, raise };
  return { rule: null, order: isOwnQuery ? { checkedAt: now } : soon(order, now), raise };
}

function late(context: OutcomeContext<OutcomeOf<'paid'>>): Change {
  if (!isAmountOf(context.order, context.outcome.amount)) return differentAmount(context);
  return wentBack(context.outcome) ? autoRefunded(context) : latePaid(context);
}

/** A paid order that the channel reports as closed was refunded in full; an unknown refund opens an exception. */
function hint({ order, now }: OutcomeContext): Change {
  const raise = unexplainedRefunds(order, { refundedTotal: order.paid });
  return raise.length === 0 ? STAY : { rule: null, order: { checkedAt: now }, raise };
}

function close({ order, outcome, now }: OutcomeContext): Change {
  return closed(order, order.closeReason ?? (now >= order.expiresAt ? 'expired' : 'channel'), now, outcome);
}

function fail({ order, outcome, now }: OutcomeContext<OutcomeOf<'declined'>>): Change {
  const patch = {
    state: 'failed' as const,
    failureCode: outcome.code.slice(0, 128),
    failureMessage: outcome.reason,
    closedAt: now,
    checks: 0,
    leasedUntil: null,
  };
  return {
    rule: 'declined',
    order: { ...patch, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) },
    outcome,
    emit: [{ type: 'order.failed' }],
    effects: [{ name: 'ended', run: ['ended'] }],
  };
}

function outcomePatch(
  { scene }: OrderRow,
  outcome: Outcome,
  now: Date,
): Partial<Pick<OrderRow, 'checkedAt' | 'channelOrderId' | 'credential' | 'credentialUntil'>> {
  return {
    ...(outcome.kind === 'unknown' ? {} : { checkedAt: now }),
    ...('channelOrderId' in outcome && outcome.channelOrderId ? { channelOrderId: outcome.channelOrderId } : {}),
    ...(outcome.kind === 'pending' && outcome.pay
      ? {
          credential: outcome.pay,
          credentialUntil: outcome.paySeconds === undefined ? null : later(now, outcome.paySeconds),
        }
      : {}),
    ...(outcome.kind === 'pending' && scene === 'code' ? { credential: { type: 'code' as const } } : {}),
  };
}

/** Counts "not found" answers after the expiry at the channel; any other usable answer sets the count to 0. */
function absence(
  order: OrderRow,
  outcome: Outcome,
  now: Date,
): Partial<Pick<OrderRow, 'absentCount' | 'absentFirstAt'>> {
  if (outcome.kind === 'unknown') return {};
  if (outcome.kind !== 'absent') return { absentCount: 0, absentFirstAt: null };
  if (now < endOf(order)) return {};
  const first = order.absentFirstAt;
  if (first === null) return { absentCount: 1, absentFirstAt: now };
  return now >= later(first, ABSENCE_SECONDS) ? { absentCount: order.absentCount + 1 } : {};
}

/** Stores that a capture is pending, and why; clears both when the channel no longer reports a pending capture. */
function captureAfter(
  order: OrderRow,
  outcome: Outcome,
): Partial<Pick<OrderRow, 'captureState' | 'captureReason' | 'approvalAskedAt'>> {
  if (outcome.kind === 'pending' && outcome.capturePending)
    return { captureState: 'pending', captureReason: outcome.capturePending.slice(0, 128) };
  // The channel asks the payer to approve again. Therefore the next approval counts as a new one.
  const asksAnew = outcome.kind === 'pending' && outcome.pay && order.approvalAskedAt !== null;
  const saysNone = outcome.kind === 'pending' || outcome.kind === 'approved' || outcome.kind === 'declined';
  return {
    ...(order.captureState === 'pending' && saysNone ? { captureState: null, captureReason: null } : {}),
    ...(asksAnew ? { approvalAskedAt: null } : {}),
  };
}
