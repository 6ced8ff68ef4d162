import { Readable } from 'node:stream';
import { csvLine } from '../../csv.ts';
import type { BillDifferenceRow, BillLineRow, BillRow, QuietAccountRow } from '../../db/entities/bills.ts';
import {
  type BillFilter,
  type DifferenceCount,
  countDifferences,
  linesAfter,
  linesNotOurs,
  listBills,
  listDifferences,
} from '../../db/queries/bills.ts';
import { quietAccounts } from '../../db/queries/payees.ts';
import type { Position } from '../../db/queries/lists.ts';
import type { ReadTx } from '../../db/store.ts';
import { type BillLineKind, type DifferenceSide, NOT_OURS, UUID } from '../../domain.ts';
import { InvalidRequest, NotFound } from '../../errors.ts';
import type { EXPORT_FORMATS } from '../export.ts';
import { addAuditEntry } from '../side-effects.ts';
import type { Requester, Ports } from '../ports.ts';
import type { PageOf } from '../view.ts';
import { createQuietAccounts } from './differences.ts';
import type { BillPorts } from './payees.ts';
import { settlement } from './settlement.ts';
import { billRepairs } from './store.ts';

/** Amounts are in minor units. `quiet`: all accounts whose bill lines with unknown order numbers are not reported. */
function viewBill(bill: BillRow, differences: readonly DifferenceCount[], quiet: readonly QuietAccountRow[]) {
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

/** `exceptionId`: the id of the open exception (a case for an operator) about the difference. */
function viewDifference(row: BillDifferenceRow, exceptionId: string | null) {
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

/** A bill line of another system, in the form of a difference. Such a line is only counted and needs no action. */
function viewNotOurs({ billNo, payWay, project, day, readAt }: BillRow, line: BillLineRow) {
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

type BillView = ReturnType<typeof viewBill>;
type DifferenceView = ReturnType<typeof viewDifference> | ReturnType<typeof viewNotOurs>;

const LINE = /^\d{1,9}$/;

function wrongCursor(): InvalidRequest {
  const detail = 'The cursor was not returned by this list.';
  return new InvalidRequest('The request is not valid.', [{ pointer: '/query/cursor', code: 'invalid', detail }]);
}

function readBills({ store, reports }: Pick<Ports, 'store' | 'reports'>) {
  return { bill, bills, differences };

  async function bill(billNo: string): Promise<BillView> {
    return store.read(async (tx) =>
      viewBill(await findBill(tx, billNo), await countDifferences(tx, [billNo]), await quietAccounts(tx)),
    );
  }

  async function bills(filter: BillFilter, after: Position | undefined, limit: number): Promise<PageOf<BillView>> {
    return reports.read(async (tx) => {
      const last = after && { day: after.createdAt.toISOString().slice(0, 10), billNo: after.id };
      const rows = await listBills(tx, filter, last, limit);
      const page = rows.slice(0, limit);
      const counts = await countDifferences(
        tx,
        page.map(({ billNo }) => billNo),
      );
      const quiet = await quietAccounts(tx);
      const items = page.map((row) =>
        viewBill(
          row,
          counts.filter(({ billNo }) => billNo === row.billNo),
          quiet,
        ),
      );
      const end = rows.length > limit ? page.at(-1) : undefined;
      return { items, next: end ? { createdAt: new Date(`${end.day}T00:00:00Z`), id: end.billNo } : null };
    });
  }

  /** The lines of other systems are included only if the filter requests them. */
  async function differences(
    billNo: string,
    filter: { kind?: string | undefined; state?: string | undefined },
    after: Position | undefined,
    limit: number,
  ): Promise<PageOf<DifferenceView>> {
    return reports.read(async (tx) => {
      const of = await findBill(tx, billNo);
      const isOfOthers = filter.kind === NOT_OURS;
      if (after && !(isOfOthers ? LINE : UUID).test(after.id)) throw wrongCursor();
      if (isOfOthers) {
        const lines = await linesNotOurs(tx, of, Number(after?.id ?? 0), limit + 1);
        const page = lines.slice(0, limit);
        const end = lines.length > limit ? page.at(-1) : undefined;
        const next = end ? { createdAt: of.createdAt, id: String(end.line) } : null;
        return { items: page.map((line) => viewNotOurs(of, line)), next };
      }
      const rows = await listDifferences(tx, billNo, filter, after, limit);
      const page = rows.slice(0, limit);
      const orderNo = page.filter(({ state }) => state === 'listed').map((row) => row.orderNo);
      const open = orderNo.length === 0 ? [] : await tx.exceptions.list({ orderNo, state: 'open' });
      const idOf = (row: (typeof page)[number]) =>
        open.find((one) => one.orderNo === row.orderNo && one.kind === row.kind && one.dedupe === row.key)?.id ?? null;
      const end = rows.length > limit ? page.at(-1) : undefined;
      return {
        items: page.map((row) => viewDifference(row, idOf(row))),
        next: end ? { createdAt: end.createdAt, id: end.id } : null,
      };
    });
  }
}

async function findBill(tx: ReadTx, billNo: string) {
  const found = await tx.bills.find({ billNo });
  if (!found) throw new NotFound('bill');
  return found;
}

const COLUMNS = [
  'line',
  'kind',
  'event',
  'orderNo',
  'refundNo',
  'channelTradeNo',
  'channelRefundNo',
  'currency',
  'amountMinor',
  'discountMinor',
  'feeMinor',
  'shareMinor',
  'at',
  'raw',
] as const;

const BATCH = 500;

/**
 * Streams the valid lines of a bill, in their sequence in the bill, with only one batch in memory. In CSV, text that a
 * spreadsheet would take for a formula is escaped. The audit log records the export before the first line is sent.
 */
function exportLines({ store, reports, audit }: Pick<Ports, 'store' | 'reports' | 'audit'>) {
  return async (
    requester: Pick<Requester, 'person'>,
    billNo: string,
    { kind, format }: { kind?: BillLineKind | undefined; format: (typeof EXPORT_FORMATS)[number] },
  ): Promise<Readable> => {
    const bill = await store.read((tx) => findBill(tx, billNo));
    await store.transaction((tx) =>
      addAuditEntry({ audit }, tx, requester, { action: 'bill.export', target: billNo, after: { format, kind } }),
    );
    const batch = (line: number) => reports.read((tx) => linesAfter(tx, bill, { kind, line }, BATCH));
    // The first batch is read before the response starts, because the response header `Replica-Lag` states how old the
    // data of the database replica is.
    const first = await batch(0);
    return Readable.from(parts(), { objectMode: false, highWaterMark: 64 * 1024 });

    async function* parts(): AsyncGenerator<Buffer> {
      if (format === 'csv') yield Buffer.from(csvLine(COLUMNS));
      for (let rows = first; ; rows = await batch(rows.at(-1)!.line)) {
        if (rows.length > 0) yield Buffer.from(rows.map(format === 'csv' ? toCsv : toJson).join(''));
        if (rows.length < BATCH) return;
      }
    }
  };
}

function view({ amount, discount, fee, share, at, ...line }: BillLineRow) {
  const money = { amountMinor: Number(amount), discountMinor: Number(discount) };
  return { ...line, ...money, feeMinor: Number(fee), shareMinor: Number(share), at: at.toISOString() };
}

function toJson(row: BillLineRow): string {
  const shown = view(row);
  return `${JSON.stringify(Object.fromEntries(COLUMNS.map((column) => [column, shown[column]])))}\n`;
}

function toCsv(row: BillLineRow): string {
  const shown = view(row);
  return csvLine(COLUMNS.map((column) => shown[column]));
}

export type BillOperations = ReturnType<typeof billOperations>;

/** Runs the import of a bill file without the usual time limit of a request, because a large file takes longer. */
interface LongWork {
  patiently<T>(work: () => Promise<T>): Promise<T>;
}

/** The operations on bills; each change returns the changed bill. */
export function billOperations(ports: BillPorts & LongWork) {
  const { requestBill, importBill, rerunBill } = billRepairs(ports);
  const { quietAccount, unquietAccount } = createQuietAccounts(ports);
  const reading = readBills(ports);
  const shown =
    <Args extends readonly unknown[]>(act: (...args: Args) => Promise<BillRow>) =>
    async (...args: Args): Promise<BillView> =>
      reading.bill((await act(...args)).billNo);
  return {
    ...reading,
    requestBill: shown(requestBill),
    importBill: (...given: Parameters<typeof importBill>) => ports.patiently(() => shown(importBill)(...given)),
    rerunBill: shown(rerunBill),
    quietAccount: shown(quietAccount),
    unquietAccount: shown(unquietAccount),
    exportLines: exportLines(ports),
    settlement: settlement(ports),
  };
}
