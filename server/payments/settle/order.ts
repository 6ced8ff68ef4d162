import type { OrderRow } from '../../db/entities/orders.ts';
import type { Tx } from '../../db/tx.ts';
import { NotFound } from '../../errors.ts';
import type { Outcome } from '../channel.ts';
import { moveOrder, raiseException, tellOrder, type Via } from '../journal.ts';
import { sameMoney } from '../money.ts';
import { DECISIONS, isOpen, type Decision } from '../order-state.ts';
import type { Ports } from '../ports.ts';
import { ABSENCE_SECONDS, endOf, later, nextOrderCheck } from '../schedule.ts';
import { hasSibling, settleLate } from './late.ts';
import { runEffect } from './effect.ts';

/** The outcome of one kind. */
export type Said<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

/** One outcome about one order, under its lock. */
export interface Settling<Said extends Outcome = Outcome> {
  tx: Tx;
  order: OrderRow;
  outcome: Said;
  via: Via;
  now: Date;
}

/**
 * The only writer of an order's state: takes the row lock, lets the table decide, writes row, history and event in one commit.
 * `firstWord` is true when the outcome answers the first call ever made about the order (O3 needs it).
 */
export async function settle(
  ports: Ports,
  tx: Tx,
  orderNo: string,
  outcome: Outcome,
  via: Via & { firstWord?: boolean },
): Promise<OrderRow> {
  const order = await tx.orders.lock({ orderNo });
  if (!order) throw new NotFound('order');
  return settleLocked(ports, tx, order, outcome, via);
}

/** The same for an order that the caller has locked already. */
export async function settleLocked(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  outcome: Outcome,
  via: Via & { firstWord?: boolean },
): Promise<OrderRow> {
  const settling = { tx, order, outcome, via, now: ports.now() };
  const decision = decide(order, outcome, via.firstWord === true);
  // A closing order has given its merchantOrderNo free: when a sibling took it, only one of the two may be paid.
  const isTaken = decision === 'pay' && order.state === 'closing' && (await hasSibling(tx, order));
  return actions[isTaken ? 'late' : decision](ports, settling as never);
}

function decide(order: OrderRow, outcome: Outcome, firstWord: boolean): Decision {
  const decision = DECISIONS[order.state][outcome.kind];
  if (decision === 'fail' && !(firstWord && outcome.kind === 'declined' && outcome.definite)) return 'note';
  if (decision === 'pay' && order.state === 'closing' && order.closeAnswered) return 'late';
  return decision;
}

const actions: Record<Decision, (ports: Ports, settling: Settling<never>) => Promise<OrderRow>> = {
  accept,
  note,
  withhold,
  capture,
  pay,
  late: (ports, settling) => settleLateMoney(ports, settling),
  again,
  hint,
  close,
  fail,
  nothing: async (_ports, { order }) => order,
};

async function accept(_ports: Ports, { tx, order, outcome, via, now }: Settling<Said<'pending'>>): Promise<OrderRow> {
  const patch: Partial<OrderRow> = { ...heard(outcome, now), state: 'pending', checks: 0, leasedUntil: null };
  Object.assign(patch, captureAfter(order, outcome));
  patch.nextCheckAt = nextOrderCheck({ ...order, ...patch }, now);
  return moveOrder(tx, order, patch, { rule: 'O2', via, at: now });
}

/** The order stays; what was said is remembered and the next question planned. */
async function note(_ports: Ports, { tx, order, outcome, via, now }: Settling): Promise<OrderRow> {
  const patch: Partial<OrderRow> = { ...heard(outcome, now), ...absence(order, outcome, now) };
  Object.assign(patch, captureAfter(order, outcome));
  const plan = planAfter({ ...order, ...patch }, via, now);
  Object.assign(patch, plan);
  await tx.orders.update({ orderNo: order.orderNo }, patch);
  return { ...order, ...patch };
}

/** The next question. Somebody who only looks never postpones what is due, or an order that is polled would never expire. */
function planAfter(order: OrderRow, via: Via, now: Date): Partial<OrderRow> {
  const regular = nextOrderCheck(order, now);
  if (via.cause !== 'query') return { checks: order.checks + 1, leasedUntil: null, nextCheckAt: regular };
  const planned = order.nextCheckAt;
  return { nextCheckAt: planned !== null && (regular === null || planned < regular) ? planned : regular };
}

/** An answer that arrives after the close: the credential is kept from the payer and the close is repeated soon. */
async function withhold(_ports: Ports, { tx, order, outcome, via, now }: Settling<Said<'pending'>>): Promise<OrderRow> {
  const patch: Partial<OrderRow> = {
    channelOrderId: outcome.channelOrderId ?? order.channelOrderId,
    absentCount: 0,
    absentFirstAt: null,
    ...captureAfter(order, outcome),
  };
  if (via.cause === 'place') patch.nextCheckAt = now;
  else if (order.state === 'closing') Object.assign(patch, planAfter({ ...order, ...patch }, via, now));
  await tx.orders.update({ orderNo: order.orderNo }, patch);
  return { ...order, ...patch };
}

/** C1 is decided by the capture operation under the same lock; here the approval is remembered and the capture woken. */
async function capture(_ports: Ports, { tx, order, outcome, via, now }: Settling<Said<'approved'>>): Promise<OrderRow> {
  const patch: Partial<OrderRow> = { ...heard(outcome, now), ...captureAfter(order, outcome), leasedUntil: null };
  const lease = order.captureState === 'live' ? order.captureLeasedUntil : null;
  // While somebody's capture is under way nobody else has anything to do.
  patch.nextCheckAt = lease !== null && lease > now ? later(lease, 1) : now;
  await tx.wake('capture', { orderNo: order.orderNo });
  if (order.state === 'created')
    return moveOrder(tx, order, { ...patch, state: 'pending' }, { rule: 'O2', via, at: now });
  await tx.orders.update({ orderNo: order.orderNo }, patch);
  return { ...order, ...patch };
}

async function pay(ports: Ports, settling: Settling<Said<'paid'>>): Promise<OrderRow> {
  const { tx, order, outcome, via, now } = settling;
  if (!sameMoney(outcome.amount, { minor: order.amount, currency: order.currency })) return mismatch(ports, settling);
  const rule = order.state === 'closing' ? 'O8' : 'O5';
  const paid = await moveOrder(tx, order, paidPatch(outcome, order, now), { rule, via, outcome, at: now });
  await tellOrder(ports, tx, 'order.paid', paid);
  await runEffect(ports, tx, paid, 'paid', (part) => ports.effects.paid(part, paid));
  return paid;
}

/** O9. The amount is checked first: late money of another amount is a mismatch. */
async function settleLateMoney(ports: Ports, settling: Settling<Said<'paid'>>): Promise<OrderRow> {
  const { order, outcome } = settling;
  if (order.paid > 0n) return again(ports, settling);
  if (!sameMoney(outcome.amount, { minor: order.amount, currency: order.currency })) return mismatch(ports, settling);
  return settleLate(ports, settling, paidPatch(outcome, order, settling.now));
}

/** O11, and O12 when the channel says that refunds exist. */
async function again(ports: Ports, { tx, order, outcome, now }: Settling<Said<'paid'>>): Promise<OrderRow> {
  if (order.channelTradeNo !== null && outcome.channelNo !== order.channelTradeNo) {
    const received = outcome.amount;
    await raiseException(ports, tx, order, 'double_paid', { dedupe: outcome.channelNo, received, detail: outcome });
  }
  if (outcome.refundsHint && order.refunded + order.refunding === 0n) return unexplained(ports, tx, order, now);
  const patch: Partial<OrderRow> = { checkedAt: now };
  await tx.orders.update({ orderNo: order.orderNo }, patch);
  return { ...order, ...patch };
}

/** O12: the channel says closed about a paid order, which is a full refund that it made or that we made. */
async function hint(ports: Ports, { tx, order, now }: Settling<Said<'closed'>>): Promise<OrderRow> {
  if (order.refunded + order.refunding >= order.paid) return order;
  return unexplained(ports, tx, order, now);
}

async function unexplained(ports: Ports, tx: Tx, order: OrderRow, now: Date): Promise<OrderRow> {
  await raiseException(ports, tx, order, 'refund_unexplained', { dedupe: 'once', blocksRefunds: true });
  await tx.orders.update({ orderNo: order.orderNo }, { checkedAt: now });
  return order;
}

async function close(ports: Ports, { tx, order, outcome, via, now }: Settling): Promise<OrderRow> {
  const rule = order.state === 'closing' ? 'O7' : 'O6';
  const reason = order.closeReason ?? (now >= order.expiresAt ? 'expired' : 'channel');
  return closeOrder(ports, tx, order, { rule, via, now, reason, outcome });
}

/** O7 (or O6 when the channel closed it): final, unless money comes late. */
export async function closeOrder(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  how: { rule: string; via: Via; now: Date; reason: NonNullable<OrderRow['closeReason']>; outcome?: object },
): Promise<OrderRow> {
  const patch: Partial<OrderRow> = {
    state: 'closed',
    closeReason: how.reason,
    closedAt: how.now,
    credential: null,
    checks: 0,
    leasedUntil: null,
  };
  patch.nextCheckAt = nextOrderCheck({ ...order, ...patch }, how.now);
  const closed = await moveOrder(tx, order, patch, { rule: how.rule, via: how.via, outcome: how.outcome, at: how.now });
  await tellOrder(ports, tx, 'order.closed', closed);
  await runEffect(ports, tx, closed, 'ended', (part) => ports.effects.ended(part, closed));
  return closed;
}

async function fail(ports: Ports, { tx, order, outcome, via, now }: Settling<Said<'declined'>>): Promise<OrderRow> {
  const patch: Partial<OrderRow> = {
    state: 'failed',
    failureCode: outcome.code.slice(0, 128),
    failureMessage: outcome.reason,
    closedAt: now,
    checks: 0,
    leasedUntil: null,
  };
  patch.nextCheckAt = nextOrderCheck({ ...order, ...patch }, now);
  const failed = await moveOrder(tx, order, patch, { rule: 'O3', via, outcome, at: now });
  await tellOrder(ports, tx, 'order.failed', failed);
  await runEffect(ports, tx, failed, 'ended', (part) => ports.effects.ended(part, failed));
  return failed;
}

/** O10: genuine money of another amount never pays an order; a person decides, and until then nobody asks. */
async function mismatch(ports: Ports, { tx, order, outcome, via, now }: Settling<Said<'paid'>>): Promise<OrderRow> {
  const isNew = await raiseException(ports, tx, order, 'amount_mismatch', {
    dedupe: outcome.channelNo,
    received: outcome.amount,
    detail: { channelNo: outcome.channelNo, at: outcome.at },
    blocksRefunds: true,
  });
  const isOpenStill =
    !isNew && (await tx.exceptions.find({ orderNo: order.orderNo, kind: 'amount_mismatch', state: 'open' }));
  if (!isNew && !isOpenStill && isOpen(order.state))
    return close(ports, { tx, order: { ...order, closeReason: order.closeReason ?? 'admin' }, outcome, via, now });
  const patch: Partial<OrderRow> = { nextCheckAt: null, leasedUntil: null, checkedAt: now };
  if (order.channelTradeNo === null) patch.channelTradeNo = outcome.channelNo;
  await tx.orders.update({ orderNo: order.orderNo }, patch);
  return { ...order, ...patch };
}

function paidPatch(outcome: Said<'paid'>, order: OrderRow, now: Date): Partial<OrderRow> {
  return {
    state: 'paid',
    paid: outcome.amount.minor,
    paidAt: outcome.at,
    channelTradeNo: outcome.channelNo,
    channelOrderId: outcome.channelOrderId ?? order.channelOrderId,
    payer: outcome.payer?.slice(0, 256) ?? order.payer,
    credential: null,
    captureState: null,
    captureLeasedUntil: null,
    checkedAt: now,
    nextCheckAt: null,
    leasedUntil: null,
  };
}

function heard(outcome: Outcome, now: Date): Partial<OrderRow> {
  const patch: Partial<OrderRow> = {};
  if (outcome.kind !== 'unknown') patch.checkedAt = now;
  if ('channelOrderId' in outcome && outcome.channelOrderId) patch.channelOrderId = outcome.channelOrderId;
  if (outcome.kind === 'pending' && outcome.pay) patch.credential = outcome.pay;
  return patch;
}

/** Absences count from the moment at which the channel's own expiry is past; any sign of the trade starts anew. */
function absence(order: OrderRow, outcome: Outcome, now: Date): Partial<OrderRow> {
  if (outcome.kind === 'unknown') return {};
  if (outcome.kind !== 'absent') return { absentCount: 0, absentFirstAt: null };
  if (now < endOf(order)) return {};
  const first = order.absentFirstAt;
  if (first === null) return { absentCount: 1, absentFirstAt: now };
  return now >= later(first, ABSENCE_SECONDS) ? { absentCount: order.absentCount + 1 } : {};
}

/** C3: a pending capture is flagged; when the channel shows none any more the flag goes. */
function captureAfter(order: OrderRow, outcome: Outcome): Partial<OrderRow> {
  if (outcome.kind === 'pending' && outcome.capturePending) return { captureState: 'pending' };
  const saysNone = outcome.kind === 'pending' || outcome.kind === 'approved' || outcome.kind === 'declined';
  return order.captureState === 'pending' && saysNone ? { captureState: null } : {};
}
