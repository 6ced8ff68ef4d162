import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundQuestionRow } from '../../db/entities/refunds.ts';
import type { RefundOutcome } from '../channel.ts';
import type { Raised, Resolved } from './change.ts';
import { later, nextRefundCheck } from './plan.ts';

/** A question that nobody answers for this long is listed for a person. */
const LISTED_SECONDS = 86_400;

/** What an answer does to the question what became of a refund that the channel named. */
export interface QuestionMoved {
  readonly patch: Partial<RefundQuestionRow>;
  readonly raise?: readonly Raised[];
  readonly resolve?: readonly Resolved[];
  /** The refund is done and belongs into the sums. */
  readonly settle?: Extract<RefundOutcome, { kind: 'succeeded' }>;
}

/** Only done and failed are answers; whatever else is said, or not said, the channel is asked again, without an end. */
export function decideQuestion(
  { paid }: Pick<OrderRow, 'paid'>,
  question: RefundQuestionRow,
  outcome: RefundOutcome,
  now: Date,
): QuestionMoved {
  const { orderNo, number, checks, createdAt } = question;
  const isAnswer = outcome.kind === 'failed' || (outcome.kind === 'succeeded' && paid > 0n);
  if (isAnswer)
    return {
      patch: { state: 'answered', nextAt: null, leasedUntil: null, lastAnswer: outcome.kind, finishedAt: now },
      resolve: [{ where: listedAs(orderNo, number), resolution: outcome.kind, by: 'service' }],
      ...(outcome.kind === 'succeeded' ? { settle: outcome } : {}),
    };
  const listedAt = later(createdAt, LISTED_SECONDS);
  const regular = nextRefundCheck(checks, now);
  const nextAt = now < listedAt && regular > listedAt ? listedAt : regular;
  return {
    patch: { checks: checks + 1, nextAt, leasedUntil: null, lastAnswer: outcome.kind },
    raise: now < listedAt ? [] : [unanswered(number, outcome)],
  };
}

/** A refund that the channel named, and about which it says nothing that can be settled. */
export function unanswered(number: string, said: object = {}): Raised {
  return { kind: 'refund_unexplained', dedupe: number, detail: { number, said }, blocksRefunds: true, again: true };
}

/** How a question is listed. */
export function listedAs(orderNo: string, number: string) {
  return { orderNo, kind: 'refund_unexplained' as const, dedupe: number };
}
