import type { OrderRow } from '../../db/entities/orders.ts';
import type { Outcome } from '../channel.ts';
import { type Change, STAY } from './change.ts';
import { closed } from './end-order.ts';
import type { OrderFacts, Said } from './facts.ts';
import { hearOrder } from './hear-order.ts';
import { isOpen, takesMoney } from './moves.ts';
import { isDoubtful, later, mayTakeApproved, nextOrderCheck } from './plan.ts';

/** A capture call is somebody's for this long; afterwards the channel is asked before anyone tries again. */
const CAPTURE_LEASE_SECONDS = 30;

/** So often the payer is sent back to choose another way to pay. */
export const MOST_APPROVALS_ASKED = 3;

/** Whether approved money may be taken now: by one, of an open order that nobody wants closed, while its approval is good. */
export function canCapture(order: OrderRow, now: Date): boolean {
  const { state, closeAsked, captureState, channelOrderId } = order;
  const isFree = takesMoney(state) && !closeAsked && captureState === null && channelOrderId !== null;
  return isFree && mayTakeApproved(order, now);
}

/** The intent to take approved money, with a lease. */
export function claimCapture(order: OrderRow, now: Date): Change {
  if (!canCapture(order, now)) return STAY;
  return {
    rule: null,
    order: {
      captures: order.captures + 1,
      captureState: 'live',
      captureReason: null,
      captureLeasedUntil: later(now, CAPTURE_LEASE_SECONDS),
      nextCheckAt: later(now, CAPTURE_LEASE_SECONDS + 1),
    },
  };
}

/** The channel was asked and shows no capture of this number. */
export function forgetCapture(order: OrderRow, captures: number, now: Date): Change {
  if (order.captures !== captures || !isDoubtful(order, now)) return STAY;
  return { rule: null, order: { captureState: null, captureLeasedUntil: null, nextCheckAt: now } };
}

/**
 * The payer has agreed once more, after the channel refused the way to pay that was chosen before. Who knew of an earlier refusal only,
 * or of none, speaks of the approval that was refused.
 */
export function approvedAgain(order: OrderRow, refusedAt: Date | null, now: Date): Change {
  const { state, approvalAskedAt } = order;
  if (!takesMoney(state) || approvalAskedAt === null || approvalAskedAt.getTime() !== refusedAt?.getTime()) return STAY;
  return { rule: null, order: { approvalAskedAt: null, nextCheckAt: now } };
}

/** Only a certain answer ends the intent, silence leaves it `unknown`. */
export function settleCapture(
  order: OrderRow,
  { captures, outcome }: { readonly captures: number; readonly outcome: Outcome },
  now: Date,
  facts: OrderFacts,
): Change {
  // An answer that outlived its lease says nothing about a later try, unless it brings money.
  if (order.captures !== captures && outcome.kind !== 'paid') return STAY;
  const heard = { outcome: afterCapture(outcome), cause: 'capture' };
  if (!isOpen(order.state)) return hearOrder(order, facts, heard, now);
  if (outcome.kind === 'declined' && outcome.left) return refusedCapture(order, outcome, now);
  const isDoubt = outcome.kind === 'unknown' || (outcome.kind === 'declined' && !outcome.definite);
  const isReview = outcome.kind === 'pending' && outcome.capturePending !== undefined;
  const patch = {
    captureState: isReview ? ('pending' as const) : isDoubt ? ('unknown' as const) : null,
    captureLeasedUntil: null,
    nextCheckAt: later(now, 5),
  };
  const change = hearOrder({ ...order, ...patch }, facts, heard, now);
  return { ...change, order: { ...patch, ...change.order } } as Change;
}

/** The channel took nothing for certain: the payer chooses another way to pay, a few times; otherwise the order is over. */
function refusedCapture(order: OrderRow, outcome: Said<'declined'>, now: Date): Change {
  const over = { captureState: null, captureLeasedUntil: null, captureReason: outcome.code.slice(0, 128) };
  // Whoever wants it closed gets that, and the payer has nothing to do any more.
  if (order.state === 'closing') return { rule: null, order: { ...over, nextCheckAt: now, leasedUntil: null } };
  if (outcome.left === 'payer' && order.approvalsAsked < MOST_APPROVALS_ASKED) {
    const patch = { ...over, approvalsAsked: order.approvalsAsked + 1, approvalAskedAt: now, checkedAt: now };
    return {
      rule: null,
      order: { ...patch, leasedUntil: null, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) },
      tell: [{ type: 'order.payer_action_required', dedupe: String(patch.approvalsAsked) }],
    };
  }
  const change = closed(order, 'channel', now, outcome);
  const failure = { failureCode: outcome.code.slice(0, 128), failureMessage: outcome.reason };
  return { ...change, order: { ...change.order, ...over, ...failure } } as Change;
}

/** What a capture says, as the order hears it: an approval that is still there means that nothing was taken. */
export function afterCapture(outcome: Outcome): Outcome {
  return outcome.kind === 'approved' ? { kind: 'pending' } : outcome;
}
