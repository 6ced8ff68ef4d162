import type { BillRow, PayeeRow } from '../../server/db/entities/bills.ts';
import type { DisputeRow, RefundRow } from '../../server/db/entities/refunds.ts';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { nameOrders, statementsOf, writeLines } from '../../server/db/queries/bill-lines.ts';
import { matchBill } from '../../server/db/queries/bill-matching.ts';
import type { Store } from '../../server/db/store.ts';
import { NEVER_READ } from '../../server/payments/bills/payees.ts';
import type { BillLine, FeeRate } from '../../server/payments/channel.ts';
import { disputeRow, orderRow, refundRow } from './core-rows.ts';

/** The day of the bills in these tests, in Beijing. */
export const DAY = '2026-11-20';

/** An instant of that day in Beijing: `12:00`, `23:50`; with `+1` appended, of the next day. */
export function beijing(time: string, days = 0): Date {
  return new Date(new Date(`${DAY}T${time}:00+08:00`).getTime() + days * 86_400_000);
}

/** The orders, refunds and bills of one account. */
export function account(store: Store, payWay: 'wechat' | 'paypal' = 'wechat') {
  const whose = { payWay, account: '1900000001', mode: 'live' as const };
  let orders = 0;
  return { order, refund, dispute, bill, match, differences };

  /** A paid order over 10.00 by default. */
  async function order(change: Partial<OrderRow> = {}): Promise<OrderRow> {
    orders += 1;
    const row = orderRow({
      ...whose,
      orderNo: `P2026112000000000000000${String(orders).padStart(3, '0')}`,
      merchantOrderNo: null,
      state: 'paid',
      paid: 1000n,
      channelTradeNo: `T${orders}`,
      paidAt: beijing('12:00'),
      nextCheckAt: null,
      ...change,
    });
    await store.transaction(async (tx) => {
      await tx.orders.insert(row);
      await tx.payees.insertIfNew(payee(row, row.configVersion));
    });
    return row;
  }

  /** A completed refund of 4.00 by default. */
  async function refund({ orderNo }: OrderRow, change: Partial<RefundRow> = {}): Promise<RefundRow> {
    const row = refundRow({
      orderNo,
      refundNo: orderNo.replace('P', 'R'),
      merchantRefundNo: null,
      amount: 400n,
      state: 'succeeded',
      finishedAt: beijing('13:00'),
      nextCheckAt: null,
      ...change,
    });
    await store.transaction((tx) => tx.refunds.insert(row));
    return row;
  }

  /** An open dispute over the whole order by default. */
  async function dispute(of: OrderRow, change: Partial<DisputeRow> = {}): Promise<void> {
    const row = disputeRow({
      disputeNo: of.orderNo.replace('P', 'D'),
      orderNo: of.orderNo,
      payWay: of.payWay,
      account: of.account,
      mode: of.mode,
      channelDisputeNo: `PP-${of.orderNo}`,
      amount: 1000n,
      currency: of.currency,
      ...change,
    });
    await store.transaction((tx) => tx.disputes.insert(row));
  }

  /** Stores the bill of a day with these lines, read but not yet compared. */
  async function bill(lines: readonly Partial<BillLine>[], days = 0): Promise<BillRow> {
    const day = beijing('08:00', days).toISOString().slice(0, 10);
    const billNo = `B${day.replaceAll('-', '')}`;
    const known = await store.read((tx) => tx.bills.find({ billNo }));
    const reading = (known?.reading ?? 0) + 1;
    const row: BillRow = { ...billRow(whose), billNo, day, reading, readings: reading };
    await store.transaction(async (tx) => {
      if (known) await tx.bills.update({ billNo }, { reading, readings: reading });
      else await tx.bills.insert(row);
    });
    const numbered = lines.map((line, at) => ({ ...billLine(line), line: at + 1 }));
    await writeLines(store, statementsOf({ billNo, reading, day }, numbered));
    await nameOrders(store, { billNo, reading, day });
    return row;
  }

  /** Compares a bill at noon two days later. */
  function match(row: BillRow, { rate, ...more }: { rate?: FeeRate; only?: string; now?: Date } = {}) {
    const from = new Date(`${row.day}T00:00:00+08:00`);
    const to = new Date(from.getTime() + 86_400_000);
    const now = new Date(to.getTime() + 36 * 3_600_000);
    return store.transaction((tx) =>
      matchBill(tx, {
        bill: row,
        from,
        to,
        utcOffsetMinutes: 480,
        rates: new Map(rate && [['default', rate]]),
        now,
        ...more,
      }),
    );
  }

  /** Returns `kind order state` of every difference, sorted. */
  async function differences(): Promise<string[]> {
    const rows = await store.read((tx) => tx.billDifferences.list({}));
    return rows.map(({ kind, orderNo, state }) => `${kind} ${Number(orderNo.slice(-3))} ${state}`).toSorted();
  }
}

/** Stores that a configuration version takes payments for this account, as its channel answered. */
export function payee(of: Pick<OrderRow, 'project' | 'payWay' | 'account' | 'mode'>, version = 1): PayeeRow {
  const { project, payWay, account: name, mode } = of;
  return { project, payWay, version, mode, payee: name, provenAt: beijing('00:00') };
}

/** A bill line for a payment of 10.00 at noon. */
export function billLine(change: Partial<BillLine> = {}): BillLine {
  return {
    line: 1,
    kind: 'payment',
    event: 'SUCCESS',
    orderNo: null,
    refundNo: null,
    channelTradeNo: null,
    channelRefundNo: null,
    currency: 'CNY',
    amount: 1000n,
    discount: 0n,
    fee: 6n,
    share: 0n,
    at: beijing('12:00'),
    raw: '`a,`"b"\\,`NULL,`{}',
    ...change,
  };
}

/** A bill line for an order of the service. */
export function paidLine({ orderNo, channelTradeNo }: OrderRow, change: Partial<BillLine> = {}): Partial<BillLine> {
  return { orderNo, channelTradeNo, ...change };
}

/** A bill line for a refund of the service. */
export function refundLine(refund: RefundRow, change: Partial<BillLine> = {}): Partial<BillLine> {
  const { orderNo, refundNo, channelRefundNo, amount } = refund;
  return { kind: 'refund', event: 'REFUND', orderNo, refundNo, channelRefundNo, amount, fee: -2n, ...change };
}

/** The row of a bill that is read but not yet compared. */
export function billRow(whose: Pick<BillRow, 'payWay' | 'account' | 'mode'>): BillRow {
  return {
    ...whose,
    billNo: '',
    project: 'default',
    day: DAY,
    ...NEVER_READ,
    state: 'matching',
    source: 'channel',
    reading: 1,
    readings: 1,
    fault: null,
    faultDetail: null,
    faultLine: null,
    faultColumn: null,
    checks: 0,
    nextCheckAt: null,
    leasedUntil: null,
    createdAt: beijing('00:00', 1),
    askedAt: null,
  };
}
