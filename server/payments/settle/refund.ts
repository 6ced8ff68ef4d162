import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { Tx } from '../../db/tx.ts';
import { NotFound } from '../../errors.ts';
import type { RefundOutcome } from '../channel.ts';
import { moveRefund, raiseException, tellRefund, type Via } from '../journal.ts';
import { sameMoney } from '../money.ts';
import type { Ports } from '../ports.ts';
import { ABSENCE_SECONDS, later, nextRefundCheck } from '../schedule.ts';
import { runEffect } from './effect.ts';

/** A call whose outcome is unknown may still land for this long (R4). */
const LANDING_SECONDS = 600;

/** Why a refund moves; `sent` when the outcome answers a refund call rather than a question about one. */
export interface RefundVia extends Via {
  sent?: boolean;
}

/** A refund and its order, both locked. */
export interface Pair {
  order: OrderRow;
  refund: RefundRow;
}

/** Locks the order, then the refund: always in this order. */
export async function lockPair(tx: Tx, refundNo: string): Promise<Pair> {
  const found = await tx.refunds.find({ refundNo });
  const order = found && (await tx.orders.lock({ orderNo: found.orderNo }));
  const refund = order && (await tx.refunds.lock({ refundNo }));
  if (!order || !refund) throw new NotFound('refund');
  return { order, refund };
}

/** The only writer of a refund's state: the same commit moves the sums of the order (payments.md §3). No clock ever fails a refund. */
export async function settleRefund(
  ports: Ports,
  tx: Tx,
  refundNo: string,
  outcome: RefundOutcome,
  via: RefundVia,
): Promise<Pair> {
  const pair = await lockPair(tx, refundNo);
  return settleRefundLocked(ports, tx, pair, outcome, via);
}

/** The same for a pair that the caller has locked already. */
export async function settleRefundLocked(
  ports: Ports,
  tx: Tx,
  pair: Pair,
  outcome: RefundOutcome,
  via: RefundVia,
): Promise<Pair> {
  switch (outcome.kind) {
    case 'succeeded':
      return succeed(ports, tx, pair, outcome, via);
    case 'abnormal':
      return abnormal(ports, tx, pair, outcome, via);
    case 'failed':
      return refusedForGood(ports, tx, pair, outcome, via);
    case 'pending':
      return accepted(ports, tx, pair, outcome, via);
    default:
      return unsettled(ports, tx, pair, outcome, via);
  }
}

type Of<Kind extends RefundOutcome['kind']> = Extract<RefundOutcome, { kind: Kind }>;

/** R3: from failed too, because a fact beats our opinion; overrun pays for it when the sums no longer have room. */
async function succeed(ports: Ports, tx: Tx, pair: Pair, outcome: Of<'succeeded'>, via: Via): Promise<Pair> {
  const { order, refund } = pair;
  if (refund.state === 'succeeded') return pair;
  if (!sameMoney(outcome.amount, { minor: refund.amount, currency: refund.currency }))
    return differs(ports, tx, pair, outcome, via);
  const wasReserved = refund.state !== 'failed';
  const sums = refund.surplus ? {} : succeededSums(order, refund.amount, wasReserved);
  const now = ports.now();
  const moved = await moveRefund(
    tx,
    order,
    refund,
    {
      refund: {
        state: 'succeeded',
        accepted: true,
        channelRefundNo: outcome.channelRefundNo ?? refund.channelRefundNo,
        finishedAt: outcome.at,
        failureCode: null,
        failureMessage: null,
        nextCheckAt: null,
        leasedUntil: null,
      },
      order: sums,
    },
    { rule: 'R3', via, outcome, at: now },
  );
  if (!wasReserved && sums.overrun !== undefined && sums.overrun > order.overrun)
    await raiseException(ports, tx, moved.order, 'refund_overrun', {
      dedupe: refund.refundNo,
      refundNo: refund.refundNo,
    });
  await tellRefund(ports, tx, 'refund.succeeded', moved.order, moved.refund);
  await resolveExceptionsOf(tx, moved.refund, now);
  await runEffect(ports, tx, moved.order, `refund-succeeded:${refund.refundNo}`, (part) =>
    ports.effects.refundSucceeded(part, moved.order, moved.refund),
  );
  return moved;
}

function succeededSums(order: OrderRow, amount: bigint, wasReserved: boolean): Partial<OrderRow> {
  const refunding = wasReserved ? order.refunding - amount : order.refunding;
  const refunded = order.refunded + amount;
  const over = refunded + refunding - order.paid;
  return { refunding, refunded, overrun: over > order.overrun ? over : order.overrun };
}

async function accepted(ports: Ports, tx: Tx, pair: Pair, outcome: Of<'pending'>, via: Via): Promise<Pair> {
  const { order, refund } = pair;
  if (refund.state === 'succeeded' || refund.state === 'abnormal') return pair;
  const now = ports.now();
  const patch: Partial<RefundRow> = {
    accepted: true,
    channelRefundNo: outcome.channelRefundNo ?? refund.channelRefundNo,
    refusedAt: null,
    absentCount: 0,
    absentFirstAt: null,
    unknownAt: null,
    checks: refund.checks + 1,
    nextCheckAt: nextRefundCheck(refund.checks, now),
    leasedUntil: null,
  };
  if (refund.state === 'failed') return revive(ports, tx, pair, patch, via);
  if (refund.state === 'processing') return touch(tx, pair, patch);
  return moveRefund(
    tx,
    order,
    refund,
    { refund: { ...patch, state: 'processing' } },
    { rule: 'R2', via, outcome, at: now },
  );
}

/** A refund that we called failed turns out to be on its way: the reservation comes back, with overrun if it must. */
async function revive(ports: Ports, tx: Tx, pair: Pair, patch: Partial<RefundRow>, via: Via): Promise<Pair> {
  const { order, refund } = pair;
  const refunding = order.refunding + (refund.surplus ? 0n : refund.amount);
  const over = order.refunded + refunding - order.paid;
  const overrun = over > order.overrun ? over : order.overrun;
  const moved = await moveRefund(
    tx,
    order,
    refund,
    { refund: { ...patch, state: 'pending', finishedAt: null }, order: { refunding, overrun } },
    { rule: 'R6', via, at: ports.now() },
  );
  if (overrun > order.overrun)
    await raiseException(ports, tx, moved.order, 'refund_overrun', {
      dedupe: refund.refundNo,
      refundNo: refund.refundNo,
    });
  return moved;
}

/** R4, the definite half: the channel says that this refund will never happen. After success it is a reversal (R5). */
async function refusedForGood(ports: Ports, tx: Tx, pair: Pair, outcome: Of<'failed'>, via: Via): Promise<Pair> {
  if (pair.refund.state === 'succeeded') return abnormal(ports, tx, pair, { ...outcome, kind: 'abnormal' }, via);
  return failRefund(ports, tx, pair, outcome.code, outcome.reason, via);
}

/** R4: the reservation is given back in the same commit. */
export async function failRefund(
  ports: Ports,
  tx: Tx,
  pair: Pair,
  code: string,
  reason: string,
  via: Via,
): Promise<Pair> {
  const { order, refund } = pair;
  const rule = refund.state === 'abnormal' ? 'R7' : 'R4';
  if (refund.state === 'failed' || refund.state === 'succeeded') return pair;
  const now = ports.now();
  const moved = await moveRefund(
    tx,
    order,
    refund,
    {
      refund: {
        state: 'failed',
        failureCode: code.slice(0, 128),
        failureMessage: reason,
        finishedAt: now,
        nextCheckAt: null,
        leasedUntil: null,
      },
      order: refund.surplus ? {} : { refunding: order.refunding - refund.amount },
    },
    { rule, via, at: now },
  );
  await tellRefund(ports, tx, 'refund.failed', moved.order, moved.refund, `${moved.order.sequence}`);
  if (refund.origin !== 'merchant' && refund.origin !== 'admin')
    await raiseException(ports, tx, moved.order, 'refund_abnormal', {
      dedupe: refund.refundNo,
      refundNo: refund.refundNo,
    });
  await runEffect(ports, tx, moved.order, `refund-failed:${refund.refundNo}:${moved.order.sequence}`, (part) =>
    ports.effects.refundFailed(part, moved.order, moved.refund),
  );
  return moved;
}

/** R5: the money is neither here nor there; a person must look. */
async function abnormal(ports: Ports, tx: Tx, pair: Pair, outcome: Of<'abnormal'>, via: Via): Promise<Pair> {
  const { order, refund } = pair;
  if (refund.state === 'abnormal' || refund.state === 'failed') return pair;
  const wasDone = refund.state === 'succeeded';
  const sums =
    wasDone && !refund.surplus
      ? { refunded: order.refunded - refund.amount, refunding: order.refunding + refund.amount }
      : {};
  const moved = await moveRefund(
    tx,
    order,
    refund,
    {
      refund: {
        state: 'abnormal',
        accepted: true,
        failureCode: outcome.code.slice(0, 128),
        failureMessage: outcome.reason,
        channelRefundNo: outcome.channelRefundNo ?? refund.channelRefundNo,
        finishedAt: null,
        nextCheckAt: null,
        leasedUntil: null,
      },
      order: sums,
    },
    { rule: 'R5', via, outcome, at: ports.now() },
  );
  await tellRefund(ports, tx, 'refund.abnormal', moved.order, moved.refund, `${moved.order.sequence}`);
  await raiseException(ports, tx, moved.order, wasDone ? 'refund_reversed' : 'refund_abnormal', {
    dedupe: `${refund.refundNo}:${moved.order.sequence}`,
    refundNo: refund.refundNo,
    detail: outcome,
  });
  return moved;
}

/** R2 and the patient half of R4: a refusal fails a refund only when two questions know nothing and nothing can land any more. */
async function unsettled(
  ports: Ports,
  tx: Tx,
  pair: Pair,
  outcome: Of<'refused'> | Of<'absent'> | Of<'unknown'>,
  via: RefundVia,
): Promise<Pair> {
  const { order, refund } = pair;
  if (refund.state !== 'pending' && refund.state !== 'processing') return pair;
  const now = ports.now();
  const patch: Partial<RefundRow> = { checks: refund.checks + 1, leasedUntil: null };
  if (outcome.kind === 'refused') {
    patch.refusedAt = now;
    patch.failureCode = outcome.code.slice(0, 128);
    patch.failureMessage = outcome.reason;
  }
  if (outcome.kind === 'unknown' && via.sent) patch.unknownAt = now;
  if (outcome.kind === 'absent') Object.assign(patch, countAbsence(refund, now));
  const next = { ...refund, ...patch };
  if (isRefusedForSure(next, now)) {
    if (isOurOwn(refund)) return tryAgain(ports, tx, pair, patch);
    return failRefund(ports, tx, pair, next.failureCode ?? 'refused', next.failureMessage ?? '', via);
  }
  patch.nextCheckAt = nextQuestion(next, now);
  if (refund.state === 'processing') return touch(tx, pair, patch);
  return moveRefund(
    tx,
    order,
    refund,
    { refund: { ...patch, state: 'processing' } },
    { rule: 'R2', via, outcome, at: now },
  );
}

/** Late and surplus money is never left (O9): a refusal is listed, and the same number is sent again. */
async function tryAgain(ports: Ports, tx: Tx, pair: Pair, patch: Partial<RefundRow>): Promise<Pair> {
  const { order, refund } = pair;
  await raiseException(ports, tx, order, 'refund_abnormal', { dedupe: refund.refundNo, refundNo: refund.refundNo });
  const nextCheckAt = nextRefundCheck(refund.checks, ports.now());
  return touch(tx, pair, { ...patch, refusedAt: null, absentCount: 0, absentFirstAt: null, nextCheckAt });
}

function isOurOwn({ origin }: RefundRow): boolean {
  return origin === 'late' || origin === 'surplus';
}

function countAbsence(refund: RefundRow, now: Date): Partial<RefundRow> {
  const first = refund.absentFirstAt;
  if (first === null) return { absentCount: 1, absentFirstAt: now };
  return now >= later(first, ABSENCE_SECONDS) ? { absentCount: refund.absentCount + 1 } : {};
}

function isRefusedForSure(refund: RefundRow, now: Date): boolean {
  const canStillLand = refund.unknownAt !== null && now < later(refund.unknownAt, LANDING_SECONDS);
  return refund.refusedAt !== null && refund.absentCount >= 2 && !canStillLand && !refund.accepted;
}

/** A refused refund is asked about a minute apart, so that the verdict does not wait for the long steps. */
function nextQuestion(refund: RefundRow, now: Date): Date {
  const regular = nextRefundCheck(refund.checks - 1, now);
  const soon = later(now, ABSENCE_SECONDS + 1);
  return refund.refusedAt !== null && refund.absentCount < 2 && regular > soon ? soon : regular;
}

/** Another amount went back than was asked: nothing asks again by itself, so the refund is abnormal until a person ends it (R7). */
async function differs(ports: Ports, tx: Tx, pair: Pair, outcome: Of<'succeeded'>, via: Via): Promise<Pair> {
  const { refund } = pair;
  await raiseException(ports, tx, pair.order, 'refund_mismatch', {
    dedupe: refund.refundNo,
    refundNo: refund.refundNo,
    received: outcome.amount,
    blocksRefunds: true,
  });
  if (refund.state === 'failed' || refund.state === 'abnormal')
    return touch(tx, pair, { nextCheckAt: null, leasedUntil: null });
  const reason = 'The channel gave back another amount.';
  return abnormal(ports, tx, pair, { kind: 'abnormal', code: 'amount_mismatch', reason }, via);
}

async function touch(tx: Tx, { order, refund }: Pair, patch: Partial<RefundRow>): Promise<Pair> {
  await tx.refunds.update({ refundNo: refund.refundNo }, patch);
  return { order, refund: { ...refund, ...patch } };
}

/** A refund that came through answers the exceptions that were opened about it, and about the late money that it gives back. */
async function resolveExceptionsOf(tx: Tx, refund: RefundRow, now: Date): Promise<void> {
  const resolved = { state: 'resolved', resolution: 'refunded', resolvedBy: 'service', resolvedAt: now } as const;
  await tx.exceptions.update({ refundNo: refund.refundNo, kind: 'refund_abnormal', state: 'open' }, resolved);
  if (refund.origin === 'late')
    await tx.exceptions.update({ orderNo: refund.orderNo, kind: 'late_paid', state: 'open' }, resolved);
}
