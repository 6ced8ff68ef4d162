import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundQuestionRow } from '../../db/entities/refunds.ts';
import type { RefundOutcome } from '../channel.ts';
import type { Raised, Resolved } from './change.ts';
import { later, nextRefundCheck } from './plan.ts';

/** A question that nobody answers for this long is listed for a person. */
const LISTED_SECONDS = 86_400;

/** What an answer does to the question what became of a refund that the channel named. */
interface QuestionMoved {
  readonly patch: Partial<RefundQuestionRow>;
  readonly raise?: readonly Raised[];
  readonly resolve?: readonly Resolved[];
  /** What became of the refund belongs into the books. */
  readonly settle?: RefundSaid;
}

/** A refund that came to an end, or that waits for a person. */
type RefundEnd = Extract<RefundOutcome, { kind: 'succeeded' | 'failed' | 'abnormal' }>;
/** What the channel has; one that is on its way may be one that was called failed. */
export type RefundSaid = RefundEnd | Extract<RefundOutcome, { kind: 'pending' }>;

/** What an answer is about. */
interface Questioned extends Pick<OrderRow, 'paid'> {
  /** The refund has a row: it is one of ours, or was done elsewhere before. */
  readonly isKnown: boolean;
  /** It is of a payment that is listed as another one than the order's, which need not be paid for that. */
  readonly isOfListed?: boolean;
}

/** Only an end is an answer; whatever else is said, or not said, the channel is asked again, without an end. */
export function decideQuestion(
  { paid, isKnown, isOfListed = false }: Questioned,
  question: RefundQuestionRow,
  outcome: RefundOutcome,
  now: Date,
): QuestionMoved {
  const { orderNo, number, checks, createdAt } = question;
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

/** A refund that the channel named, and about which it says nothing that can be settled. */
export function unanswered(number: string, said: object = {}): Raised {
  return { kind: 'refund_unexplained', dedupe: number, detail: { number, said }, blocksRefunds: true, again: true };
}

/** How a question is listed. */
function listedAs(orderNo: string, number: string) {
  return { orderNo, kind: 'refund_unexplained' as const, dedupe: number };
}
