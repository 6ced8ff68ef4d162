import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { apply, type Via } from './apply.ts';
import { endDifference } from './bills/end-difference.ts';
import type { RefundOutcome } from './channel.ts';
import { isAfterOpening } from './core/decide-dispute.ts';
import { decideForeignRefund, isOwnPayment, type OtherPayment } from './core/decide-refund.ts';
import { explainSums, openQuestion } from './open-question.ts';
import { newNumber } from './numbers.ts';
import type { Ports } from './ports.ts';
import { ownerOf } from './settle.ts';

/**
 * A refund that was made elsewhere (portal, dispute) becomes known: its own row, inside the sums, with an exception; of a payment
 * that is not the order's own outside of them. Before its payment is known it is a question. `number` is what the channel is asked by.
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
  const ofOther = known ? undefined : await otherPayment(tx, order, outcome);
  const ofDispute = known || ofOther ? undefined : await lostMoney(tx, order, outcome);
  const change = decideForeignRefund(order, { isKnown: Boolean(known), ofDispute, ofOther }, outcome, also, now);
  const { order: after } = await apply(ports, tx, { order, refund: ofDispute }, change, via);
  if (ofOther)
    await endDifference(tx, { kind: 'duplicate_payment', orderNo: order.orderNo, dedupe: ofOther.channelNo }, now);
  else if (after.paid === 0n && asked) await openQuestion(ports, tx, after, { number: asked });
  else await explainSums(ports, tx, after);
  return after;
}

/** The payment that a refund gives back, when it is not the one in the order's sums; of an unpaid order only one that is listed. */
async function otherPayment(
  tx: Tx,
  order: OrderRow,
  { payment }: Extract<RefundOutcome, { kind: 'succeeded' }>,
): Promise<OtherPayment | undefined> {
  if (payment === undefined || isOwnPayment(order, payment)) return undefined;
  const { orderNo, paid } = order;
  const { channelNo: paymentNo } = payment;
  const isListed = (await listedPayments(tx, orderNo)).includes(paymentNo);
  if (paid === 0n && !isListed) return undefined;
  const before = await tx.refunds.list({ orderNo, paymentNo, surplus: true, state: 'succeeded' });
  const back = before.reduce((sum, { amount }) => sum + amount, 0n);
  return { ...payment, back, isListed, owner: await ownerOf(tx, order, paymentNo) };
}

/** The channel's numbers of payments that came for an order and are not in its sums, as far as they are listed, or were. */
export async function listedPayments(tx: ReadTx, orderNo: string): Promise<string[]> {
  const listed = await tx.exceptions.list({ orderNo, kind: ['double_paid', 'amount_mismatch'] });
  return listed.map(({ dedupe }) => dedupe);
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
