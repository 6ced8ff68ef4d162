import type { OrderRow } from '../../db/entities/orders.ts';
import type { Outcome } from '../channel.ts';
import { type Change, STAY } from './change.ts';
import { type Decision, DECISIONS } from './decisions.ts';
import { closed } from './end-order.ts';
import {
  type Heard,
  type Hearing,
  isAmountOf,
  isCancelled,
  isLate,
  type OrderFacts,
  type Said,
  wentBack,
} from './facts.ts';
import { againPaid, cameAndWent, differentAmount, latePaid, ofAnother, paidPatch } from './money-came.ts';
import { isOpen } from './moves.ts';
import { ABSENCE_SECONDS, endOf, later, mayTakeApproved, nextOrderCheck, soon } from './plan.ts';
import { unexplainedRefunds } from './unexplained.ts';
import { awaitReverse } from './wish-reverse.ts';

/** What an outcome does to an order: the table decides, the facts refine. */
export function hearOrder(order: OrderRow, facts: OrderFacts, heard: Heard, now: Date): Change {
  const decision = decisionOf(order, facts, heard, now);
  return STEPS[decision]({ order, facts, outcome: heard.outcome, cause: heard.cause, now } as never);
}

function decisionOf(order: OrderRow, facts: OrderFacts, { outcome, firstWord }: Heard, now: Date): Decision {
  if (outcome.kind === 'paid' && facts.owner) return 'refuse';
  const decision = DECISIONS[order.state][outcome.kind];
  if (decision === 'fail' && !(firstWord && outcome.kind === 'declined' && outcome.definite)) return 'note';
  // An approval that was used up, or comes too late, is remembered like any other word.
  if (decision === 'capture' && order.state === 'pending' && !mayTakeApproved(order, now)) return 'note';
  if (decision !== 'pay' && decision !== 'late') return decision;
  if (order.paid > 0n) return 'again';
  if (outcome.kind === 'paid' && isCancelled(order, outcome)) return 'late';
  if (order.state === 'closing' && order.reverseDoubtAt !== null) return 'await_reverse';
  return isLate(order, facts) ? 'late' : 'pay';
}

const STEPS: Readonly<Record<Decision, (hearing: Hearing<never>) => Change>> = {
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

function accept({ order, outcome, now }: Hearing<Said<'pending'>>): Change {
  const patch = {
    ...heardPatch(order, outcome, now),
    ...captureAfter(order, outcome),
    state: 'pending' as const,
    checks: 0,
    leasedUntil: null,
  };
  return { rule: 'O2', order: { ...patch, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) } };
}

/** The order stays; what was said is remembered and the next question planned. */
function note({ order, outcome, cause, now }: Hearing): Change {
  const patch = {
    ...heardPatch(order, outcome, now),
    ...absence(order, outcome, now),
    ...captureAfter(order, outcome),
  };
  return { rule: null, order: { ...patch, ...planAfter({ ...order, ...patch }, cause, now) } };
}

/** The next question. Somebody who only looks never postpones what is due, or an order that is polled would never expire. */
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

/** An answer that arrives after the close: the credential is kept from the payer and the close is repeated soon. */
function withhold({ order, outcome, cause, now }: Hearing<Said<'pending'>>): Change {
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

/** The approval is remembered and the capture woken; whether it is made is decided by the wish to capture. */
function capture({ order, outcome, now }: Hearing<Said<'approved'>>): Change {
  const lease = order.captureState === 'live' ? order.captureLeasedUntil : null;
  const patch = {
    ...heardPatch(order, outcome, now),
    ...captureAfter(order, outcome),
    leasedUntil: null,
    // While somebody's capture is under way nobody else has anything to do.
    nextCheckAt: lease !== null && lease > now ? later(lease, 1) : now,
  };
  if (order.state === 'created') return { rule: 'O2', order: { ...patch, state: 'pending' }, wake: 'capture' };
  return { rule: null, order: patch, wake: 'capture' };
}

function pay(hearing: Hearing<Said<'paid'>>): Change {
  const { order, outcome, now } = hearing;
  if (!isAmountOf(order, outcome.amount)) return differentAmount(hearing);
  return {
    rule: order.state === 'closing' ? 'O8' : 'O5',
    order: paidPatch(outcome, order, now),
    outcome,
    tell: [{ type: 'order.paid' }],
    raise: unexplainedRefunds(order, outcome),
    effects: [{ name: 'paid', run: ['paid'] }],
  };
}

/** One payment pays one order: what another order has is listed, this one goes on as before, and its channel is asked. */
function refuse({ order, facts, outcome, cause, now }: Hearing<Said<'paid'>>): Change {
  const raise = [ofAnother(facts.owner!, outcome)];
  const isAsked = cause !== 'notice';
  if (isAsked && isOpen(order.state))
    return { rule: null, order: { checkedAt: now, ...planAfter(order, cause, now) }, raise };
  return { rule: null, order: isAsked ? { checkedAt: now } : soon(order, now), raise };
}

/** The amount is checked first: late money of another amount is a mismatch. */
function late(hearing: Hearing<Said<'paid'>>): Change {
  if (!isAmountOf(hearing.order, hearing.outcome.amount)) return differentAmount(hearing);
  return wentBack(hearing.outcome) ? cameAndWent(hearing) : latePaid(hearing);
}

/** The channel says closed about a paid order, which is a full refund that it made or that we made. */
function hint({ order, now }: Hearing): Change {
  const raise = unexplainedRefunds(order, { refundedTotal: order.paid });
  return raise.length === 0 ? STAY : { rule: null, order: { checkedAt: now }, raise };
}

function close({ order, outcome, now }: Hearing): Change {
  return closed(order, order.closeReason ?? (now >= order.expiresAt ? 'expired' : 'channel'), now, outcome);
}

function fail({ order, outcome, now }: Hearing<Said<'declined'>>): Change {
  const patch = {
    state: 'failed' as const,
    failureCode: outcome.code.slice(0, 128),
    failureMessage: outcome.reason,
    closedAt: now,
    checks: 0,
    leasedUntil: null,
  };
  return {
    rule: 'O3',
    order: { ...patch, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) },
    outcome,
    tell: [{ type: 'order.failed' }],
    effects: [{ name: 'ended', run: ['ended'] }],
  };
}

function heardPatch(
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

/** Absences count from the moment at which the channel's own expiry is past; any sign of the trade starts anew. */
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

/** A pending capture is flagged, with its reason; when the channel shows none any more both go. */
function captureAfter(
  order: OrderRow,
  outcome: Outcome,
): Partial<Pick<OrderRow, 'captureState' | 'captureReason' | 'approvalAskedAt'>> {
  if (outcome.kind === 'pending' && outcome.capturePending)
    return { captureState: 'pending', captureReason: outcome.capturePending.slice(0, 128) };
  // The channel itself waits for the payer again, so what it shows as approved later is new.
  const asksAnew = outcome.kind === 'pending' && outcome.pay && order.approvalAskedAt !== null;
  const saysNone = outcome.kind === 'pending' || outcome.kind === 'approved' || outcome.kind === 'declined';
  return {
    ...(order.captureState === 'pending' && saysNone ? { captureState: null, captureReason: null } : {}),
    ...(asksAnew ? { approvalAskedAt: null } : {}),
  };
}
