import { majorNumber } from '../payments/money.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { SkillPair, SkillPorts } from './ports.ts';

/** A pay-per-call order as it appears on the wire (pay-per-call.md §1.4). */
export function viewSkillOrder(
  { payments }: Pick<SkillPorts, 'payments'>,
  { order, skill }: SkillPair,
  refunds: readonly RefundRow[],
  stale: boolean,
) {
  const major = (minor: bigint) => majorNumber({ minor, currency: order.currency }, order.payWay);
  return {
    outTradeNo: order.orderNo,
    orderNo: order.orderNo,
    resource: skill.resource,
    subject: order.subject,
    status: payments.statusOf(order),
    fulfilment: skill.fulfilment,
    payWay: order.payWay,
    mode: order.mode,
    amount: major(order.amount),
    amountMinor: Number(order.amount),
    currency: order.currency,
    refundedAmount: major(order.refunded),
    refunds: refunds.map((refund) => payments.viewRefund(refund, order.payWay)),
    createdAt: order.createdAt.toISOString(),
    paidAt: order.paidAt?.toISOString() ?? null,
    fulfilledAt: skill.fulfilledAt?.toISOString() ?? null,
    expiresAt: order.expiresAt.toISOString(),
    stale,
  };
}
