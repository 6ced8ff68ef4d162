import type { OrderExceptionRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import { isForeign } from '../core/open-refund.ts';
import { type NextRefundStep, nextRefundStep } from '../core/plan.ts';

/** Why a refund is in its state, what happens next, and what a person can do. */
export interface RefundSituation {
  code: string;
  reason: string;
  next?: string;
  fix?: string;
}

/** The situation of a refund: its next step says it, for a final one its state; `canRetry` as the decision says. */
export function refundSituation(refund: RefundRow, now: Date, canRetry: boolean): RefundSituation {
  const step = nextRefundStep(refund, now);
  const { approval, state, refundNo, actor } = refund;
  if (approval === 'waiting' && state === 'pending')
    return {
      code: 'waiting_for_approval',
      reason: `The amount is reserved; an administrator other than ${actor} has to approve the refund.`,
      fix: `payctl approval approve ${refundNo}, or payctl approval reject ${refundNo}`,
    };
  return step === 'rest' ? ended(refund, canRetry) : UNDER_WAY[step](refund);
}

function ended(refund: RefundRow, canRetry: boolean): RefundSituation {
  const { state, elsewhere, refundNo, approval, failureMessage } = refund;
  if (state === 'succeeded' && !elsewhere) return { code: 'done', reason: 'The channel confirmed the refund.' };
  if (state === 'succeeded') return { code: 'elsewhere', reason: whereElse(refund) };
  if (state === 'failed' && approval === 'rejected')
    return { code: 'rejected', reason: `An administrator rejected the refund: ${failureMessage ?? ''}.` };
  if (state === 'failed')
    return {
      code: 'refused',
      reason: `The channel refused the refund: ${failureOf(refund)}.`,
      ...(canRetry ? { fix: `payctl refund retry ${refundNo}` } : {}),
    };
  const resolve = `payctl refund resolve ${refundNo}`;
  return {
    code: 'abnormal',
    reason: `The refund needs manual review: ${failureOf(refund)}.`,
    // What nobody here made is never sent, and so cannot be retried.
    fix: isForeign(refund.origin) ? resolve : `payctl refund retry ${refundNo}, or ${resolve}`,
  };
}

function whereElse({ origin, failureMessage }: RefundRow): string {
  if (origin === 'dispute') return 'The money was lost to a dispute of the payer.';
  if (origin === 'channel')
    return 'The refund was made outside this service, for example in the portal of the channel.';
  // A person always gives a reason.
  return failureMessage === null
    ? 'The channel paid the refund to the own account of the merchant, who has to pay the payer.'
    : 'The payer was refunded outside the channel.';
}

/** Whether an open exception says that the channel made a refund which a person had given by another way. */
export function isPaidTwice({ kind, refundNo, detail }: OrderExceptionRow, refund: RefundRow): boolean {
  return kind === 'refund_elsewhere' && refundNo === refund.refundNo && detail?.['paidTwice'] === true;
}

/** What a person who gave the money back has to know. */
export function paidTwice({ id, detail }: OrderExceptionRow): RefundSituation {
  return {
    code: 'paid_twice',
    reason: `The channel made the refund after all, and the payer was refunded outside the channel as well (${String(detail?.['reason'])}). The payer has the money twice.`,
    fix: `payctl exception resolve ${id} --action acknowledge --reason …`,
  };
}

const UNDER_WAY: Readonly<Record<Exclude<NextRefundStep, 'rest'>, (refund: RefundRow) => RefundSituation>> = {
  await_slot: () => ({
    code: 'scheduled',
    reason: 'The channel requires a delay between refunds of the same order; this refund is queued.',
    next: 'the refund is sent',
  }),
  send: () => ({
    code: 'unsent',
    reason: 'The refund is reserved but has not been sent yet.',
    next: 'the refund is sent',
  }),
  confirm_refusal: (refund) => ({
    code: 'doubtful_refusal',
    reason: `The channel refused the request (${failureOf(refund)}), but an earlier request may have succeeded; the refund fails only after two queries find none.`,
    next: 'the channel is queried for the refund',
  }),
  ask_if_done: () => ({
    code: 'accepted',
    reason: 'The channel is processing the refund.',
    next: 'the channel is queried for the result',
  }),
  ask_if_known: () => ({
    code: 'unknown',
    reason: 'The refund was sent without a usable response; it may or may not have succeeded.',
    next: 'the channel is queried; if it has no such refund, it is sent again under the same number',
  }),
};

function failureOf({ failureCode, failureMessage }: RefundRow): string {
  return [failureCode, failureMessage].filter(Boolean).join(' ') || 'no reason given';
}
