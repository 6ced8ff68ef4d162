import { randomUUID } from 'node:crypto';
import type { OrderExceptionRow, OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import type { Raised, Resolved } from './core/change.ts';
import type { Asker, Effects, Ports } from './ports.ts';
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

/** Opens an exception once per (order, kind, dedupe), or again when its cause came back, and tells about it. */
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
  const isNew = await tx.exceptions.insertIfNew(row);
  if (!isNew && !(raised.again && (await reopened(tx, row)))) return;
  ports.count('order_exception', { kind });
  const occurrence = isNew ? '' : `:${row.createdAt.getTime()}`;
  await tellOrder(ports, tx, 'order.exception', order, `${kind}:${row.dedupe}`.slice(0, 100) + occurrence);
}

/** A resolved exception is open again, with what is known now; false when it was open all the time. */
async function reopened(tx: Tx, { orderNo, kind, dedupe, detail }: OrderExceptionRow): Promise<boolean> {
  const fresh = { state: 'open', detail, resolution: null, reason: null, resolvedBy: null, resolvedAt: null } as const;
  return (await tx.exceptions.update({ orderNo, kind, dedupe, state: 'resolved' }, fresh)) > 0;
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

/** Several effects as one: each runs in order, and any of them may refuse what may be refused. */
export function composeEffects(...parts: readonly Effects[]): Effects {
  return {
    async admit(tx, draft, asked) {
      for (const part of parts) await part.admit(tx, draft, asked);
    },
    async hold(tx, order, asked) {
      let otherwise: Partial<OrderRow> | undefined;
      for (const part of parts) {
        const held = await part.hold(tx, { ...order, ...otherwise }, asked);
        if (held) otherwise = { ...otherwise, ...held };
      }
      return otherwise;
    },
    async readmit(tx, order) {
      for (const part of parts) if (!(await part.readmit(tx, order))) return false;
      return true;
    },
    async paid(tx, order) {
      for (const part of parts) await part.paid(tx, order);
    },
    async ended(tx, order) {
      for (const part of parts) await part.ended(tx, order);
    },
    async refundReserved(tx, order, refund, forced) {
      for (const part of parts) await part.refundReserved(tx, order, refund, forced);
    },
    async refundSucceeded(tx, order, refund) {
      for (const part of parts) await part.refundSucceeded(tx, order, refund);
    },
    async refundFailed(tx, order, refund) {
      for (const part of parts) await part.refundFailed(tx, order, refund);
    },
  };
}

/** What a person did, for the audit log. */
export interface Deed {
  /** `noun.verb`, such as `refund.retry`. */
  readonly action: string;
  /** The number of the order or refund, or the id of the exception. */
  readonly target: string;
  readonly after?: object;
}

/**
 * Writes down what a person asks for, in the transaction of the intent or decision itself: neither is there without the other.
 * The last statement of the transaction. An application's requests are in the history of its orders and nowhere else.
 */
export async function noteDeed(
  { audit }: Pick<Ports, 'audit'>,
  tx: Tx,
  { person }: Pick<Asker, 'person'>,
  deed: Deed,
): Promise<void> {
  if (!person) return;
  const { kind: actorKind, name: actor, ip, requestId } = person;
  await audit(tx, { actorKind, actor, ip, requestId, ...deed });
}
