import { randomUUID } from 'node:crypto';
import type { OrderExceptionRow, OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import type { Raised, Resolved } from './core/change.ts';
import type { Ports } from './ports.ts';
import { viewOrder, viewRefund } from './view.ts';

/** Tells the order's owner; `dedupe` makes it once. */
export async function tellOrder(ports: Ports, tx: Tx, type: string, order: OrderRow, dedupe = 'once'): Promise<void> {
  await ports.recordEvent(tx, {
    type,
    clientId: order.clientId,
    project: order.project,
    objectNo: order.orderNo,
    dedupe,
    object: jsonable(viewOrder(order)),
    notifyUrl: order.notifyUrl,
  });
}

/** Tells the order's owner about a refund; `dedupe` makes it once. */
export async function tellRefund(
  ports: Ports,
  tx: Tx,
  type: string,
  order: OrderRow,
  refund: RefundRow,
  dedupe = 'once',
): Promise<void> {
  await ports.recordEvent(tx, {
    type,
    clientId: order.clientId,
    project: order.project,
    objectNo: refund.refundNo,
    dedupe,
    object: jsonable(viewRefund(refund, order.payWay)),
    notifyUrl: order.notifyUrl,
  });
}

/** Opens an exception once per (order, kind, dedupe) and tells about it. */
export async function raiseException(ports: Ports, tx: Tx, order: OrderRow, raised: Raised): Promise<void> {
  const { kind, received, refundNo = null, blocksRefunds = false } = raised;
  const row: OrderExceptionRow = {
    id: randomUUID(),
    orderNo: order.orderNo,
    refundNo,
    clientId: order.clientId,
    project: order.project,
    kind,
    dedupe: raised.dedupe.slice(0, 128),
    detail: raised.detail ? jsonable(raised.detail) : null,
    receivedMinor: received?.minor ?? null,
    receivedCurrency: received?.currency.slice(0, 3) ?? null,
    blocksRefunds,
    state: 'open',
    resolution: null,
    reason: null,
    resolvedBy: null,
    createdAt: ports.now(),
    resolvedAt: null,
  };
  if (!(await tx.exceptions.insertIfNew(row))) return;
  ports.count('order_exception', { kind });
  await tellOrder(ports, tx, 'order.exception', order, `${kind}:${row.dedupe}`.slice(0, 128));
}

/** Ends the open exceptions that something answers. */
export async function resolveExceptions(
  ports: Ports,
  tx: Tx,
  { where, resolution, by, reason }: Resolved,
): Promise<void> {
  const answer = { resolution, resolvedBy: by, resolvedAt: ports.now(), ...(reason === undefined ? {} : { reason }) };
  await tx.exceptions.update({ ...where, state: 'open' }, { state: 'resolved', ...answer });
}

/** A copy that is plain JSON: bigint as text, dates as RFC 3339. */
export function jsonable(value: object): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? one.toString() : one)),
  ) as Record<string, unknown>;
}
