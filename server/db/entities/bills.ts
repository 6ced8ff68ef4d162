import { defineEntity, p } from '@mikro-orm/core';
import type {
  BillLineKind,
  BillSource,
  BillState,
  BillSum,
  DifferenceKind,
  DifferenceSide,
  DifferenceState,
  Mode,
  PayWay,
  PendingRefunds,
} from '../../domain.ts';
import { code, instant, json, queueKey, minor, text, type RowOf } from './columns.ts';

/**
 * The totals that the channel states in a bill: two numbers (of payments and of refunds), and amounts in minor units as
 * text.
 */
export interface StoredTotals {
  currency: string;
  payments: number | null;
  paid: string | null;
  refunds: number | null;
  refunded: string | null;
  fees: string | null;
  net: string | null;
  balance?: { opening: string; closing: string; holds: string };
}

/**
 * The payee (the channel account that receives the money) of a configuration version. The channel issues bills per
 * payee. Until a response of the channel confirms the payee, `payee` is a claim: a provisional name that only this
 * project uses (payments/bills/payees.ts).
 */
export const PayeeEntity = defineEntity({
  name: 'Payee',
  tableName: 'payees',
  properties: {
    project: code().primary(),
    payWay: p.string().length(16).primary().$type<PayWay>(),
    /** The number of the channel configuration version. Every order stores the version with which it was created. */
    version: p.integer().primary(),
    mode: p.string().length(16).$type<Mode>(),
    payee: p.string().length(128),
    /** When the channel first confirmed the payee; null = not confirmed (a claim). */
    provenAt: instant().nullable(),
  },
  indexes: [{ name: 'payees_payee', properties: ['payWay', 'payee', 'mode'] }],
});

/** The bill of one channel account for one day. */
export const BillEntity = defineEntity({
  name: 'Bill',
  tableName: 'bills',
  properties: {
    billNo: code().primary(),
    payWay: p.string().length(16).$type<PayWay>(),
    /**
     * The payee: the channel account that receives the money. The table `payees` assigns configuration versions to a
     * payee; the bill covers the orders of these versions.
     */
    account: p.string().length(128),
    mode: p.string().length(16).$type<Mode>(),
    /** The project whose configuration is used first to fetch the bill. */
    project: code(),
    /** The day that the bill covers, in the channel's time zone. */
    day: p.date(),
    state: p.string().length(16).$type<BillState>(),
    source: p.string().length(16).$type<BillSource>().nullable(),
    /**
     * The number of the read attempt whose lines are used; 0 = the file has not been read yet. Every attempt to read
     * the file gets a new number.
     */
    reading: p.integer(),
    readings: p.integer(),
    lines: p.integer(),
    /** The highest number of lines so far; fewer lines at a later read mean that the channel shortened the bill. */
    mostLines: p.integer(),
    unreadable: p.integer().default(0),
    /** The differences between the totals stated in the bill and its readable lines, as text; null = no difference. */
    shortfall: text().nullable(),
    /** The number of lines about payments of other systems that use the same account. */
    notOurs: p.integer(),
    bytes: p.bigint().nullable(),
    sha256: p.string().length(64).nullable(),
    totals: json<StoredTotals[]>().nullable(),
    sums: json<BillSum[]>().nullable(),
    /**
     * A summary of the refunds that were still pending in the bill. It is stored when retention removes the bill's
     * lines. While the lines exist, the field is null, because the refunds are read from the lines.
     */
    pendingRefunds: json<PendingRefunds[]>().nullable(),
    /** The payee named in an imported file; null = the bill was downloaded, or the file names no payee. */
    payeeInFile: p.string().length(128).nullable(),
    /** Why there is no bill, or why the bill cannot be read. */
    fault: p.string().length(64).nullable(),
    faultDetail: text().nullable(),
    faultLine: p.integer().nullable(),
    faultColumn: p.integer().nullable(),
    checks: p.integer(),
    nextCheckAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    createdAt: instant(),
    askedAt: instant().nullable(),
    readAt: instant().nullable(),
    matchedAt: instant().nullable(),
  },
  uniques: [{ name: 'bills_of_day', properties: ['payWay', 'account', 'mode', 'day'] }],
  indexes: [
    {
      name: 'bills_due',
      expression: `create index "bills_due" on "bills" ("next_check_at") where next_check_at is not null`,
    },
    {
      name: 'bills_due_queues',
      expression: `create index "bills_due_queues" on "bills" ((pay_way || ' ' || mode || ' ' || account), "next_check_at") where next_check_at is not null`,
    },
    { name: 'bills_day', properties: ['day', 'billNo'] },
  ],
});

/** A line of a bill. The table is partitioned by month and has a default partition. */
export const BillLineEntity = defineEntity({
  name: 'BillLine',
  tableName: 'bill_lines',
  properties: {
    billNo: code().primary(),
    reading: p.integer().primary(),
    line: p.integer().primary(),
    day: p.date().primary(),
    kind: p.string().length(16).$type<BillLineKind>(),
    event: p.string().length(64),
    /** Without an order number in the bill, the order is found by the channel's payment number. */
    orderNo: p.string().length(128).nullable(),
    refundNo: p.string().length(128).nullable(),
    channelTradeNo: p.string().length(128).nullable(),
    channelRefundNo: p.string().length(128).nullable(),
    currency: p.string().length(3),
    amount: minor(),
    discount: minor(),
    fee: minor(),
    share: minor(),
    at: instant(),
    raw: text(),
  },
  indexes: [
    {
      name: 'bill_lines_order',
      expression: `create index "bill_lines_order" on "bill_lines" ("order_no") where order_no is not null`,
    },
    {
      // Every settlement report reads the few lines about refunds that were still pending when the bill was made.
      name: 'bill_lines_pending',
      expression: `create index "bill_lines_pending" on "bill_lines" ("bill_no") where kind = 'pending'`,
    },
  ],
});

export const BillDifferenceEntity = defineEntity({
  name: 'BillDifference',
  tableName: 'bill_differences',
  properties: {
    id: p.uuid().primary(),
    billNo: code(),
    payWay: p.string().length(16).$type<PayWay>(),
    project: code(),
    day: p.date(),
    kind: p.string().length(32).$type<DifferenceKind>(),
    orderNo: code(),
    /** The refund number of this service, or the refund number in the bill if this service does not know the refund. */
    refundNo: p.string().length(128).nullable(),
    /** Distinguishes several differences of one kind for one order. */
    key: p.string().length(128),
    ours: json<DifferenceSide>().nullable(),
    theirs: json<DifferenceSide>().nullable(),
    state: p.string().length(16).$type<DifferenceState>(),
    checks: p.integer(),
    nextCheckAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    queueKey: queueKey(),
    /** The channel's response when it was last queried about the difference. */
    answer: json<Record<string, unknown>>().nullable(),
    createdAt: instant(),
    finishedAt: instant().nullable(),
  },
  uniques: [{ name: 'bill_differences_once', properties: ['billNo', 'kind', 'orderNo', 'key'] }],
  indexes: [
    {
      name: 'bill_differences_due',
      expression: `create index "bill_differences_due" on "bill_differences" ("next_check_at") where next_check_at is not null`,
    },
    {
      name: 'bill_differences_due_queues',
      expression: `create index "bill_differences_due_queues" on "bill_differences" ("queue_key", "next_check_at") where next_check_at is not null`,
    },
    { name: 'bill_differences_order', properties: ['orderNo'] },
    { name: 'bill_differences_state', properties: ['state', 'day', 'id'] },
  ],
});

/**
 * A channel account that another installation of this service also uses. Bill lines with numbers of the other
 * installation are counted, but are not reported as differences.
 */
export const QuietAccountEntity = defineEntity({
  name: 'QuietAccount',
  tableName: 'quiet_accounts',
  properties: {
    payWay: p.string().length(16).$type<PayWay>().primary(),
    account: p.string().length(128).primary(),
    mode: p.string().length(16).$type<Mode>().primary(),
    since: instant(),
    by: p.string().length(128),
    reason: text(),
  },
});

/** The fee of a payment, or the fee returned with a refund, according to the bill. */
export const OrderFeeEntity = defineEntity({
  name: 'OrderFee',
  tableName: 'order_fees',
  properties: {
    orderNo: code().primary(),
    /** The refund number of this service; empty = the fee of the payment itself. */
    refundNo: code().primary(),
    fee: minor(),
    currency: p.string().length(3),
    billNo: code(),
  },
});

export type PayeeRow = RowOf<typeof PayeeEntity>;
export type BillRow = RowOf<typeof BillEntity>;
export type BillLineRow = RowOf<typeof BillLineEntity>;
export type BillDifferenceRow = RowOf<typeof BillDifferenceEntity>;
export type QuietAccountRow = RowOf<typeof QuietAccountEntity>;
export type OrderFeeRow = RowOf<typeof OrderFeeEntity>;
