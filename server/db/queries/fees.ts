import type { OrderFeeRow } from '../entities/bills.ts';
import type { OrderRow } from '../entities/orders.ts';
import type { ReadTx } from '../store.ts';

/** What bills say that orders cost: of each order by the number of a refund, the payment's own without one. */
export type Fees = ReadonlyMap<string, ReadonlyMap<string, OrderFeeRow>>;

/** No bill is there before its day is over: of a payment that is younger there is nothing to read. */
const BILLED_AFTER_MS = 3_600_000;

/** The fees of those orders that are old enough to stand in a bill. */
export async function feesOf(
  tx: ReadTx,
  orders: readonly Pick<OrderRow, 'orderNo' | 'paidAt'>[],
  now: Date,
): Promise<Fees> {
  const billed = orders.filter(({ paidAt }) => paidAt !== null && now.getTime() - paidAt.getTime() > BILLED_AFTER_MS);
  const fees = new Map<string, Map<string, OrderFeeRow>>();
  if (billed.length === 0) return fees;
  for (const row of await tx.orderFees.list({ orderNo: billed.map(({ orderNo }) => orderNo) })) {
    const of = fees.get(row.orderNo) ?? new Map<string, OrderFeeRow>();
    fees.set(row.orderNo, of.set(row.refundNo, row));
  }
  return fees;
}
