import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import { findOrder } from '../owner.ts';
import type { Asker, Ports } from '../ports.ts';
import { refundable, statusOf } from '../view.ts';
import { REFUND_SITUATIONS } from './refund-situations.ts';
import { SITUATIONS } from './situations.ts';

/** Something that will happen by itself. */
export interface NextStep {
  action: string;
  /** RFC 3339; null when it is being done right now. */
  at: string | null;
}

/** Why an order (and each of its refunds) is as it is, and what comes next. */
export interface Explanation {
  orderNo: string;
  status: string;
  situation: string;
  reason: string;
  next: NextStep | null;
  fix: string | null;
  askedBy: string;
  expiresAt: string;
  /** Minor units: paid = refunded + refunding + kept. */
  equation: { currency: string; paid: number; refunded: number; refunding: number; kept: number; refundable: number };
  refunds: {
    refundNo: string;
    amountMinor: number;
    status: string;
    situation: string;
    reason: string;
    next: NextStep | null;
    fix: string | null;
  }[];
  exceptions: { id: string; kind: string; fix: string }[];
}

/** Explains orders from their rows: the tables of situations decide, nothing is asked of the channel. */
export function explainOrder({ store, now, debug }: Pick<Ports, 'store' | 'now'> & { debug: boolean }) {
  return async (asker: Asker, orderNo: string): Promise<Explanation> => {
    const { order, refunds, exceptions } = await store.read(async (tx) => ({
      order: await findOrder(tx, orderNo, asker.owner),
      refunds: await tx.refunds.list({ orderNo }, { orderBy: { createdAt: 'asc' } }),
      exceptions: await tx.exceptions.list({ orderNo, state: 'open' }, { orderBy: { createdAt: 'asc' } }),
    }));
    return explain(order, refunds, exceptions, now(), debug);
  };
}

/** The explanation of one order at one moment. */
export function explain(
  order: OrderRow,
  refunds: readonly RefundRow[],
  exceptions: readonly OrderExceptionRow[],
  now: Date,
  debug: boolean,
): Explanation {
  const scene = { order, exceptions, now, debug };
  const situation = SITUATIONS.find(({ when }) => when(scene))!;
  const refundSteps = refunds.map((refund) => explainRefund(refund, now));
  const soonest = refundSteps.map(({ next }) => next).find((next) => next !== null) ?? null;
  return {
    orderNo: order.orderNo,
    status: statusOf(order),
    situation: situation.code,
    reason: situation.reason(scene),
    next: situation.next ? (stepOf(situation.next, order, now) ?? soonest) : null,
    fix: situation.fix?.(scene) ?? null,
    askedBy: order.clientId,
    expiresAt: order.expiresAt.toISOString(),
    equation: {
      currency: order.currency,
      paid: Number(order.paid),
      refunded: Number(order.refunded),
      refunding: Number(order.refunding),
      kept: Number(order.paid + order.overrun - order.refunded - order.refunding),
      refundable: Number(refundable(order)),
    },
    refunds: refundSteps,
    exceptions: exceptions.map(({ id, kind }) => ({ id, kind, fix: `payctl exception resolve ${id}` })),
  };
}

function explainRefund(refund: RefundRow, now: Date): Explanation['refunds'][number] {
  const situation = REFUND_SITUATIONS.find(({ when }) => when(refund, now))!;
  return {
    refundNo: refund.refundNo,
    amountMinor: Number(refund.amount),
    status: refund.state,
    situation: situation.code,
    reason: situation.reason(refund),
    next: situation.next ? stepOf(situation.next, refund, now) : null,
    fix: situation.fix?.(refund) ?? null,
  };
}

/** The row's own due time is the truth about when; a lease means that somebody is at it. */
function stepOf(
  action: string,
  { nextCheckAt, leasedUntil }: { nextCheckAt: Date | null; leasedUntil: Date | null },
  now: Date,
): NextStep | null {
  if (leasedUntil !== null && leasedUntil > now) return { action, at: null };
  return nextCheckAt === null ? null : { action, at: nextCheckAt.toISOString() };
}
