import type { DisputeRow, RefundRow } from '../../db/entities/refunds.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { EffectRun, RefundOrigin } from '../../domain.ts';
import type { LostMoney, RefundOutcome } from '../channel.ts';
import type { OpenedRefund } from './transitions.ts';
import { queueKeyOf, later } from './plan.ts';

/** The planned send time of a refund that waits for an approval, so that no job sends it. */
const NEVER = new Date('9000-01-01T00:00:00.000Z');

/** Whether a merchant or administrator requested the refund. Refunds that the service itself owes need no approval. */
function isRequested({ origin }: Pick<RefundRow, 'origin'>): boolean {
  return origin === 'merchant' || origin === 'admin';
}

/** Whether a refund is in progress. A refund that waits for an approval does not count. */
export function isUnderWay({ state, approval }: Pick<RefundRow, 'state' | 'approval'>): boolean {
  return (state === 'pending' || state === 'processing') && approval !== 'waiting';
}

export interface GivenBack {
  refunds: readonly Pick<RefundRow, 'amount' | 'origin' | 'state' | 'approval'>[];
  /** The disputes that the merchant accepted. `approved`: whether a second administrator approved the acceptance. */
  accepted: readonly (Pick<DisputeRow, 'amount' | 'amountLost' | 'state'> & { approved: boolean })[];
}

/** The amount of an order that was returned without a second administrator, in minor units of the order's currency. */
export function unapprovedOf({ refunds, accepted }: GivenBack): bigint {
  const ofRefunds = refunds.filter((one) => isRequested(one) && one.state !== 'failed' && one.approval === null);
  const ofDisputes = accepted.filter(({ approved, state }) => !approved && state !== 'won');
  return [
    ...ofRefunds.map(({ amount }) => amount),
    // For a lost dispute, only the amount counts that no refund of this service had already paid.
    ...ofDisputes.map(({ amount, amountLost, state }) => (state === 'lost' ? amountLost : amount)),
  ].reduce((sum, amount) => sum + amount, 0n);
}

/**
 * Whether a refund needs a second administrator. All unapproved amounts of the order are added up, so that partial
 * refunds cannot avoid the approval.
 */
export function needsApproval(
  before: GivenBack,
  request: Pick<RefundRow, 'amount' | 'origin'>,
  above: bigint,
): boolean {
  return isRequested(request) && unapprovedOf(before) + request.amount > above;
}

export interface RefundIntent {
  readonly refundNo: string;
  /** Minor units. */
  readonly amount: bigint;
  /** Absent = the currency of the order; another only for a second payment, which the order's sums do not include. */
  readonly currency?: string;
  readonly origin: RefundOrigin;
  readonly reason: string | null;
  readonly merchantRefundNo: string | null;
  readonly actor: string;
  readonly cause: string;
  readonly dueAt: Date;
  /** Whether the caller sends the refund right after the commit; otherwise a job sends it. */
  readonly sentByCaller?: boolean;
  /** Whether the refund returns a payment outside the order's sums; the sums then do not include the refund either. */
  readonly surplus?: boolean;
  /** The channel's id of the payment to refund; absent = the payment that the order's sums include. */
  readonly paymentNo?: string;
  /** Whether the refund is sent only after a second administrator approves it. */
  readonly waits?: boolean;
}

/** Creates a refund and reserves its amount. The caller must have checked the refundable amount. */
export function newRefund(order: OrderRow, intent: RefundIntent, now: Date): OpenedRefund {
  const dueAt = intent.waits ? NEVER : intent.dueAt;
  const isDue = dueAt <= now;
  const surplus = intent.surplus ?? false;
  const row: RefundRow = {
    ...blankRefund(order, intent.refundNo, now),
    merchantRefundNo: intent.merchantRefundNo,
    origin: intent.origin,
    amount: intent.amount,
    currency: intent.currency ?? order.currency,
    reason: intent.reason,
    surplus,
    paymentNo: intent.paymentNo ?? null,
    actor: intent.actor,
    approval: intent.waits ? 'waiting' : null,
    nextCheckAt: isDue && intent.sentByCaller ? later(now, 10) : dueAt,
    sentAt: dueAt,
  };
  return {
    rule: 'refund_requested',
    row,
    sums: surplus ? {} : { refunding: order.refunding + intent.amount },
    cause: intent.cause,
    ...(intent.waits ? { emit: [{ type: 'refund.approval_requested' }] } : {}),
    effects: [reservation(order, row)],
    wake: isDue && !intent.sentByCaller,
  };
}

/**
 * The side effects of a new refund: they take back the payer's coins or the paid content. They may reject a refund that
 * a merchant or administrator requested. They never reject a refund that the service itself owes the payer.
 */
export function reservation({ sequence }: OrderRow, { refundNo, origin }: RefundRow): EffectRun {
  const isRequested = origin === 'merchant' || origin === 'admin';
  const name = `refund-reserved:${refundNo}:${sequence + 1}`;
  return { name, run: ['refundReserved'], ...(isRequested ? { mayRefuse: true } : {}) };
}

/**
 * The side effects of a refund that was stored as failed, although the channel has made it or is making it. They never
 * reject the refund.
 */
export function reservedAgain({ sequence }: OrderRow, { refundNo }: RefundRow): EffectRun {
  return { name: `refund-reserved:${refundNo}:${sequence + 1}`, run: ['refundReserved'] };
}

/** Whether a refund was made outside this service (portal, dispute), so that the service must never send it. */
export function isExternal(origin: RefundOrigin): boolean {
  return origin === 'channel' || origin === 'dispute';
}

/** Creates a succeeded refund for the money of a lost dispute, so that the sums of the order include it. */
export function lostToDispute(
  order: OrderRow,
  lost: LostMoney,
  also: { refundNo: string; actor: string; cause: string },
  now: Date,
): OpenedRefund {
  const { amount, at } = lost;
  const opened = externalRefund(order, { kind: 'succeeded', amount, at }, { ...also, channelRefundNo: null }, now);
  const { refundNo } = also;
  const { sums } = opened;
  return {
    ...opened,
    row: { ...opened.row, origin: 'dispute', reason: 'The payer won a dispute about the payment.' },
    raise: (sums.overrun ?? 0n) > order.overrun ? [{ kind: 'refund_overrun', dedupe: refundNo, refundNo }] : [],
  };
}

/**
 * Creates the row of a refund that was made outside this service, for a payment that the order's sums do not include.
 * Therefore the sums do not change, and no exception (a case for an operator) is opened.
 */
export function externalSurplus(
  order: OrderRow,
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  also: { refundNo: string; channelRefundNo: string | null; actor: string; cause: string },
  now: Date,
): OpenedRefund {
  const opened = externalRefund(order, outcome, also, now);
  const row = { ...opened.row, surplus: true, paymentNo: outcome.payment?.channelNo ?? null };
  return { ...opened, row, sums: {}, raise: [] };
}

/** Creates the row of a refund made outside this service (portal, dispute); the order's sums include it. */
export function externalRefund(
  order: OrderRow,
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  also: { refundNo: string; channelRefundNo: string | null; actor: string; cause: string },
  now: Date,
): OpenedRefund {
  const { refundNo, channelRefundNo, actor, cause } = also;
  const row: RefundRow = {
    ...blankRefund(order, refundNo, now),
    origin: 'channel',
    amount: outcome.amount.minor,
    currency: outcome.amount.currency,
    reason: 'The refund was made outside this service.',
    state: 'succeeded',
    accepted: true,
    elsewhere: true,
    channelRefundNo,
    actor,
    finishedAt: outcome.at,
  };
  return {
    rule: 'refund_elsewhere',
    row,
    sums: withRefunded(order, row.amount, 0n),
    cause,
    emit: [{ type: 'refund.succeeded', each: true }],
    raise: [{ kind: 'refund_elsewhere', dedupe: refundNo, refundNo }],
    effects: [{ name: `refund-elsewhere:${refundNo}`, run: ['refundReserved', 'refundSucceeded'] }],
  };
}

/** Returns the sums of an order after a refund of `amount`, of which `reserved` was reserved before. */
export function withRefunded(order: OrderRow, amount: bigint, reserved: bigint) {
  return withOverrun(order, { refunding: order.refunding - reserved, refunded: order.refunded + amount });
}

/** Adds `overrun` to the sums: the amount by which the refunds exceed the payment. `overrun` never decreases. */
export function withOverrun(order: OrderRow, sums: { refunding: bigint; refunded: bigint }) {
  const over = sums.refunded + sums.refunding - order.paid;
  return { ...sums, overrun: over > order.overrun ? over : order.overrun };
}

function blankRefund(order: OrderRow, refundNo: string, now: Date): RefundRow {
  const { orderNo, clientId, project, currency } = order;
  return {
    refundNo,
    orderNo,
    clientId,
    project,
    merchantRefundNo: null,
    origin: 'merchant',
    amount: 0n,
    currency,
    reason: null,
    state: 'pending',
    accepted: false,
    surplus: false,
    elsewhere: false,
    failureCode: null,
    failureMessage: null,
    channelRefundNo: null,
    paymentNo: null,
    traceParent: null,
    actor: 'service',
    approval: null,
    attempt: 1,
    tries: 0,
    refusedAt: null,
    absentCount: 0,
    absentFirstAt: null,
    unknownAt: null,
    checks: 0,
    nextCheckAt: null,
    leasedUntil: null,
    queueKey: queueKeyOf(order),
    sentAt: null,
    createdAt: now,
    finishedAt: null,
  };
}
