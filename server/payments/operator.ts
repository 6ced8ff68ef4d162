import type { OrderExceptionRow, OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import { Conflict, InvalidRequest, NotFound } from '../errors.ts';
import { checkOrder } from './check-order.ts';
import { checkRefund } from './check-refund.ts';
import { moveOrder, moveRefund, tellOrder, tellRefund } from './journal.ts';
import { newNumber } from './numbers.ts';
import { isOpen } from './order-state.ts';
import { findOrder, findRefund } from './owner.ts';
import type { Asker, Ports } from './ports.ts';
import { refreshOrder } from './query.ts';
import { openRefund } from './refund-intent.ts';
import { retry, sendRefund } from './refund.ts';
import { runEffect } from './settle/effect.ts';
import { hasSibling } from './settle/late.ts';
import { failRefund, lockPair, settleRefund, type Pair } from './settle/refund.ts';
import { ask, refundOrder } from './ask.ts';

/** What an administrator may do with an exception. */
export type ExceptionAction = 'acknowledge' | 'refund' | 'accept';
/** What an administrator may do with a refund that is stuck. */
export type RefundAction = 'paid_elsewhere' | 'release';

/** Repairs by people: nothing here edits money; every step is a fact, a question, or a refund. */
export function operatorRepairs(ports: Ports) {
  const refresh = refreshOrder(ports);
  const check = checkOrder(ports);
  const checkOne = checkRefund(ports);
  const send = sendRefund(ports);

  return { syncOrder, syncRefund, retryRefund, resolveRefund, resolveException };

  /** Asks the channel about the order and its open refunds now, whatever the schedule says. */
  async function syncOrder(asker: Asker, orderNo: string): Promise<OrderRow> {
    const order = await ports.store.read((tx) => findOrder(tx, orderNo, asker.owner));
    if (isOpen(order.state)) await check(orderNo);
    else await refresh(order, { cause: 'sync', actor: asker.actor });
    const refunds = await ports.store.read((tx) => tx.refunds.list({ orderNo, state: ['pending', 'processing'] }));
    for (const { refundNo } of refunds) await checkOne(refundNo, { cause: 'sync', actor: asker.actor });
    return ports.store.read((tx) => findOrder(tx, orderNo, asker.owner));
  }

  /** Asks the channel about one refund now. */
  async function syncRefund(asker: Asker, refundNo: string): Promise<RefundRow> {
    await ports.store.read((tx) => findRefund(tx, refundNo, asker.owner));
    await checkOne(refundNo, { cause: 'sync', actor: asker.actor });
    return ports.store.read((tx) => findRefund(tx, refundNo, asker.owner));
  }

  /** R6 for a failed refund, R7 for an abnormal one: the same number at the channel. */
  async function retryRefund(asker: Asker, refundNo: string): Promise<Pair> {
    const pair = await ports.store.transaction(async (tx) => {
      const locked = await lockPair(tx, refundNo);
      if (locked.refund.state === 'failed') return (await retry(ports, tx, locked.order, locked.refund, asker)).pair;
      if (locked.refund.state === 'abnormal') return reopen(tx, locked, asker);
      throw new Conflict('refund_not_retryable', `A refund that is ${locked.refund.state} cannot be retried.`);
    });
    if (pair.refund.state === 'processing') return retryAbnormal(pair, asker);
    return send(refundNo, { cause: 'retry', actor: asker.actor });
  }

  async function reopen(tx: Tx, { order, refund }: Pair, asker: Asker): Promise<Pair> {
    const now = ports.now();
    const patch = { state: 'processing' as const, nextCheckAt: now, checks: 0, leasedUntil: null };
    return moveRefund(
      tx,
      order,
      refund,
      { refund: patch },
      { rule: 'R7', via: { cause: 'retry', actor: asker.actor }, at: now },
    );
  }

  async function retryAbnormal({ order, refund }: Pair, asker: Asker): Promise<Pair> {
    const channel = await ports.channels.forOrder(order);
    const call = { ...refundOrder(order, refund, ports.publicUrl), channelRefundNo: refund.channelRefundNo };
    const outcome = await ask(ports, refund.refundNo, () =>
      channel.retryAbnormalRefund ? channel.retryAbnormalRefund(call) : channel.queryRefund(call),
    );
    const via = { cause: 'retry', actor: asker.actor, sent: true };
    return ports.store.transaction((tx) => settleRefund(ports, tx, refund.refundNo, outcome, via));
  }

  /** R7: `paid_elsewhere` (outside the channel, left out of the ledger comparison) or `release` (asked first). */
  async function resolveRefund(asker: Asker, refundNo: string, action: RefundAction, reason: string): Promise<Pair> {
    if (action === 'release') await checkReleased(refundNo);
    return ports.store.transaction(async (tx) => {
      const pair = await lockPair(tx, refundNo);
      if (pair.refund.state !== 'abnormal')
        throw new Conflict('refund_not_abnormal', 'Only an abnormal refund is resolved by hand.');
      const via = { cause: `resolve:${action}`, actor: asker.actor };
      const resolved =
        action === 'release'
          ? await failRefund(ports, tx, pair, 'released', reason, via)
          : await paidElsewhere(tx, pair, reason, via);
      await tx.exceptions.update(
        { refundNo, state: 'open' },
        { state: 'resolved', resolution: action, reason, resolvedBy: asker.actor, resolvedAt: ports.now() },
      );
      return resolved;
    });
  }

  /** Nobody releases a reservation whose money may have left: the channel is asked in the same breath. */
  async function checkReleased(refundNo: string): Promise<void> {
    const pair = await ports.store.transaction((tx) => lockPair(tx, refundNo));
    const channel = await ports.channels.forOrder(pair.order);
    const call = {
      ...refundOrder(pair.order, pair.refund, ports.publicUrl),
      channelRefundNo: pair.refund.channelRefundNo,
    };
    const outcome = await ask(ports, refundNo, () => channel.queryRefund(call));
    if (outcome.kind === 'succeeded' || outcome.kind === 'pending' || outcome.kind === 'unknown')
      throw new Conflict('refund_not_released', `The channel says ${outcome.kind}: the amount cannot be released.`);
  }

  async function paidElsewhere(
    tx: Tx,
    { order, refund }: Pair,
    reason: string,
    via: { cause: string; actor: string },
  ): Promise<Pair> {
    const now = ports.now();
    const sums = refund.surplus
      ? {}
      : { refunding: order.refunding - refund.amount, refunded: order.refunded + refund.amount };
    const patch = {
      state: 'succeeded' as const,
      elsewhere: true,
      failureMessage: reason,
      finishedAt: now,
      nextCheckAt: null,
    };
    const moved = await moveRefund(tx, order, refund, { refund: patch, order: sums }, { rule: 'R7', via, at: now });
    await tellRefund(ports, tx, 'refund.succeeded', moved.order, moved.refund);
    await runEffect(ports, tx, moved.order, `refund-succeeded:${refund.refundNo}`, (part) =>
      ports.effects.refundSucceeded(part, moved.order, moved.refund),
    );
    return moved;
  }

  /** Ends an exception: `acknowledge` any; `refund` or `accept` the money of an amount mismatch (O10). */
  async function resolveException(
    asker: Asker,
    id: string,
    action: ExceptionAction,
    reason: string,
  ): Promise<OrderExceptionRow> {
    const { exception, refundNo } = await ports.store.transaction(async (tx) => {
      const found = await tx.exceptions.find({ id });
      if (!found) throw new NotFound('exception');
      const order = await tx.orders.lock({ orderNo: found.orderNo });
      const row = await tx.exceptions.lock({ id });
      if (!order || !row || row.state === 'resolved')
        throw new Conflict('exception_resolved', 'The exception is resolved.');
      await refuseWhileAbnormal(tx, row);
      const made =
        row.kind === 'amount_mismatch' ? await resolveMismatch(tx, order, row, action, asker) : acknowledgeOnly(action);
      const patch = {
        state: 'resolved' as const,
        resolution: action,
        reason,
        resolvedBy: asker.actor,
        resolvedAt: ports.now(),
      };
      await tx.exceptions.update({ id }, patch);
      return { exception: { ...row, ...patch }, refundNo: made };
    });
    if (refundNo) await send(refundNo, { cause: 'resolve', actor: asker.actor });
    return exception;
  }

  async function resolveMismatch(
    tx: Tx,
    order: OrderRow,
    row: OrderExceptionRow,
    action: ExceptionAction,
    asker: Asker,
  ): Promise<string | null> {
    const received = row.receivedMinor ?? 0n;
    const now = ports.now();
    if (action === 'acknowledge') throw invalidAction('A mismatch is resolved by refund or accept.');
    if (action === 'accept') {
      if (row.receivedCurrency !== order.currency)
        throw invalidAction('Money of another currency can only be refunded.');
      if (order.state === 'paid') throw new Conflict('order_already_paid', 'The order is paid already.');
      if (await hasSibling(tx, order))
        throw new Conflict('order_already_paid', 'Another order of this merchantOrderNo is live or paid.');
      const patch = { state: 'paid' as const, paid: received, paidAt: now, credential: null, nextCheckAt: null };
      const paid = await moveOrder(tx, order, patch, {
        rule: 'O10',
        via: { cause: 'resolve', actor: asker.actor },
        at: now,
      });
      await tellOrder(ports, tx, 'order.paid', paid);
      await runEffect(ports, tx, paid, 'paid', (part) => ports.effects.paid(part, paid));
      return null;
    }
    const refundNo = newNumber('R', now);
    await openRefund(ports, tx, order, {
      refundNo,
      amount: received,
      currency: row.receivedCurrency ?? order.currency,
      origin: 'surplus',
      surplus: true,
      reason: 'The amount received is not the amount of the order.',
      merchantRefundNo: null,
      actor: asker.actor,
      cause: 'resolve',
      dueAt: now,
      sentByCaller: true,
    });
    if (isOpen(order.state)) await tx.orders.update({ orderNo: order.orderNo }, { nextCheckAt: now });
    return refundNo;
  }
}

/** A refund that waits for a person stays listed until somebody ends or retries it. */
async function refuseWhileAbnormal(tx: Tx, { refundNo }: OrderExceptionRow): Promise<void> {
  const refund = refundNo === null ? undefined : await tx.refunds.find({ refundNo });
  if (refund?.state === 'abnormal')
    throw invalidAction(
      `The refund ${refund.refundNo} is abnormal: retry or resolve it, and its exceptions end with it.`,
    );
}

function acknowledgeOnly(action: ExceptionAction): null {
  if (action !== 'acknowledge') throw invalidAction('This exception can only be acknowledged.');
  return null;
}

function invalidAction(detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer: '/action', code: 'invalid', detail }]);
}
