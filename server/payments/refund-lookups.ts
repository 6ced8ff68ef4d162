import { randomUUID } from 'node:crypto';
import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/store.ts';
import { unanswered } from './core/decide-question.ts';
import { explainedBy } from './core/hear-order.ts';
import { laneOf, later } from './core/plan.ts';
import { raiseException, resolveExceptions } from './follow-ups.ts';
import { numberAtChannel } from './numbers.ts';
import type { Ports } from './ports.ts';

/** No channel allows more refunds of one order; what names more is listed instead of asked about. */
const MOST_OPEN = 50;
/** Whoever heard of it asks at once; the jobs step in when it does not. */
const FIRST_SECONDS = 10;

/** What a channel named without saying what became of it. */
export interface Named {
  /** By which it is asked. */
  readonly number: string;
  /** What went back in all by then, when it said so. */
  readonly total?: bigint | undefined;
}

/** Writes down that a refund must be asked about, in the commit that hears of it and under the order's lock; its id. */
export async function openQuestion(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  { number, total }: Named,
): Promise<string | undefined> {
  const { orderNo } = order;
  const now = ports.now();
  const found = await tx.refundQuestions.find({ orderNo, number });
  if (found?.state === 'open') {
    const more = total !== undefined && total > (found.total ?? 0n) ? { total } : {};
    await tx.refundQuestions.update({ id: found.id }, { ...more, told: found.told + 1 });
    return found.id;
  }
  if ((await tx.refundQuestions.count({ orderNo, state: 'open' })) >= MOST_OPEN) {
    await raiseException(ports, tx, order, { ...unanswered(number), dedupe: 'many' });
    return undefined;
  }
  const id = found?.id ?? randomUUID();
  const fresh = {
    total: total ?? found?.total ?? null,
    state: 'open' as const,
    checks: 0,
    told: (found?.told ?? 0) + 1,
    nextAt: later(now, FIRST_SECONDS),
    leasedUntil: null,
    lastAnswer: null,
    createdAt: now,
    finishedAt: null,
  };
  if (found) await tx.refundQuestions.update({ id }, fresh);
  else await tx.refundQuestions.insert({ id, orderNo, number, lane: laneOf(order), ...fresh });
  return id;
}

/** Answers that are under way do not know yet what was heard of this refund now; it is asked again. */
export async function askAnew(ports: Ports, tx: Tx, refund: RefundRow): Promise<void> {
  const { orderNo, channelRefundNo } = refund;
  const names = [numberAtChannel(refund), ...(channelRefundNo === null ? [] : [channelRefundNo])];
  for (const { id, told } of await tx.refundQuestions.list({ orderNo, number: names, state: 'open' }))
    await tx.refundQuestions.update({ id }, { told: told + 1, nextAt: ports.now() });
}

/** Whether an answer about it may be under way. */
export async function isAsked(tx: Tx, orderNo: string, number: string): Promise<boolean> {
  return (await tx.refundQuestions.find({ orderNo, number, state: 'open' })) !== undefined;
}

/** A person answers the question: it is not asked any more. */
export async function giveUpQuestion(ports: Ports, tx: Tx, orderNo: string, number: string): Promise<void> {
  const over = { state: 'given_up' as const, nextAt: null, leasedUntil: null, finishedAt: ports.now() };
  await tx.refundQuestions.update({ orderNo, number, state: 'open' }, over);
}

/** Ends the exceptions about sums that the refunds of an order explain by now. */
export async function explainSums(ports: Ports, tx: Tx, order: OrderRow): Promise<void> {
  const { orderNo } = order;
  const open = await tx.exceptions.list({ orderNo, kind: 'refund_unexplained', state: 'open' });
  for (const answer of explainedBy(order, open)) await resolveExceptions(ports, tx, answer);
}
