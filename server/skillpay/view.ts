import type { RefundRow } from '../db/entities/refunds.ts';
import { majorNumber } from '../payments/money.ts';
import { statusOf, viewRefund } from '../payments/view.ts';
import type { SkillPair } from './ports.ts';

/** A pay-per-call order as it appears on the wire. */
export function viewSkillOrder({ order, skill }: SkillPair, refunds: readonly RefundRow[], stale: boolean) {
  const major = (minor: bigint) => majorNumber({ minor, currency: order.currency });
  return {
    outTradeNo: order.orderNo,
    orderNo: order.orderNo,
    resource: skill.resource,
    subject: order.subject,
    status: statusOf(order),
    fulfilment: skill.fulfilment,
    successor: skill.successor,
    payWay: order.payWay,
    mode: order.mode,
    amount: major(order.amount),
    amountMinor: Number(order.amount),
    currency: order.currency,
    refundedAmount: major(order.refunded),
    refunds: refunds.map((refund) => viewRefund(refund)),
    createdAt: order.createdAt.toISOString(),
    paidAt: order.paidAt?.toISOString() ?? null,
    fulfilledAt: skill.fulfilledAt?.toISOString() ?? null,
    expiresAt: order.expiresAt.toISOString(),
    stale,
  };
}
