import type { OrderFeeRow } from '../db/entities/bills.ts';
import type { DisputeRow, RefundRow } from '../db/entities/refunds.ts';
import type { OrderExceptionRow, OrderRow, StoredMoney } from '../db/entities/orders.ts';
import type { PayHint } from './channel.ts';
import type { ExceptionKind, OrderStatus, RefundStatus } from '../domain.ts';
import { majorNumber, type Money } from '../money.ts';
import { refundableOf, hasCredential } from './core/moves.ts';

/** The wire's word for an order: refunds make `partially_refunded` and `refunded` of what was paid. */
export function statusOf(order: Pick<OrderRow, 'state' | 'paid' | 'refunded'>): OrderStatus {
  const moneyCame = order.paid > 0n;
  if (moneyCame && order.refunded >= order.paid) return 'refunded';
  if (order.state === 'paid' && order.refunded > 0n) return 'partially_refunded';
  return order.state;
}

/** The wire's word for a refund: one that nobody has approved yet waits. */
export function refundStatusOf({ state, approval }: Pick<RefundRow, 'state' | 'approval'>): RefundStatus {
  return state === 'pending' && approval === 'waiting' ? 'waiting_for_approval' : state;
}

/** A refund as it appears on the wire; `fee` is what its bill says, once there is one: of a refund that was made. */
export function viewRefund(refund: RefundRow, fee?: OrderFeeRow) {
  return {
    refundNo: refund.refundNo,
    orderNo: refund.orderNo,
    merchantRefundNo: refund.merchantRefundNo,
    origin: refund.origin,
    refundAmount: majorNumber({ minor: refund.amount, currency: refund.currency }),
    refundAmountMinor: Number(refund.amount),
    currency: refund.currency,
    reason: refund.reason,
    status: refundStatusOf(refund),
    elsewhere: refund.elsewhere,
    failure: refund.failureCode ? { code: refund.failureCode, message: refund.failureMessage ?? '' } : null,
    channelRefundNo: refund.channelRefundNo,
    fee: fee && refund.state === 'succeeded' ? viewMoney({ minor: fee.fee, currency: fee.currency }) : null,
    nextCheckAt: refund.approval === 'waiting' ? null : iso(refund.nextCheckAt),
    createdAt: refund.createdAt.toISOString(),
    finishedAt: iso(refund.finishedAt),
  };
}

/** A dispute as it appears on the wire. */
export function viewDispute(dispute: DisputeRow) {
  const { payWay, currency } = dispute;
  const major = (minor: bigint) => majorNumber({ minor, currency });
  return {
    disputeNo: dispute.disputeNo,
    orderNo: dispute.orderNo,
    clientId: dispute.clientId,
    project: dispute.project,
    payWay,
    channelDisputeNo: dispute.channelDisputeNo,
    reason: dispute.reason,
    amount: major(dispute.amount),
    amountMinor: Number(dispute.amount),
    currency,
    status: dispute.state,
    dueAt: iso(dispute.dueAt),
    lostAmount: major(dispute.amountLost),
    refundNo: dispute.refundNo,
    answeredAt: iso(dispute.answeredAt),
    acceptedAt: iso(dispute.acceptedAt),
    nextCheckAt: iso(dispute.nextCheckAt),
    openedAt: dispute.openedAt.toISOString(),
    updatedAt: dispute.updatedAt.toISOString(),
    closedAt: iso(dispute.closedAt),
  };
}

/** An order as it appears in lists and events: without its refunds and without what the payer needs. */
export function viewOrder(
  order: OrderRow,
  also: {
    /** Those that are open, the oldest first. */
    exceptions?: readonly OrderExceptionRow[] | undefined;
    stale?: boolean;
    /** By the number of a refund; of the payment itself without one. */
    fees?: ReadonlyMap<string, OrderFeeRow> | undefined;
  } = {},
) {
  const { payWay, currency } = order;
  const major = (minor: bigint) => majorNumber({ minor, currency });
  const { exceptions = [] } = also;
  return {
    orderNo: order.orderNo,
    kind: order.kind,
    merchantOrderNo: order.merchantOrderNo,
    project: order.project,
    clientId: order.clientId,
    mode: order.mode,
    subject: order.subject,
    orderType: order.orderType,
    userId: order.userId,
    extra: order.extra,
    payWay,
    scene: order.scene,
    amount: major(order.amount),
    amountMinor: Number(order.amount),
    currency,
    status: statusOf(order),
    exception: kindOf(exceptions.at(-1)),
    closeReason: order.closeReason,
    failure: order.failureCode ? { code: order.failureCode, message: order.failureMessage ?? '' } : null,
    payer: order.payer,
    product: order.productCode,
    refundedAmount: major(order.refunded),
    ...viewRefundable(order, exceptions),
    channelOrderId: order.channelOrderId,
    channelTradeNo: order.channelTradeNo,
    captureReason: order.captureReason,
    settlement: viewSettlement(order, also.fees?.get('')),
    createdAt: order.createdAt.toISOString(),
    paidAt: iso(order.paidAt),
    closedAt: iso(order.closedAt),
    expiresAt: order.expiresAt.toISOString(),
    stale: also.stale ?? false,
  };
}

/** Members of an order that an export does not have as they are. */
type NotExported = 'failure' | 'channelOrderId' | 'captureReason' | 'settlement' | 'stale';

/** The columns of an export, in their order. */
export const EXPORTED = Object.keys({
  orderNo: true,
  merchantOrderNo: true,
  project: true,
  clientId: true,
  mode: true,
  kind: true,
  payWay: true,
  scene: true,
  subject: true,
  orderType: true,
  userId: true,
  extra: true,
  amount: true,
  amountMinor: true,
  currency: true,
  status: true,
  exception: true,
  closeReason: true,
  refundedAmount: true,
  refundableAmount: true,
  refundsBlockedBy: true,
  channelTradeNo: true,
  payer: true,
  product: true,
  createdAt: true,
  paidAt: true,
  closedAt: true,
  expiresAt: true,
} satisfies Record<Exclude<keyof OrderEntryView, NotExported>, true>) as Exclude<keyof OrderEntryView, NotExported>[];

/** What a refund could give back now, in major units: nothing while an open exception forbids refunds, and which one that is. */
export function viewRefundable(
  order: Pick<OrderRow, 'paid' | 'refunded' | 'refunding' | 'currency'>,
  exceptions: readonly OrderExceptionRow[],
) {
  const blocking = exceptions.find(({ blocksRefunds }) => blocksRefunds);
  const { currency } = order;
  return {
    refundableAmount: majorNumber({ minor: blocking ? 0n : refundableOf(order), currency }),
    refundsBlockedBy: kindOf(blocking),
  };
}

function kindOf(exception: OrderExceptionRow | undefined): ExceptionKind | null {
  return (exception?.kind as ExceptionKind | undefined) ?? null;
}

/** The refunds of an order, each with its fee. */
export function viewRefunds(
  refunds: readonly RefundRow[],
  fees: ReadonlyMap<string, OrderFeeRow> | undefined,
): RefundView[] {
  return refunds.map((refund) => viewRefund(refund, fees?.get(refund.refundNo)));
}

/** What is left of the payment, in major units: as the channel said it with the payment, else by its bill; null before either. */
function viewSettlement({ settlement, paid, currency }: OrderRow, billed: OrderFeeRow | undefined) {
  if (settlement === null && !billed) return null;
  const { fee = billed && { minor: billed.fee, currency: billed.currency }, net, received } = settlement ?? {};
  const left = !settlement && fee?.currency === currency ? { minor: paid - BigInt(fee.minor), currency } : net;
  return { fee: viewMoney(fee), net: viewMoney(left), received: viewMoney(received) };
}

function viewMoney(kept: StoredMoney | Money | undefined) {
  if (kept === undefined) return null;
  const money = { minor: BigInt(kept.minor), currency: kept.currency };
  return { amount: majorNumber(money), amountMinor: Number(money.minor), currency: money.currency };
}

/** Where the payer goes, and what the channel handed out for it. */
interface Credential {
  payment?: PayHint & { expiresAt: string };
  payUrl: string;
}

/** An order in a list or an event. */
export type OrderEntryView = ReturnType<typeof viewOrder>;
/** An order with its refunds and, while it can be paid, what the payer needs. */
export type OrderView = OrderEntryView & { refunds: RefundView[] } & Partial<Credential>;
/** A refund as it leaves. */
export type RefundView = ReturnType<typeof viewRefund>;
export type DisputeView = ReturnType<typeof viewDispute>;

/** The payer's credential, while there is something to pay; where it has died the page of this service renews it. */
export function viewCredential(order: OrderRow, publicUrl: string, now: Date): Credential {
  const payUrl = `${publicUrl}/pay/${order.orderNo}`;
  const { credential, credentialUntil, expiresAt } = order;
  const isOpen = order.state === 'pending' || order.state === 'created';
  if (credential === null || !isOpen || !hasCredential(order, now)) return { payUrl };
  const until = credentialUntil !== null && credentialUntil < expiresAt ? credentialUntil : expiresAt;
  return { payment: { ...credential, expiresAt: until.toISOString() }, payUrl: credential.url ?? payUrl };
}

/** An exception as it leaves. */
export function viewException(row: OrderExceptionRow) {
  return {
    id: row.id,
    // What nobody knows has no order number that is ours, and no owner.
    orderNo: row.orderNo || null,
    refundNo: row.refundNo,
    clientId: row.clientId || null,
    project: row.project,
    kind: row.kind,
    state: row.state,
    receivedMinor: row.receivedMinor === null ? null : Number(row.receivedMinor),
    receivedCurrency: row.receivedCurrency,
    blocksRefunds: row.blocksRefunds,
    detail: row.detail,
    resolution: row.resolution,
    reason: row.reason,
    resolvedBy: row.resolvedBy,
    createdAt: row.createdAt.toISOString(),
    resolvedAt: iso(row.resolvedAt),
  };
}

/** RFC 3339 UTC, or null. */
function iso(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}
