import type { BillDifferenceRow, BillLineRow, BillRow, QuietAccountRow } from '../../db/entities/bills.ts';
import type { DifferenceCount } from '../../db/queries/bills.ts';
import { type DifferenceSide, NOT_OURS } from './bill-states.ts';

/** A bill as it appears on the wire; amounts in minor units. `quiet`: all accounts that are. */
export function viewBill(bill: BillRow, differences: readonly DifferenceCount[], quiet: readonly QuietAccountRow[]) {
  const own = quiet.find((one) => one.payWay === bill.payWay && one.account === bill.account && one.mode === bill.mode);
  const { billNo, payWay, account, mode, project, day, state, source, lines, mostLines, notOurs, sha256, checks } =
    bill;
  const { unreadable, shortfall } = bill;
  return {
    billNo,
    payWay,
    account,
    mode,
    project,
    day,
    state,
    source,
    lines,
    mostLines,
    unreadable,
    shortfall,
    notOurs,
    sha256,
    checks,
    bytes: bill.bytes === null ? null : Number(bill.bytes),
    totals:
      bill.totals?.map(({ currency, payments, paid, refunds, refunded, fees, net, balance }) => ({
        currency,
        payments,
        paidMinor: minor(paid),
        refunds,
        refundedMinor: minor(refunded),
        feesMinor: minor(fees),
        netMinor: minor(net),
        openingMinor: minor(balance?.opening ?? null),
        closingMinor: minor(balance?.closing ?? null),
      })) ?? null,
    sums:
      bill.sums?.map((sum) => ({
        project: sum.project,
        currency: sum.currency,
        payments: sum.payments,
        paidMinor: Number(sum.paid),
        refunds: sum.refunds,
        refundedMinor: Number(sum.refunded),
        discountsMinor: Number(sum.discounts),
        feesMinor: Number(sum.fees),
        sharesMinor: Number(sum.shares),
        disputedMinor: Number(sum.disputed),
        otherMinor: Number(sum.other),
        pendingRefunds: sum.pending,
      })) ?? null,
    fault:
      bill.fault === null
        ? null
        : { code: bill.fault, detail: bill.faultDetail ?? '', line: bill.faultLine, column: bill.faultColumn },
    nextCheckAt: iso(bill.nextCheckAt),
    createdAt: bill.createdAt.toISOString(),
    askedAt: iso(bill.askedAt),
    readAt: iso(bill.readAt),
    matchedAt: iso(bill.matchedAt),
    quiet: own ? { since: own.since.toISOString(), by: own.by, reason: own.reason } : null,
    differences: differences.map(({ kind, state: stands, count }) => ({ kind, state: stands, count })),
  };
}

/** A difference as it appears on the wire; `exceptionId`: where a person looks at it. */
export function viewDifference(row: BillDifferenceRow, exceptionId: string | null) {
  const { id, billNo, payWay, project, day, kind, orderNo, refundNo, state, checks } = row;
  return {
    id,
    billNo,
    payWay,
    project,
    day,
    kind,
    orderNo,
    refundNo,
    state,
    checks,
    exceptionId,
    ours: viewSide(row.ours),
    theirs: viewSide(row.theirs),
    nextCheckAt: iso(row.nextCheckAt),
    fix: state === 'listed' && exceptionId !== null ? `payctl exception resolve ${exceptionId}` : null,
    createdAt: row.createdAt.toISOString(),
    finishedAt: iso(row.finishedAt),
  };
}

/** A line of another system, in the form of a difference: it is counted, and nobody has to do anything. */
export function viewNotOurs({ billNo, payWay, project, day, readAt }: BillRow, line: BillLineRow) {
  return {
    id: null,
    billNo,
    payWay,
    project,
    day,
    kind: NOT_OURS as typeof NOT_OURS,
    refundNo: line.refundNo,
    orderNo: line.orderNo ?? line.channelTradeNo ?? '',
    state: 'counted' as const,
    checks: 0,
    exceptionId: null,
    ours: null,
    nextCheckAt: null,
    fix: null,
    theirs: viewSide({
      amount: String(line.amount),
      currency: line.currency,
      fee: String(line.fee),
      channelNo: line.channelRefundNo ?? line.channelTradeNo ?? undefined,
      at: line.at.toISOString(),
      line: line.line,
    }),
    createdAt: (readAt ?? line.at).toISOString(),
    finishedAt: null,
  };
}

function viewSide(side: DifferenceSide | null) {
  if (side === null) return null;
  const { amount, fee, at, ...rest } = side;
  return {
    ...rest,
    ...(amount === undefined ? {} : { amountMinor: Number(amount) }),
    ...(fee === undefined ? {} : { feeMinor: Number(fee) }),
    ...(at === undefined ? {} : { at: new Date(at).toISOString() }),
  };
}

function minor(text: string | null): number | null {
  return text === null ? null : Number(text);
}

function iso(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}

/** What a bill is on the wire. */
export type BillView = ReturnType<typeof viewBill>;
/** What a difference is on the wire. */
export type DifferenceView = ReturnType<typeof viewDifference> | ReturnType<typeof viewNotOurs>;
