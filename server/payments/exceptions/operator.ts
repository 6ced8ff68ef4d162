import type { DisputeRow, RefundRow } from '../../db/entities/refunds.ts';
import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { Tx } from '../../db/store.ts';
import { Conflict, NotFound } from '../../errors.ts';
import { waitAbove, type Waits } from './approvals.ts';
import { type AuditEntry, endDifference, addAuditEntry, resolveExceptions } from '../side-effects.ts';
import { callChannel, externalRefundRef, recordIntent, refundRef } from '../call-channel.ts';
import { checkOrder, refreshOrder } from '../orders/order.ts';
import { checkRefund } from '../refunds/lookups.ts';
import { type Resolved, isOpen } from '../core/transitions.ts';
import { isExternal } from '../core/open-refund.ts';
import { isSendable } from '../core/plan.ts';
import type { OrderCommand } from '../core/decide-order.ts';
import { dueEffects, giveUpEffect, isEffectDue } from '../due-effects.ts';
import { newNumber } from '../numbers.ts';
import {
  type Pair,
  giveUpLookup,
  lockPair,
  ownerOf,
  settleLocked,
  settleRefund,
  settleRefundLocked,
  settling,
} from '../settle.ts';
import type { Requester, Ports } from '../ports.ts';
import { findOrder, findRefund } from '../view.ts';
import { requireConfirmedAbove, retryRefund, sendRefund } from '../refunds/refund.ts';
import { invalidAction } from '../errors.ts';

export type ExceptionAction = 'acknowledge' | 'refund' | 'accept' | 'close' | 'retry';
export type RefundAction = 'paid_elsewhere' | 'release' | 'failed_at_channel';

/** A resolved exception, and the refund to send now. */
interface Resolution {
  exception: OrderExceptionRow;
  refundNo: string | undefined;
}

/**
 * The repairs that administrators can run. No repair edits an amount: a repair queries the channel, makes a refund, or
 * records a decision.
 */
export function operatorRepairs(ports: Ports) {
  const refresh = refreshOrder(ports);
  const check = checkOrder(ports);
  const checkOne = checkRefund(ports);
  const send = sendRefund(ports);
  const effects = dueEffects(ports);

  return { syncOrder, syncRefund, retryRefund: retryOne, resolveRefund, resolveException };

  /** Queries the order and its open refunds now, independent of the schedule. */
  async function syncOrder(requester: Requester, orderNo: string): Promise<OrderRow> {
    const order = await ports.store.transaction(async (tx) => {
      const found = await findOrder(tx, orderNo, requester.owner);
      await addAuditEntry(ports, tx, requester, { action: 'order.sync', target: orderNo });
      return found;
    });
    if (isOpen(order.state)) await check(orderNo);
    else await refresh(order, { cause: 'sync', actor: requester.actor });
    const refunds = await ports.store.read((tx) => tx.refunds.list({ orderNo, state: ['pending', 'processing'] }));
    for (const { refundNo } of refunds) await checkOne(refundNo, { cause: 'sync', actor: requester.actor });
    return ports.store.read((tx) => findOrder(tx, orderNo, requester.owner));
  }

  async function syncRefund(requester: Requester, refundNo: string): Promise<RefundRow> {
    await ports.store.transaction(async (tx) => {
      await findRefund(tx, refundNo, requester.owner);
      await addAuditEntry(ports, tx, requester, { action: 'refund.sync', target: refundNo });
    });
    await checkOne(refundNo, { cause: 'sync', actor: requester.actor });
    return ports.store.read((tx) => findRefund(tx, refundNo, requester.owner));
  }

  /** For an abnormal refund, the channel is asked to repeat it; a channel that has no call for this is only queried. */
  async function retryOne(requester: Requester, refundNo: string): Promise<Pair> {
    const via = { cause: 'retry', actor: requester.actor };
    const again = async (tx: Tx) => {
      const locked = await lockPair(tx, refundNo);
      requireConfirmedAbove(ports, requester, locked.order, locked.refund.amount);
      const isAbnormal = locked.refund.state === 'abnormal';
      const after = isAbnormal
        ? await settleRefundLocked(ports, tx, locked, { command: 'reopen' }, via)
        : await retryRefund(ports, tx, locked, requester.actor);
      await addAuditEntry(ports, tx, requester, { action: 'refund.retry', target: refundNo });
      return after;
    };
    const pair = await recordIntent(ports, again, ({ refund }) => refund);
    if (isSendable(pair.refund)) return send(refundNo, via);
    const call = refundRef(pair.order, pair.refund, ports.publicUrl);
    const outcome = await callChannel(ports, pair.order, (channel) =>
      channel.retryAbnormalRefund ? channel.retryAbnormalRefund(call) : channel.queryRefund(call),
    );
    return settleRefund(ports, refundNo, { outcome, sent: true, attempt: pair.refund.attempt }, via);
  }

  /**
   * Ends an abnormal or overdue refund. `paid_elsewhere`: the money was returned outside the channel, so the channel is
   * not queried. `release`: the channel does not know the refund. `failed_at_channel`: the refund failed according to
   * the channel, for example in its portal.
   */
  async function resolveRefund(
    requester: Requester,
    refundNo: string,
    action: RefundAction,
    reason: string,
  ): Promise<Pair> {
    const sequence = action === 'paid_elsewhere' ? undefined : await checkReleased(refundNo, action);
    const { actor } = requester;
    return ports.store.transaction(async (tx) => {
      const pair = await lockPair(tx, refundNo);
      if (sequence !== undefined && sequence !== pair.order.sequence) throw changedMeanwhile();
      const listed = (await tx.exceptions.count({ refundNo, state: 'open' })) > 0;
      const via = { cause: `resolve:${action}`, actor };
      const after = await settleRefundLocked(ports, tx, pair, { command: action, reason, actor, listed }, via);
      const { orderNo } = pair.order;
      const entry = { action: 'refund.resolve', target: refundNo, after: { orderNo, action, reason } };
      await addAuditEntry(ports, tx, requester, entry);
      return after;
    });
  }

  /**
   * Queries the channel before the amount of a refund is released, because the channel may have paid the money. Returns
   * the change counter (`sequence`) of the order. The caller may use the answer only while this counter is unchanged.
   */
  async function checkReleased(refundNo: string, action: 'release' | 'failed_at_channel'): Promise<number> {
    const { order, refund } = await ports.store.transaction((tx) => lockPair(tx, refundNo));
    const dispute = await ports.store.read((tx) => tx.disputes.find({ refundNo }));
    if (dispute) return refuseUnlessWon(dispute, order);
    const call = refundRef(order, refund, ports.publicUrl);
    const theirs = isExternal(refund.origin) ? refund.channelRefundNo : null;
    const others = refund.paymentNo === null ? [] : [refund.paymentNo];
    const { kind } = await callChannel(ports, order, (channel) =>
      theirs === null ? channel.queryRefund(call) : channel.lookUpRefund(externalRefundRef(order), theirs, others),
    );
    const forbids = action === 'release' ? ['succeeded', 'pending', 'unknown'] : ['succeeded'];
    if (forbids.includes(kind))
      throw new Conflict(
        'refund_not_released',
        `The channel reports the refund as ${kind}, so its reserved amount cannot be released.`,
      );
    return order.sequence;
  }

  /**
   * Resolves an exception by one of five actions.
   * - `acknowledge`: for most kinds. It also ends a side effect that failed, or the queries about an unknown refund.
   * - `refund`: for a payment with a wrong amount, or a second payment.
   * - `accept`: for a payment with a wrong amount.
   * - `close`: for an overdue order, or an order whose capture is pending.
   * - `retry`: for a failed side effect, which runs now; the exception is resolved if it succeeds. Also for a
   *   confirmation of delivery, which is sent to the channel again.
   */
  async function resolveException(
    requester: Requester,
    id: string,
    action: ExceptionAction,
    reason: string,
  ): Promise<OrderExceptionRow | Waits> {
    if (action === 'retry')
      return (await retryConfirmation(requester, id, reason)) ?? retryEffect(requester, id, reason);
    const made = await settling(ports, async (tx): Promise<Waits | Resolution> => {
      const found = await tx.exceptions.find({ id });
      if (!found) throw new NotFound('exception');
      const order = await tx.orders.lock({ orderNo: found.orderNo });
      await endDifference(tx, found, ports.now());
      const row = await tx.exceptions.lock({ id });
      if (!row || row.state === 'resolved') throw resolvedAlready();
      await refuseWhileAbnormal(tx, row);
      const isOfOrder = order !== undefined && !(action === 'acknowledge' && (await isAnothers(tx, order, row)));
      const command = isOfOrder ? commandFor(row, order, action, requester) : acknowledged(action);
      if (command) await refusePartlyBack(tx, row, command);
      if (order && command) requireConfirmedCommand(requester, order, command);
      // Resolving the exception of an accepted dispute allows refunds again, so the payer may get the money twice.
      // Therefore the administrator must just have confirmed with password and second factor.
      if (row.kind === 'dispute' && row.blocksRefunds) requester.confirmed?.();
      const waits =
        order &&
        command?.command === 'refund_payment' &&
        (await waitsFor(tx, requester, order, { id, command, reason }));
      if (waits) return { waits };
      if (order && command) await settleLocked(ports, tx, order, command, { cause: 'resolve', actor: requester.actor });
      if (order && row.kind === 'effect_failed') await giveUpEffect(ports, tx, order, row.dedupe);
      if (row.kind === 'refund_unexplained') await giveUpLookup(ports, tx, row.orderNo, row.dedupe);
      const answer: Resolved = { where: { id }, resolution: action, by: requester.actor, reason };
      await resolveExceptions(ports, tx, answer);
      const exception = await tx.exceptions.find({ id });
      await addAuditEntry(ports, tx, requester, resolved(row, action, reason));
      return { exception: exception!, refundNo: command?.command === 'refund_payment' ? command.refundNo : undefined };
    });
    if ('waits' in made) return made;
    if (made.refundNo) await send(made.refundNo, { cause: 'resolve', actor: requester.actor });
    return made.exception;
  }

  function waitsFor(
    tx: Tx,
    requester: Requester,
    order: OrderRow,
    {
      id: number,
      command,
      reason,
    }: { id: string; command: Extract<OrderCommand, { command: 'refund_payment' }>; reason: string },
  ) {
    const { minor: amount, currency } = command.received;
    return waitAbove(ports, tx, requester, { kind: 'exception', number, order, amount, currency, reason });
  }

  /**
   * Throws 403 if the amount is above the approval limit and the administrator has not just confirmed with password and
   * second factor. Only two commands are checked: `refund_payment` returns a payment, and with `accept` the merchant
   * gives up the missing amount.
   */
  function requireConfirmedCommand(requester: Requester, order: OrderRow, command: OrderCommand): void {
    if (command.command !== 'accept' && command.command !== 'refund_payment') return;
    const { currency, minor } = command.received;
    requireConfirmedAbove(ports, requester, { currency, payWay: order.payWay }, minor);
    if (command.command === 'accept') requireConfirmedAbove(ports, requester, order, order.amount);
  }

  /** Returns undefined if the exception is not about a confirmation of delivery. */
  async function retryConfirmation(
    requester: Requester,
    id: string,
    reason: string,
  ): Promise<OrderExceptionRow | undefined> {
    return ports.store.transaction(async (tx) => {
      const found = await tx.exceptions.lock({ id });
      if (found?.kind !== 'delivery_unconfirmed') return undefined;
      if (found.state === 'resolved') throw resolvedAlready();
      const { orderNo } = found;
      await tx.skillOrders.update({ orderNo }, { confirmAt: ports.now() });
      await resolveExceptions(ports, tx, { where: { id }, resolution: 'retry', by: requester.actor, reason });
      await addAuditEntry(ports, tx, requester, resolved(found, 'retry', reason));
      return (await tx.exceptions.find({ id }))!;
    });
  }

  /** The exception stays open, with the new error, if the side effect failed again. */
  async function retryEffect(requester: Requester, id: string, reason: string): Promise<OrderExceptionRow> {
    const { orderNo } = await ports.store.transaction(async (tx) => {
      const found = await tx.exceptions.find({ id });
      if (!found) throw new NotFound('exception');
      if (found.state === 'resolved') throw resolvedAlready();
      if (found.kind !== 'effect_failed' || !(await isEffectDue(tx, found.orderNo, found.dedupe)))
        throw invalidAction('Only a failed side effect that has not run since can be retried.');
      await addAuditEntry(ports, tx, requester, resolved(found, 'retry', reason));
      return found;
    });
    await effects.work(orderNo, { actor: requester.actor, reason });
    return (await ports.store.read((tx) => tx.exceptions.find({ id })))!;
  }

  /**
   * Returns the command for an action on an exception; undefined = the exception is only acknowledged. Only payments
   * that the order's sums do not include can be accepted or refunded.
   */
  function commandFor(
    { kind, dedupe: paymentNo, receivedMinor, receivedCurrency }: OrderExceptionRow,
    order: OrderRow,
    action: ExceptionAction,
    { actor }: Requester,
  ): OrderCommand | undefined {
    if (kind === 'order_overdue' && isOpen(order.state)) {
      if (action === 'close') return { command: 'abandon' };
      throw invalidAction('The order has not ended. Query it again, or resolve the exception with the action close.');
    }
    if (kind === 'capture_held' && isOpen(order.state) && action === 'close') return { command: 'abandon' };
    const isSecond = kind === 'double_paid';
    const received = { minor: receivedMinor ?? 0n, currency: receivedCurrency ?? order.currency };
    if (action === 'refund' && (isSecond || kind === 'amount_mismatch')) {
      const reason = isSecond ? 'The order was paid twice.' : 'The received amount differs from the order amount.';
      return { command: 'refund_payment', received, paymentNo, reason, refundNo: newNumber('R', ports.now()), actor };
    }
    if (isSecond && action !== 'acknowledge')
      throw invalidAction('A second payment can only be refunded or acknowledged.');
    if (kind !== 'amount_mismatch') return acknowledged(action);
    if (action === 'accept') return { command: 'accept', received, paymentNo };
    throw invalidAction('An amount mismatch must be resolved with the action refund or accept.');
  }
}

/** Throws unless the dispute was won: only then can the amount of its refund be released. */
function refuseUnlessWon({ disputeNo, state }: DisputeRow, { sequence }: OrderRow): number {
  if (state !== 'won')
    throw new Conflict(
      'refund_not_released',
      `The dispute ${disputeNo} is ${state}, not won, so the amount of its refund cannot be released.`,
    );
  return sequence;
}

/** The channel's answer may describe an older state of the order. */
function changedMeanwhile(): Conflict {
  return new Conflict('changed_meanwhile', 'The order changed while the channel was queried; read the refund again.');
}

/** If another order now has the payment with the wrong amount, this order neither accepts nor refunds it. */
async function isAnothers(tx: Tx, order: OrderRow, { kind, dedupe }: OrderExceptionRow): Promise<boolean> {
  return kind === 'amount_mismatch' && (await ownerOf(tx, order, dedupe)) !== null;
}

/** A payment that was partly refunded in the channel's portal can neither be refunded in full nor accepted (400). */
async function refusePartlyBack(tx: Tx, { orderNo, dedupe: paymentNo }: OrderExceptionRow, { command }: OrderCommand) {
  if (command !== 'refund_payment' && command !== 'accept') return;
  if ((await tx.refunds.count({ orderNo, paymentNo, origin: 'channel', state: 'succeeded' })) === 0) return;
  throw invalidAction(
    'A part of the payment was refunded outside this service. Refund the rest there as well; the exception is then resolved.',
  );
}

/** Returns no command, because `acknowledge` only closes the exception; throws 400 for any other action. */
function acknowledged(action: ExceptionAction): undefined {
  if (action !== 'acknowledge') throw invalidAction('This exception can only be acknowledged.');
}

function resolved(
  { id: target, orderNo, refundNo, kind, receivedMinor, receivedCurrency }: OrderExceptionRow,
  action: ExceptionAction,
  reason: string,
): AuditEntry {
  const money = receivedMinor === null ? {} : { receivedMinor: String(receivedMinor), receivedCurrency };
  return { action: 'exception.resolve', target, after: { orderNo, refundNo, kind, action, reason, ...money } };
}

function resolvedAlready(): Conflict {
  return new Conflict('exception_resolved', 'The exception is already resolved.');
}

/** The exception of an abnormal or overdue refund is resolved only by retrying or resolving the refund. */
async function refuseWhileAbnormal(tx: Tx, { refundNo, kind }: OrderExceptionRow): Promise<void> {
  const refund = refundNo === null ? undefined : await tx.refunds.find({ refundNo });
  const isOpen = refund?.state === 'pending' || refund?.state === 'processing';
  if (refund?.state === 'abnormal' || (isOpen && kind === 'refund_overdue'))
    throw invalidAction(
      `The refund ${refund.refundNo} has not ended. Retry or resolve the refund; this also resolves its exceptions.`,
    );
}
