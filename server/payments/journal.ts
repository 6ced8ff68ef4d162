import { randomUUID } from 'node:crypto';
import type { OrderExceptionRow, OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import type { ExceptionKind } from './exception-kinds.ts';
import type { Money } from './money.ts';
import type { Ports } from './ports.ts';
import { viewOrder, viewRefund } from './view.ts';

/** Why a row moves: which message or person, for the history. */
export interface Via {
  /** place, query, close, notice, capture, check, operator … */
  cause: string;
  actor: string;
}

/** Changes an order and writes the history line in the same commit; returns the order as it is now. */
export async function moveOrder(
  tx: Tx,
  order: OrderRow,
  patch: Partial<OrderRow>,
  line: { rule: string; via: Via; outcome?: object; at: Date },
): Promise<OrderRow> {
  const sequence = order.sequence + 1;
  await tx.orders.update({ orderNo: order.orderNo }, { ...patch, sequence });
  await tx.moves.insert({
    orderNo: order.orderNo,
    refundNo: null,
    sequence,
    fromState: order.state,
    toState: patch.state ?? order.state,
    rule: line.rule,
    cause: line.via.cause,
    outcome: line.outcome ? jsonable(line.outcome) : null,
    actor: line.via.actor,
    at: line.at,
  });
  return { ...order, ...patch, sequence };
}

/** Changes a refund, the sums of its order, and writes the history line in the same commit. */
export async function moveRefund(
  tx: Tx,
  order: OrderRow,
  refund: RefundRow,
  change: { refund: Partial<RefundRow>; order?: Partial<OrderRow> },
  line: { rule: string; via: Via; outcome?: object; at: Date },
): Promise<{ order: OrderRow; refund: RefundRow }> {
  const sequence = order.sequence + 1;
  await tx.refunds.update({ refundNo: refund.refundNo }, change.refund);
  await tx.orders.update({ orderNo: order.orderNo }, { ...change.order, sequence });
  await tx.moves.insert({
    orderNo: order.orderNo,
    refundNo: refund.refundNo,
    sequence,
    fromState: refund.state,
    toState: change.refund.state ?? refund.state,
    rule: line.rule,
    cause: line.via.cause,
    outcome: line.outcome ? jsonable(line.outcome) : null,
    actor: line.via.actor,
    at: line.at,
  });
  return { order: { ...order, ...change.order, sequence }, refund: { ...refund, ...change.refund } };
}

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

/** Opens an exception once per (order, kind, dedupe) and tells about it; says whether it is new. */
export async function raiseException(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  kind: ExceptionKind,
  also: { dedupe: string; refundNo?: string; detail?: object; received?: Money; blocksRefunds?: boolean },
): Promise<boolean> {
  const row: OrderExceptionRow = {
    id: randomUUID(),
    orderNo: order.orderNo,
    refundNo: also.refundNo ?? null,
    clientId: order.clientId,
    project: order.project,
    kind,
    dedupe: also.dedupe.slice(0, 128),
    detail: also.detail ? jsonable(also.detail) : null,
    receivedMinor: also.received?.minor ?? null,
    receivedCurrency: also.received?.currency.slice(0, 3) ?? null,
    blocksRefunds: also.blocksRefunds ?? false,
    state: 'open',
    resolution: null,
    reason: null,
    resolvedBy: null,
    createdAt: ports.now(),
    resolvedAt: null,
  };
  const isNew = await tx.exceptions.insertIfNew(row);
  if (isNew) {
    ports.count('order_exception', { kind });
    await tellOrder(ports, tx, 'order.exception', order, `${kind}:${row.dedupe}`.slice(0, 128));
  }
  return isNew;
}

/** A copy that is plain JSON: bigint as text, dates as RFC 3339. */
export function jsonable(value: object): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? one.toString() : one)),
  ) as Record<string, unknown>;
}
