import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import { NotFound } from '../errors.ts';
import { apply, type Via } from './apply.ts';
import { type Change, isRefusal, type Refusal } from './core/change.ts';
import { decideOrder } from './core/decide-order.ts';
import { decideRefund } from './core/decide-refund.ts';
import type { Heard } from './core/facts.ts';
import type { RefundHeard } from './core/hear-refund.ts';
import type { OrderWish } from './core/wish-order.ts';
import type { RefundWish } from './core/wish-refund.ts';
import { loadFacts } from './facts.ts';
import { lockOrder } from './owner.ts';
import type { Ports } from './ports.ts';
import { refusalFor } from './refusals.ts';

/** A refund and its order, both locked. */
export interface Pair {
  readonly order: OrderRow;
  readonly refund: RefundRow;
}

/** Locks the order, then the refund: always in this order. */
export async function lockPair(tx: Tx, refundNo: string): Promise<Pair> {
  const found = await tx.refunds.find({ refundNo });
  const order = found && (await tx.orders.lock({ orderNo: found.orderNo }));
  const refund = order && (await tx.refunds.lock({ refundNo }));
  if (!order || !refund) throw new NotFound('refund');
  return { order, refund };
}

/** Facts, decision, writes: whatever an order hears or is asked for goes this way, under its lock. */
export async function settleLocked(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  input: Omit<Heard, 'cause'> | OrderWish,
  via: Via,
): Promise<OrderRow> {
  const asked = 'wish' in input ? input : { ...input, cause: via.cause };
  const facts = await loadFacts(ports, tx, order, asked);
  const change = permitted(decideOrder(order, facts, asked, ports.now()), order);
  return (await apply(ports, tx, { order }, change, via)).order;
}

/** The same for a refund whose order is locked too: one commit moves the refund and the sums of its order. */
export async function settleRefundLocked(
  ports: Ports,
  tx: Tx,
  pair: Pair,
  input: RefundHeard | RefundWish,
  via: Via,
): Promise<Pair> {
  const { order, refund } = pair;
  const change = permitted(decideRefund(order, refund, input, ports.now()), order);
  const after = await apply(ports, tx, pair, change, via);
  return { order: after.order, refund: after.refund ?? refund };
}

/** Settles an order in a transaction of its own: lock, facts, decision, writes. */
export async function settle(
  ports: Ports,
  orderNo: string,
  input: Omit<Heard, 'cause'> | OrderWish,
  via: Via,
): Promise<OrderRow> {
  return ports.store.transaction(async (tx) =>
    settleLocked(ports, tx, await lockOrder(tx, orderNo, 'any'), input, via),
  );
}

/** Settles a refund in a transaction of its own. */
export async function settleRefund(
  ports: Ports,
  refundNo: string,
  input: RefundHeard | RefundWish,
  via: Via,
): Promise<Pair> {
  return ports.store.transaction(async (tx) => settleRefundLocked(ports, tx, await lockPair(tx, refundNo), input, via));
}

/** What was decided; a refusal is thrown, so that nothing is written. */
export function permitted(decided: Change | Refusal, order: OrderRow): Change {
  if (isRefusal(decided)) throw refusalFor(decided, order);
  return decided;
}
