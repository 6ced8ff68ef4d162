import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { Tx } from '../../db/tx.ts';
import type { RefundOutcome } from '../channel.ts';
import { raiseException, tellRefund, type Via } from '../journal.ts';
import { newNumber } from '../numbers.ts';
import type { Ports } from '../ports.ts';
import { runEffect } from './effect.ts';

/** R8: a refund that was made elsewhere (portal, dispute) becomes known: its own row, inside the sums, with an exception. */
export async function settleForeignRefund(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  channelNumber: string | null,
  via: Via,
): Promise<OrderRow> {
  const channelRefundNo = outcome.channelRefundNo ?? channelNumber;
  if (channelRefundNo !== null) {
    const known = await tx.refunds.find({ orderNo: order.orderNo, channelRefundNo });
    if (known) return order;
  }
  const now = ports.now();
  if (order.paid === 0n) return refundBeforePayment(ports, tx, order, outcome, channelRefundNo);
  const refund = foreignRow(order, outcome, channelRefundNo, newNumber('R', now), via.actor, now);
  await tx.refunds.insert(refund);
  const refunded = order.refunded + refund.amount;
  const over = refunded + order.refunding - order.paid;
  const overrun = over > order.overrun ? over : order.overrun;
  const sequence = order.sequence + 1;
  await tx.orders.update({ orderNo: order.orderNo }, { refunded, overrun, sequence });
  await tx.moves.insert({
    orderNo: order.orderNo,
    refundNo: refund.refundNo,
    sequence,
    fromState: null,
    toState: 'succeeded',
    rule: 'R8',
    cause: via.cause,
    outcome: null,
    actor: via.actor,
    at: now,
  });
  const moved = { ...order, refunded, overrun, sequence };
  await raiseException(ports, tx, moved, 'refund_elsewhere', { dedupe: refund.refundNo, refundNo: refund.refundNo });
  await tellRefund(ports, tx, 'refund.succeeded', moved, refund);
  await runEffect(ports, tx, moved, `refund-elsewhere:${refund.refundNo}`, async (part) => {
    await ports.effects.refundReserved(part, moved, refund, true);
    await ports.effects.refundSucceeded(part, moved, refund);
  });
  return moved;
}

/** Money that we never saw come cannot be counted as given back: the channel is asked, and a person looks. */
async function refundBeforePayment(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  { amount }: Extract<RefundOutcome, { kind: 'succeeded' }>,
  channelRefundNo: string | null,
): Promise<OrderRow> {
  const also = { dedupe: channelRefundNo ?? 'once', received: amount, blocksRefunds: true };
  await raiseException(ports, tx, order, 'refund_unexplained', also);
  const nextCheckAt = ports.now();
  await tx.orders.update({ orderNo: order.orderNo }, { nextCheckAt, leasedUntil: null });
  return { ...order, nextCheckAt, leasedUntil: null };
}

function foreignRow(
  order: OrderRow,
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  channelRefundNo: string | null,
  refundNo: string,
  actor: string,
  now: Date,
): RefundRow {
  return {
    refundNo,
    orderNo: order.orderNo,
    clientId: order.clientId,
    project: order.project,
    merchantRefundNo: null,
    origin: 'channel',
    amount: outcome.amount.minor,
    currency: outcome.amount.currency,
    reason: 'Made outside this service.',
    state: 'succeeded',
    accepted: true,
    surplus: false,
    elsewhere: true,
    failureCode: null,
    failureMessage: null,
    channelRefundNo,
    actor,
    tries: 0,
    refusedAt: null,
    absentCount: 0,
    absentFirstAt: null,
    unknownAt: null,
    checks: 0,
    nextCheckAt: null,
    leasedUntil: null,
    sentAt: null,
    createdAt: now,
    finishedAt: outcome.at,
  };
}
