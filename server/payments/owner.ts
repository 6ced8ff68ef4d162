import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../db/tx.ts';
import { NotFound } from '../errors.ts';

/** Whose orders are in reach: an app sees its own, the console any. */
export type Owner = { clientId: string } | 'any';

function mine(owner: Owner): { clientId?: string } {
  return owner === 'any' ? {} : { clientId: owner.clientId };
}

/** The order, or the 404 of nothing when it is another's. */
export async function findOrder(tx: ReadTx, orderNo: string, owner: Owner): Promise<OrderRow> {
  const order = await tx.orders.find({ orderNo, ...mine(owner) });
  if (!order) throw new NotFound('order');
  return order;
}

/** The order, locked until the transaction ends. */
export async function lockOrder(tx: Tx, orderNo: string, owner: Owner): Promise<OrderRow> {
  const order = await tx.orders.lock({ orderNo, ...mine(owner) });
  if (!order) throw new NotFound('order');
  return order;
}

/** The refund, or the 404 of nothing when it is another's. */
export async function findRefund(tx: ReadTx, refundNo: string, owner: Owner): Promise<RefundRow> {
  const refund = await tx.refunds.find({ refundNo, ...mine(owner) });
  if (!refund) throw new NotFound('refund');
  return refund;
}
