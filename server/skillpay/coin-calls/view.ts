import type { CoinCallRow } from '../../db/entities/skillpay.ts';

/** A call that coins paid, as it appears on the wire. */
export function viewCoinCall(row: CoinCallRow) {
  const createdAt = row.createdAt.toISOString();
  return {
    outTradeNo: row.orderNo,
    orderNo: row.orderNo,
    kind: 'coin' as const,
    resource: row.resource,
    subject: row.subject,
    userId: row.userId,
    status: row.refundedAt ? ('refunded' as const) : ('paid' as const),
    fulfilment: row.fulfilment,
    coin: { code: row.coin, amount: Number(row.amount) },
    createdAt,
    paidAt: createdAt,
    fulfilledAt: row.fulfilledAt?.toISOString() ?? null,
    refundedAt: row.refundedAt?.toISOString() ?? null,
  };
}

/** How it appears. */
export type CoinCallView = ReturnType<typeof viewCoinCall>;
