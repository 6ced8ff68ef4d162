import type { OrderExceptionRow, OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import { majorNumber } from './money.ts';
import type { OrderStatus } from './order.ts';

/** The wire's word for an order: refunds make `partially_refunded` and `refunded` of what was paid. */
export function statusOf(order: Pick<OrderRow, 'state' | 'paid' | 'refunded'>): OrderStatus {
  const moneyCame = order.paid > 0n;
  if (moneyCame && order.refunded >= order.paid) return 'refunded';
  if (order.state === 'paid' && order.refunded > 0n) return 'partially_refunded';
  return order.state;
}

/** What may still be given back, in minor units; never negative. */
export function refundable(order: Pick<OrderRow, 'paid' | 'refunded' | 'refunding' | 'overrun'>): bigint {
  const left = order.paid - order.refunded - order.refunding;
  return left > 0n ? left : 0n;
}

/** A refund as it appears on the wire. */
export function viewRefund(refund: RefundRow, payWay: OrderRow['payWay']): Record<string, unknown> {
  return {
    refundNo: refund.refundNo,
    orderNo: refund.orderNo,
    merchantRefundNo: refund.merchantRefundNo,
    origin: refund.origin,
    refundAmount: majorNumber({ minor: refund.amount, currency: refund.currency }, payWay),
    refundAmountMinor: Number(refund.amount),
    currency: refund.currency,
    reason: refund.reason,
    status: refund.state,
    failure: refund.failureCode ? { code: refund.failureCode, message: refund.failureMessage ?? '' } : null,
    channelRefundNo: refund.channelRefundNo,
    nextCheckAt: refund.nextCheckAt,
    createdAt: refund.createdAt,
    finishedAt: refund.finishedAt,
  };
}

/** An order as it appears on the wire (contract.md §7), without the page's own extras. */
export function viewOrder(
  order: OrderRow,
  also: { refunds?: readonly RefundRow[]; exception?: OrderExceptionRow | undefined; stale?: boolean } = {},
): Record<string, unknown> {
  const { payWay, currency } = order;
  const major = (minor: bigint) => majorNumber({ minor, currency }, payWay);
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
    exception: also.exception?.kind ?? null,
    closeReason: order.closeReason,
    failure: order.failureCode ? { code: order.failureCode, message: order.failureMessage ?? '' } : null,
    payer: order.payer,
    product: order.productCode,
    refundedAmount: major(order.refunded),
    refundableAmount: major(refundable(order)),
    channelTradeNo: order.channelTradeNo,
    refunds: (also.refunds ?? []).map((refund) => viewRefund(refund, payWay)),
    createdAt: order.createdAt,
    paidAt: order.paidAt,
    closedAt: order.closedAt,
    expiresAt: order.expiresAt,
    stale: also.stale ?? false,
  };
}

/** The payer's credential, while there is something to pay. */
export function viewCredential(order: OrderRow, publicUrl: string): Record<string, unknown> {
  const payable = (order.state === 'pending' || order.state === 'created') && order.credential !== null;
  const payUrl = `${publicUrl}/pay/${order.orderNo}`;
  if (!payable) return { payUrl };
  return { payment: { ...order.credential, expiresAt: order.expiresAt }, payUrl: order.credential?.url ?? payUrl };
}
