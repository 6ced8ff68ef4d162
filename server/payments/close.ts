import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/tx.ts';
import { ask, orderRef } from './ask.ts';
import type { CloseOutcome } from './channel.ts';
import { claimKey, type KeyClaim } from './idempotency.ts';
import { moveOrder, type Via } from './journal.ts';
import type { CloseReason } from './order.ts';
import { lockOrder } from './owner.ts';
import type { Asker, Ports } from './ports.ts';
import { refreshOrder } from './query.ts';
import { afterIntent, OrderAlreadyPaid } from './refusals.ts';
import { later, nextOrderCheck } from './schedule.ts';
import { closeOrder } from './settle/order.ts';

/** Closes an order: 'closed' when the channel confirmed it, 'closing' while it did not; a paid order is refused. */
export type ClosePayment = (asker: Asker, orderNo: string, claim?: KeyClaim) => Promise<OrderRow>;

/** The operation over its ports. */
export function closePayment(ports: Ports): ClosePayment {
  const pursue = pursueClose(ports);
  return async (asker, orderNo, claim) => {
    const via = { cause: 'close', actor: asker.actor };
    const order = await ports.store.transaction(async (tx) => {
      const locked = await lockOrder(tx, orderNo, asker.owner);
      await claimKey(tx, claim, orderNo, ports.now());
      return beginClose(ports, tx, locked, asker.owner === 'any' ? 'admin' : 'merchant', via);
    });
    ports.checkpoint('close.intent');
    if (order.state === 'paid') throw new OrderAlreadyPaid(orderNo);
    if (order.state !== 'closing') return order;
    return afterIntent({ orderNo }, async () => {
      await pursue(order, via);
      return answerClose(ports, asker, orderNo);
    });
  };
}

/** O6: the intent to close, committed before the channel is asked. An explicit wish overrules an expiry. */
export async function beginClose(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  reason: CloseReason,
  via: Via,
): Promise<OrderRow> {
  const now = ports.now();
  const closeAsked = reason !== 'expired' || order.closeAsked;
  if (order.state === 'closing') {
    const patch = closeAsked && !order.closeAsked ? { closeAsked, closeReason: reason } : {};
    if (closeAsked && !order.closeAsked) await tx.orders.update({ orderNo: order.orderNo }, patch);
    return { ...order, ...patch };
  }
  if (order.state !== 'created' && order.state !== 'pending') return order;
  const patch: Partial<OrderRow> = {
    state: 'closing',
    closeReason: reason,
    closeAsked,
    checks: 0,
    absentCount: 0,
    absentFirstAt: null,
    nextCheckAt: later(now, 5),
    leasedUntil: later(now, 10),
  };
  return moveOrder(tx, order, patch, { rule: 'O6', via, at: now });
}

/** Asks the channel to close, and to say what happened when it refuses. Whatever it says is settled. */
export function pursueClose(ports: Ports) {
  const refresh = refreshOrder(ports);
  return async (order: OrderRow, via: Via): Promise<OrderRow> => {
    if (order.captureState !== null) return (await refresh(order, via)).order;
    const outcome = await ask(ports, order.orderNo, async () =>
      (await ports.channels.forOrder(order)).close(orderRef(order)),
    );
    ports.checkpoint('close.asked');
    const settled = await ports.store.transaction((tx) => settleClose(ports, tx, order.orderNo, outcome, via));
    if (settled.state !== 'closing' || outcome.kind === 'unknown') return settled;
    return (await refresh(settled, via)).order;
  };
}

/** O7 when the channel confirmed; everything else waits for its next question. */
async function settleClose(ports: Ports, tx: Tx, orderNo: string, outcome: CloseOutcome, via: Via): Promise<OrderRow> {
  const order = await lockOrder(tx, orderNo, 'any');
  if (order.state !== 'closing') return order;
  const now = ports.now();
  if (outcome.kind === 'closed' && order.captureState === null)
    return closeOrder(ports, tx, order, { rule: 'O7', via, now, reason: order.closeReason ?? 'merchant', outcome });
  const patch: Partial<OrderRow> = {
    checks: order.checks + 1,
    nextCheckAt: nextOrderCheck(order, now),
    leasedUntil: null,
  };
  await tx.orders.update({ orderNo }, patch);
  return { ...order, ...patch };
}

/** What the caller hears is decided under the lock: once 'closing' was said, later money is late money (O9). */
async function answerClose(ports: Ports, asker: Asker, orderNo: string): Promise<OrderRow> {
  return ports.store.transaction(async (tx) => {
    const order = await lockOrder(tx, orderNo, asker.owner);
    if (order.state === 'paid') throw new OrderAlreadyPaid(orderNo);
    if (order.state !== 'closing' || order.closeAnswered) return order;
    await tx.orders.update({ orderNo }, { closeAnswered: true });
    return { ...order, closeAnswered: true };
  });
}
