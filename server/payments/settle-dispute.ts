import type { DisputeRow } from '../db/entities/disputes.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { apply, ImpossibleMove, isListed, type Via } from './apply.ts';
import { decideDispute, type DisputeFacts, listedDispute } from './core/decide-dispute.ts';
import { DISPUTE_MOVES } from './core/moves.ts';
import type { ChannelDispute } from './dispute.ts';
import { jsonable, tellDispute } from './follow-ups.ts';
import { newNumber } from './numbers.ts';
import { explainSums } from './open-question.ts';
import type { Owner, Ports } from './ports.ts';

/** A dispute and its order, both locked. */
export interface DisputePair {
  readonly order: OrderRow;
  readonly dispute: DisputeRow;
}

/** Locks the order, then the dispute: always in this order. The 404 of nothing when it is another's. */
export async function lockDispute(tx: Tx, disputeNo: string, owner: Owner): Promise<DisputePair> {
  const found = await tx.disputes.find({ disputeNo, ...(owner === 'any' ? {} : owner) });
  const order = found && (await tx.orders.lock({ orderNo: found.orderNo }));
  const dispute = order && (await tx.disputes.lock({ disputeNo }));
  if (!order || !dispute) throw new NotFound('dispute');
  return { order, dispute };
}

/** Facts, decision, writes: whatever the channel says about a dispute goes this way, under the lock of its order. */
export async function settleDispute(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  said: ChannelDispute,
  via: Via,
): Promise<DisputeRow> {
  const now = ports.now();
  const facts = await loadFacts(tx, order, said);
  const names = { ...via, disputeNo: newNumber('D', now), refundNo: newNumber('R', now) };
  const { rule, dispute, refund, money, tell } = decideDispute(order, facts, said, names, now);
  const from = facts.dispute?.state ?? null;
  const isPossible = rule === null ? from === dispute.state : isListed(DISPUTE_MOVES, rule, from, dispute.state);
  if (!isPossible) throw new ImpossibleMove(rule, from, dispute.state);
  // The dispute first: of two transactions the second one finds it, or waits for the order.
  if (facts.dispute) await tx.disputes.update({ disputeNo: dispute.disputeNo }, dispute);
  else await tx.disputes.insert(dispute);
  const { order: after } = await apply(ports, tx, { order, refund }, money, via);
  await noteListed(tx, dispute);
  await explainSums(ports, tx, after);
  for (const type of tell) await tellDispute(ports, tx, type, after, dispute);
  return dispute;
}

async function loadFacts(tx: Tx, { orderNo, payWay, account }: OrderRow, said: ChannelDispute): Promise<DisputeFacts> {
  const { channelDisputeNo } = said;
  const dispute = await tx.disputes.lock({ payWay, account, channelDisputeNo, orderNo });
  const refunds = await tx.refunds.list({ orderNo }, { orderBy: { createdAt: 'asc', refundNo: 'asc' } });
  const others = (await tx.disputes.list({ orderNo })).filter(({ disputeNo }) => disputeNo !== dispute?.disputeNo);
  const claimed = others.flatMap(({ refundNo }) => refundNo ?? []);
  const covered = others.filter(({ state, refundNo }) => state === 'lost' && refundNo === null);
  return { dispute, refunds, claimed: new Set(claimed), covered };
}

/** The open exception of a dispute says what is known now, the due date above all, and whether refunds have to wait. */
export async function noteListed(tx: Tx, dispute: DisputeRow): Promise<void> {
  const { kind, dedupe, detail, blocksRefunds } = listedDispute(dispute);
  const where = { orderNo: dispute.orderNo, kind, dedupe, state: 'open' } as const;
  await tx.exceptions.update(where, { detail: jsonable(detail ?? {}), blocksRefunds });
}
