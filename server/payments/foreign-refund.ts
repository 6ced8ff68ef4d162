import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/store.ts';
import { apply, type Via } from './apply.ts';
import type { RefundOutcome } from './channel.ts';
import { isAfterOpening } from './core/decide-dispute.ts';
import { decideForeignRefund } from './core/decide-refund.ts';
import { explainSums, openQuestion } from './open-question.ts';
import { newNumber } from './numbers.ts';
import type { Ports } from './ports.ts';

/**
 * A refund that was made elsewhere (portal, dispute) becomes known: its own row, inside the sums, with an exception. Before
 * its payment is known it is a question. `number` is what the channel is asked by.
 */
export async function settleForeignRefund(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  number: string | null,
  via: Via,
): Promise<OrderRow> {
  const now = ports.now();
  const channelRefundNo = outcome.channelRefundNo ?? number;
  const known = channelRefundNo && (await tx.refunds.find({ orderNo: order.orderNo, channelRefundNo }));
  const asked = number ?? channelRefundNo;
  const also = { ...via, refundNo: newNumber('R', now), channelRefundNo, number: asked };
  const ofDispute = known ? undefined : await lostMoney(tx, order, outcome);
  const change = decideForeignRefund(order, { isKnown: Boolean(known), ofDispute }, outcome, also, now);
  const { order: after } = await apply(ports, tx, { order, refund: ofDispute }, change, via);
  if (after.paid === 0n && asked) await openQuestion(ports, tx, after, { number: asked });
  else await explainSums(ports, tx, after);
  return after;
}

/**
 * The refund of a lost dispute that took the same money, and for which the channel told no refund yet: the oldest. What went back
 * before the dispute was there is another refund.
 */
async function lostMoney(
  tx: Tx,
  { orderNo }: OrderRow,
  { amount: { minor: amount, currency }, at }: Extract<RefundOutcome, { kind: 'succeeded' }>,
): Promise<RefundRow | undefined> {
  const where = { orderNo, origin: 'dispute', state: 'succeeded', amount, currency, channelRefundNo: null } as const;
  const lost = await tx.refunds.list(where, { orderBy: { createdAt: 'asc', refundNo: 'asc' } });
  if (lost.length === 0) return undefined;
  const disputes = await tx.disputes.list({ orderNo });
  return lost.find(({ refundNo }) =>
    disputes.some((dispute) => dispute.refundNo === refundNo && isAfterOpening(at, dispute.openedAt)),
  );
}
