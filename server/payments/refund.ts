import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/tx.ts';
import { Conflict, NotAllowed } from '../errors.ts';
import { ask, refundOrder } from './ask.ts';
import { claimKey, type KeyClaim } from './idempotency.ts';
import { moveRefund } from './journal.ts';
import { majorNumber, readAmount } from './money.ts';
import { newNumber } from './numbers.ts';
import type { RefundOrigin } from './order.ts';
import { lockOrder } from './owner.ts';
import type { Asker, Ports } from './ports.ts';
import { openRefund, reserveEffects } from './refund-intent.ts';
import {
  afterIntent,
  MerchantNumberUsed,
  OrderNotPaid,
  RefundExceedsRefundable,
  RefundInProgress,
  RefundsBlocked,
} from './refusals.ts';
import { later } from './schedule.ts';
import { lockPair, settleRefund, type Pair } from './settle/refund.ts';
import { refundable } from './view.ts';

/** A refund request after its schema. */
export interface RefundRequest {
  orderNo: string;
  /** Major units; left out = all that is left. */
  refundAmount?: number | string | undefined;
  merchantRefundNo?: string | undefined;
  reason?: string | undefined;
}

/** What the caller may add: the key, and (for the service's own refunds) the fixed number and origin. */
export interface RefundOptions {
  claim?: KeyClaim | undefined;
  origin?: RefundOrigin;
  refundNo?: string;
  /** Checked and written under the order's lock, before the reservation. */
  guard?: (tx: Tx, order: OrderRow) => Promise<void>;
}

/** Gives money back: reserves, asks the channel, settles. Once accepted it is never an error, also when the channel is silent. */
export type RefundPayment = (asker: Asker, request: RefundRequest, options?: RefundOptions) => Promise<Pair>;

/** The operation over its ports. */
export function refundPayment(ports: Ports): RefundPayment {
  const send = sendRefund(ports);
  return async (asker, request, options = {}) => {
    const { pair, due } = await ports.store.transaction((tx) => claimRefund(ports, tx, asker, request, options));
    ports.checkpoint('refund.intent');
    if (!due) return pair;
    const { orderNo, refundNo } = pair.refund;
    return afterIntent({ orderNo, refundNo }, () => send(refundNo, { cause: 'refund', actor: asker.actor }));
  };
}

/** Sends (or re-sends) a refund that is reserved, and settles the answer. The same number every time. */
export function sendRefund(ports: Ports) {
  return async (refundNo: string, via: { cause: string; actor: string }): Promise<Pair> => {
    const { pair, mine } = await ports.store.transaction((tx) => claimSend(ports, tx, refundNo));
    if (!mine) return pair;
    // A configuration that cannot be used is no reason to refuse what is reserved already.
    const outcome = await ask(ports, refundNo, async () =>
      (await ports.channels.forOrder(pair.order)).refund(refundOrder(pair.order, pair.refund, ports.publicUrl)),
    );
    ports.checkpoint('refund.asked');
    const settled = await ports.store.transaction((tx) =>
      settleRefund(ports, tx, refundNo, outcome, { ...via, sent: true }),
    );
    ports.checkpoint('refund.settled');
    return settled;
  };
}

/**
 * The first `sentAt` is stored before the call, so that a re-send is byte-identical; the lease keeps the jobs away meanwhile.
 * What was settled since the caller looked is not sent: its reservation may be gone.
 */
async function claimSend(ports: Ports, tx: Tx, refundNo: string): Promise<{ pair: Pair; mine: boolean }> {
  const { order, refund } = await lockPair(tx, refundNo);
  if ((refund.state !== 'pending' && refund.state !== 'processing') || refund.accepted)
    return { pair: { order, refund }, mine: false };
  const now = ports.now();
  // An earlier call that was not refused may have died before its answer was settled: it can still land (R4).
  const mayLand = refund.tries > 0 && refund.refusedAt === null;
  const patch = {
    sentAt: refund.tries === 0 ? now : (refund.sentAt ?? now),
    tries: refund.tries + 1,
    nextCheckAt: later(now, 10),
    leasedUntil: later(now, 15),
    refusedAt: null,
    absentCount: 0,
    absentFirstAt: null,
    unknownAt: mayLand ? now : refund.unknownAt,
  };
  await tx.refunds.update({ refundNo }, patch);
  return { pair: { order, refund: { ...refund, ...patch } }, mine: true };
}

async function claimRefund(
  ports: Ports,
  tx: Tx,
  asker: Asker,
  request: RefundRequest,
  options: RefundOptions,
): Promise<{ pair: Pair; due: boolean }> {
  const now = ports.now();
  const { claim } = options;
  const order = await lockOrder(tx, request.orderNo, asker.owner);
  if (claim?.resume) {
    await claimKey(tx, claim, claim.resume, now);
    return resume(order, await tx.refunds.lock({ refundNo: claim.resume }), now);
  }
  const same = await sameRefund(tx, order, request);
  if (same) {
    await claimKey(tx, claim, same.refundNo, now);
    return same.state === 'failed' ? retry(ports, tx, order, same, asker) : resume(order, same, now);
  }
  await options.guard?.(tx, order);
  await mayRefund(tx, order);
  const amount = amountOf(order, request);
  if (amount > refundable(order)) throw new RefundExceedsRefundable(order.orderNo, leftOf(order));
  if (!claim && !request.merchantRefundNo && !options.refundNo) await refuseTwin(tx, order, amount, now);
  const refundNo = options.refundNo ?? newNumber('R', now);
  await claimKey(tx, claim, refundNo, now);
  const dueAt = await firstSlot(ports, tx, order, now);
  const pair = await openRefund(ports, tx, order, {
    refundNo,
    amount,
    origin: options.origin ?? (asker.owner === 'any' ? 'admin' : 'merchant'),
    reason: request.reason ?? null,
    merchantRefundNo: request.merchantRefundNo ?? null,
    actor: asker.actor,
    cause: 'refund',
    dueAt,
    sentByCaller: true,
  });
  return { pair, due: dueAt <= now };
}

/** Refunds need paid money and no open exception that forbids them. */
export async function mayRefund(tx: Tx, order: OrderRow): Promise<void> {
  if (order.paid === 0n || order.state !== 'paid') throw new OrderNotPaid(order.orderNo);
  const blocking = await tx.exceptions.find({ orderNo: order.orderNo, state: 'open', blocksRefunds: true });
  if (blocking) throw new RefundsBlocked(order.orderNo, blocking.kind);
}

/** The refund that a repeated merchantRefundNo means; another amount is refused. */
async function sameRefund(tx: Tx, order: OrderRow, request: RefundRequest): Promise<RefundRow | undefined> {
  const { merchantRefundNo } = request;
  if (!merchantRefundNo) return undefined;
  const found = await tx.refunds.find({ clientId: order.clientId, merchantRefundNo });
  if (!found) return undefined;
  const sameAmount = request.refundAmount === undefined || found.amount === amountOf(order, request);
  if (found.orderNo !== order.orderNo || !sameAmount)
    throw new MerchantNumberUsed('merchantRefundNo', merchantRefundNo);
  return tx.refunds.lock({ refundNo: found.refundNo });
}

/** A retry of an intent: what was never sent is sent, everything else is answered from its row. */
function resume(order: OrderRow, refund: RefundRow | undefined, now: Date): { pair: Pair; due: boolean } {
  if (!refund) throw new Error('a claimed intent has no refund');
  const isFree = refund.leasedUntil === null || refund.leasedUntil <= now;
  const isDue = refund.sentAt === null || refund.sentAt <= now;
  return { pair: { order, refund }, due: refund.state === 'pending' && refund.tries === 0 && isFree && isDue };
}

/** R6: the guard and the reservation of R1 again, with the same number at the channel. */
export async function retry(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  refund: RefundRow,
  asker: { actor: string },
): Promise<{ pair: Pair; due: boolean }> {
  if (!refund.surplus && refund.origin !== 'late') await mayRefund(tx, order);
  if (!refund.surplus && refund.amount > refundable(order))
    throw new RefundExceedsRefundable(order.orderNo, leftOf(order));
  const now = ports.now();
  if (isForgotten(ports, order, refund, now))
    throw new Conflict('refund_not_retryable', 'The channel has forgotten this number: make a new refund.');
  const patch = {
    state: 'pending' as const,
    finishedAt: null,
    checks: 0,
    nextCheckAt: later(now, 10),
    leasedUntil: null,
  };
  const refunding = order.refunding + (refund.surplus ? 0n : refund.amount);
  const line = { rule: 'R6', via: { cause: 'retry', actor: asker.actor }, at: now };
  const moved = await moveRefund(tx, order, refund, { refund: patch, order: { refunding } }, line);
  await reserveEffects(ports, tx, moved.order, moved.refund);
  return { pair: moved, due: true };
}

/** Some channels forget a number: after that a re-send would pay twice. */
export function isForgotten(ports: Ports, { payWay }: OrderRow, { createdAt, tries }: RefundRow, now: Date): boolean {
  const { refundResendDays } = ports.channels.kindOf(payWay).limits;
  return tries > 0 && refundResendDays !== null && now > later(createdAt, refundResendDays * 86_400);
}

/** Without a key two equal refunds cannot be told from a retry, so the second waits for the first one's outcome. */
async function refuseTwin(tx: Tx, order: OrderRow, amount: bigint, now: Date): Promise<void> {
  const open = await tx.refunds.list({ orderNo: order.orderNo, amount, state: ['pending', 'processing'] });
  const twin = open.find((one) => one.unknownAt !== null || now > later(one.createdAt, 2));
  if (twin) throw new RefundInProgress(twin.refundNo);
}

/** When the channel takes the next refund of this order: refunds that come too close together are scheduled, not refused. */
async function firstSlot(ports: Ports, tx: Tx, order: OrderRow, now: Date): Promise<Date> {
  const { limits } = ports.channels.kindOf(order.payWay);
  const earlier = await tx.refunds.list({ orderNo: order.orderNo });
  const counted = earlier.filter(({ state }) => state !== 'failed');
  if (limits.maxRefundsPerOrder !== null && counted.length >= limits.maxRefundsPerOrder)
    throw new NotAllowed(
      'refund_limit_reached',
      `This channel allows ${limits.maxRefundsPerOrder} refunds of an order.`,
    );
  if (order.paidAt && now > later(order.paidAt, limits.refundWindowDays * 86_400))
    throw new Conflict(
      'refund_window_over',
      `This channel refunds within ${limits.refundWindowDays} days of the payment.`,
    );
  const last = Math.max(0, ...earlier.map(({ sentAt, createdAt }) => (sentAt ?? createdAt).getTime()));
  const slot = new Date(last + limits.refundSpacingSeconds * 1000);
  return last > 0 && slot > now ? slot : now;
}

function amountOf(order: OrderRow, { refundAmount }: RefundRequest): bigint {
  if (refundAmount === undefined) return refundable(order) || 1n;
  return readAmount(refundAmount, order.currency, order.payWay, '/refundAmount').minor;
}

function leftOf(order: OrderRow): number {
  return majorNumber({ minor: refundable(order), currency: order.currency }, order.payWay);
}
