import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import type { Ports } from './ports.ts';
import type { RefundOrigin } from './order.ts';
import { MerchantNumberUsed } from './refusals.ts';
import { later } from './schedule.ts';
import { runEffect } from './settle/effect.ts';

/** A refund that is to be made. */
export interface RefundIntent {
  refundNo: string;
  /** Minor units. */
  amount: bigint;
  /** Left out = the order's; surplus money may have come in another one. */
  currency?: string;
  origin: RefundOrigin;
  reason: string | null;
  merchantRefundNo: string | null;
  actor: string;
  cause: string;
  /** When it is sent at the earliest. */
  dueAt: Date;
  /** The caller sends it right after this commit; the jobs step in only if it does not. */
  sentByCaller?: boolean;
  /** Outside the order's own sums (O10). */
  surplus?: boolean;
}

/** R1: the refund row and its reservation in one commit; the caller holds the order's lock and has checked the guards. */
export async function openRefund(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  intent: RefundIntent,
): Promise<{ order: OrderRow; refund: RefundRow }> {
  const now = ports.now();
  const isDue = intent.dueAt <= now;
  const refund: RefundRow = {
    refundNo: intent.refundNo,
    orderNo: order.orderNo,
    clientId: order.clientId,
    project: order.project,
    merchantRefundNo: intent.merchantRefundNo,
    origin: intent.origin,
    amount: intent.amount,
    currency: intent.currency ?? order.currency,
    reason: intent.reason,
    state: 'pending',
    accepted: false,
    surplus: intent.surplus ?? false,
    elsewhere: false,
    failureCode: null,
    failureMessage: null,
    channelRefundNo: null,
    actor: intent.actor,
    tries: 0,
    refusedAt: null,
    absentCount: 0,
    absentFirstAt: null,
    unknownAt: null,
    checks: 0,
    nextCheckAt: isDue && intent.sentByCaller ? later(now, 10) : intent.dueAt,
    leasedUntil: null,
    sentAt: intent.dueAt,
    createdAt: now,
    finishedAt: null,
  };
  // Only a merchantRefundNo that another order took in this very moment is in the way.
  if (!(await tx.refunds.insertIfNew(refund)))
    throw new MerchantNumberUsed('merchantRefundNo', refund.merchantRefundNo ?? refund.refundNo);
  const sums = refund.surplus ? {} : { refunding: order.refunding + intent.amount };
  const sequence = order.sequence + 1;
  await tx.orders.update({ orderNo: order.orderNo }, { ...sums, sequence });
  await tx.moves.insert({
    orderNo: order.orderNo,
    refundNo: refund.refundNo,
    sequence,
    fromState: null,
    toState: 'pending',
    rule: 'R1',
    cause: intent.cause,
    outcome: null,
    actor: intent.actor,
    at: now,
  });
  const reserved = { ...order, ...sums, sequence };
  await reserveEffects(ports, tx, reserved, refund);
  if (isDue && !intent.sentByCaller) await tx.wake('refund-check', { refundNo: refund.refundNo });
  return { order: reserved, refund };
}

/** Coins and content follow a reservation: they may refuse what a person asks for, never what the service owes (rule 9). */
export async function reserveEffects(ports: Ports, tx: Tx, order: OrderRow, refund: RefundRow): Promise<void> {
  if (refund.origin === 'merchant' || refund.origin === 'admin')
    return ports.effects.refundReserved(tx, order, refund, false);
  await runEffect(ports, tx, order, `refund-reserved:${refund.refundNo}:${order.sequence}`, (part) =>
    ports.effects.refundReserved(part, order, refund, true),
  );
}
