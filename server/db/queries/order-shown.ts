import type { OrderFeeRow } from '../entities/bills.ts';
import type { OrderExceptionRow, OrderRow } from '../entities/orders.ts';
import type { RefundRow } from '../entities/refunds.ts';
import type { ReadTx } from '../store.ts';

/** What is shown with an order beside its own row. */
export interface Around {
  /** The oldest first. */
  refunds: readonly RefundRow[];
  /** Those that are open, the oldest first. */
  exceptions: readonly OrderExceptionRow[];
  /** What bills say that it cost, by the number of a refund; the payment's own without one. */
  fees: ReadonlyMap<string, OrderFeeRow>;
}

/** An order with all that is shown with it, as everything is at one moment: one statement. */
export async function orderShown(
  tx: ReadTx,
  where: { orderNo: string; clientId?: string },
): Promise<{ order: OrderRow; around: Around } | undefined> {
  const found = await tx.orders.findWith<{
    refunds: RefundRow;
    exceptions: OrderExceptionRow;
    fees: OrderFeeRow;
  }>(where, {
    refunds: { table: 'refunds', by: 'orderNo', orderBy: { createdAt: 'asc', refundNo: 'asc' } },
    exceptions: {
      table: 'exceptions',
      by: 'orderNo',
      where: { state: 'open' },
      orderBy: { createdAt: 'asc' },
    },
    fees: { table: 'orderFees', by: 'orderNo' },
  });
  if (!found) return undefined;
  const { refunds, exceptions, fees, ...order } = found;
  const byRefund = new Map(fees.map((fee) => [fee.refundNo, fee]));
  return { order: order as OrderRow, around: { refunds, exceptions, fees: byRefund } };
}
