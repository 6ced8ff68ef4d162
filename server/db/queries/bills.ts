import { type RawBuilder, sql } from 'kysely';
import type { PendingRefunds } from '../../domain.ts';
import type { BillDifferenceRow, BillLineRow, BillRow } from '../entities/bills.ts';
import type { ReadTx } from '../store.ts';
import { REFUND_OF_LINE } from './bill-matching.ts';
import { allOf, equalities, newestFirst, type Position } from './lists.ts';
import { OF_PAYEE, SAME_ACCOUNT, UNKNOWN_HERE, isCalled, isQuiet, ofNoOther } from './payees.ts';
import { type Projects, ofProjects } from './project-scope.ts';

/** Whether a day's bill lacks a paid order, or may lack a payment whose capture is not finished yet. */
export async function isIncomplete(
  tx: ReadTx,
  billNo: string,
  { from, to }: { from: Date; to: Date },
): Promise<boolean> {
  const [row] = await tx.sql<{ isIncomplete: boolean }>`
    select exists (select 1 from bill_differences where bill_no = ${billNo} and kind = 'paid_missing_at_channel' and state in ('open', 'listed'))
         or exists (select 1 from orders o join bills b on b.bill_no = ${billNo}
              where ${OF_PAYEE} and o.capture_state = 'pending' and o.paid = 0
                and o.created_at < ${to}::timestamptz and o.expires_at >= ${from}::timestamptz - interval '1 hour') as is_incomplete`;
  return row?.isIncomplete === true;
}

export interface BillFilter {
  payWay?: string | undefined;
  account?: string | undefined;
  mode?: string | undefined;
  /** A list of projects selects only bills of accounts that no other project uses. */
  project?: Projects | undefined;
  state?: string | undefined;
  /** The first and the last bill day of the list, both included. */
  from?: string | undefined;
  to?: string | undefined;
}

/** The bills that match the filter, newest day first, at most `limit` + 1 rows. */
export function listBills(
  tx: ReadTx,
  { from, to, project, account, ...equal }: BillFilter,
  after: { day: string; billNo: string } | undefined,
  limit: number,
): Promise<BillRow[]> {
  const parts = equalities('b', equal, ['payWay', 'mode', 'state']);
  if (account !== undefined) parts.push(isCalled(account));
  if (project !== undefined) parts.push(ofProjects('b.project', project));
  if (project !== undefined && typeof project !== 'string') parts.push(ofNoOther(project));
  if (from !== undefined) parts.push(sql`b.day >= ${from}::date`);
  if (to !== undefined) parts.push(sql`b.day <= ${to}::date`);
  if (after) parts.push(sql`(b.day, b.bill_no) < (${after.day}::date, ${after.billNo})`);
  const list = sql`select b.bill_no from bills b where ${allOf(parts)} order by b.day desc, b.bill_no desc limit ${limit + 1}`;
  return tx.bills
    .rows()
    .where(sql<boolean>`bill_no in (${list})`)
    .orderBy('day', 'desc')
    .orderBy('billNo', 'desc')
    .execute();
}

/**
 * A bill line with the day of its bill. A bill file may be read more than once; only the lines of the valid reading
 * count.
 */
export type BilledLine = Pick<
  BillLineRow,
  | 'billNo'
  | 'line'
  | 'kind'
  | 'event'
  | 'refundNo'
  | 'channelTradeNo'
  | 'channelRefundNo'
  | 'currency'
  | 'amount'
  | 'fee'
> & { day: string };

const MOST_LINES = 50;

/** The bill lines of an order, sorted by day. */
export async function linesOfOrder(tx: ReadTx, orderNo: string): Promise<BilledLine[]> {
  const lines = tx.billLines
    .rows()
    .innerJoin('bills as b', (join) =>
      join.onRef('b.billNo', '=', 'bill_lines.billNo').onRef('b.reading', '=', 'bill_lines.reading'),
    );
  const ofPayee = lines.innerJoin('orders as o', (join) =>
    join.onRef('o.orderNo', '=', 'bill_lines.orderNo').on(OF_PAYEE),
  );
  const ofThis = ofPayee.where('bill_lines.orderNo', '=', orderNo).orderBy('bill_lines.day').orderBy('bill_lines.line');
  return ofThis.limit(MOST_LINES).execute();
}

export interface DifferenceCount {
  kind: BillDifferenceRow['kind'];
  state: BillDifferenceRow['state'];
  count: number;
}

/** Counts the differences of bills by kind and state. */
export async function countDifferences(
  tx: ReadTx,
  billNos: readonly string[],
): Promise<(DifferenceCount & { billNo: string })[]> {
  if (billNos.length === 0) return [];
  return tx.sql`
    select bill_no, kind, state, count(*)::int as count from bill_differences where bill_no = any(${billNos}::text[])
     group by bill_no, kind, state order by bill_no, kind, state`;
}

export interface BillFigures {
  /** The number of unresolved differences between bills and orders, for each kind of difference. */
  differences: { kind: string; count: number }[];
  /**
   * For each account, the newest day whose bill was compared with the orders. If no bill was compared yet, it is the
   * day before the account's first bill.
   */
  newest: { payWay: string; account: string; day: string }[];
}

/**
 * Reads the figures for the metrics about bills. Accounts whose newest bill is older than the day `since` are left out
 * of `newest`, because they may no longer be in use.
 */
export async function billFigures(tx: ReadTx, since: string, simulated: boolean): Promise<BillFigures> {
  const [row] = await tx.sql<{ [Name in keyof BillFigures]: BillFigures[Name] | null }>`
     select (select json_agg(json_build_object('kind', kind, 'count', n)) from (
               select kind, count(*) as n from bill_differences where state in ('open', 'listed') group by kind) d) as differences,
            (select json_agg(json_build_object('payWay', pay_way, 'account', account, 'day', day) order by pay_way, account) from (
               select pay_way, account, coalesce(max(day) filter (where matched_at is not null), min(day) - 1)::text as day
                 from bills where (mode <> 'simulator' or ${simulated}::boolean) and fault is distinct from ${SAME_ACCOUNT}
                group by pay_way, account having max(day) >= ${since}::date) b) as newest`;
  return { differences: row?.differences ?? [], newest: row?.newest ?? [] };
}

interface DifferenceFilter {
  kind?: string | undefined;
  state?: string | undefined;
}

/** The differences of a bill, newest first, at most `limit` + 1 rows. */
export function listDifferences(
  tx: ReadTx,
  billNo: string,
  filter: DifferenceFilter,
  after: Position | undefined,
  limit: number,
): Promise<BillDifferenceRow[]> {
  const parts = equalities('bill_differences', { ...filter, billNo }, ['billNo', 'kind', 'state']);
  return newestFirst(tx.billDifferences, sql`id`, parts, after, limit + 1).execute();
}

/**
 * The columns of a bill row by which its valid lines are selected. A bill file may be read several times; `reading`
 * is the number of the valid reading.
 */
type CountingBill = Pick<BillRow, 'billNo' | 'reading' | 'day' | 'payWay' | 'account' | 'mode'>;

/** The lines of a bill after the line number `line`, sorted by line number. */
export function linesAfter(
  tx: ReadTx,
  { billNo, reading, day }: CountingBill,
  { kind, line }: { kind?: string | undefined; line: number },
  limit: number,
): Promise<BillLineRow[]> {
  const more = kind === undefined ? sql<boolean>`true` : sql<boolean>`kind = ${kind}`;
  return readLines(tx, { billNo, reading, day, line, limit, more });
}

/** The payment and refund lines after the line number `line` whose orders were made by another system. */
export function linesNotOurs(tx: ReadTx, bill: CountingBill, line: number, limit: number): Promise<BillLineRow[]> {
  const { billNo, reading, day } = bill;
  const more = sql<boolean>`bill_lines.kind in ('payment', 'refund', 'pending') and not exists (
    select 1 from orders o join bills b on b.bill_no = bill_lines.bill_no where o.order_no = bill_lines.order_no and ${OF_PAYEE})
    and not exists (
    select 1 from bill_differences d join bills b on b.bill_no = d.bill_no
     where d.bill_no = bill_lines.bill_no and d.kind = ${UNKNOWN_HERE} and d.order_no in (bill_lines.order_no, bill_lines.refund_no)
       and d.state <> 'healed' and not ${isQuiet(sql`b.pay_way`, sql`b.account`, sql`b.mode`)})`;
  return readLines(tx, { billNo, reading, day, line, limit, more });
}

function readLines(
  tx: ReadTx,
  of: Pick<CountingBill, 'billNo' | 'reading' | 'day'> & { line: number; limit: number; more: RawBuilder<boolean> },
): Promise<BillLineRow[]> {
  const { billNo, reading, day, line, limit, more } = of;
  const lines = tx.billLines.rows().where('billNo', '=', billNo).where('reading', '=', reading).where('day', '=', day);
  return lines.where('line', '>', line).where(more).orderBy('line').limit(limit).execute();
}

export interface SettlementFilter {
  /** The first and the last bill day of the report, both included, in the time zone of the bill's channel. */
  from: string;
  to: string;
  mode: BillRow['mode'];
  payWay?: string | undefined;
  account?: string | undefined;
}

/** The bills that match the filter, sorted by day. */
export async function billsBetween(
  tx: ReadTx,
  { from, to, mode, payWay, account }: SettlementFilter,
): Promise<BillRow[]> {
  const parts = [
    sql`b.day >= ${from}::date`,
    sql`b.day <= ${to}::date`,
    ...equalities('b', { mode, payWay }, ['mode', 'payWay']),
  ];
  if (account !== undefined) parts.push(isCalled(account));
  return tx.bills
    .rows()
    .where(sql<boolean>`bill_no in (select b.bill_no from bills b where ${allOf(parts)})`)
    .orderBy('day')
    .orderBy('payWay')
    .orderBy('account')
    .orderBy('billNo')
    .execute();
}

/**
 * Returns the number and sums of the refunds that were still in progress when the channel made these bills, grouped by
 * their current result in this service. If the lines of a bill were removed, the values stored in the bill row are
 * returned.
 */
export async function pendingRefunds(
  tx: ReadTx,
  bills: readonly Pick<BillRow, 'billNo' | 'pendingRefunds'>[],
): Promise<PendingRefunds[]> {
  const kept = bills.flatMap((bill) => bill.pendingRefunds ?? []);
  const unresolved = bills.filter((bill) => bill.pendingRefunds === null);
  if (unresolved.length === 0) return kept;
  const found = await tx.sql<PendingRefunds>`
     select b.bill_no, o.project, l.currency,
            case when r.state in ('succeeded', 'failed') then r.state else 'open' end as "end",
            count(*)::int as refunds, sum(l.amount)::text as refunded, sum(l.discount)::text as discounts,
            sum(l.fee)::text as fees, sum(l.share)::text as shares
       from bills b
       join bill_lines l on l.bill_no = b.bill_no and l.reading = b.reading and l.day = b.day and l.kind = 'pending'
       left join orders o on o.order_no = l.order_no and ${OF_PAYEE}
       ${REFUND_OF_LINE}
      where b.bill_no = any(${unresolved.map(({ billNo }) => billNo)}::text[])
      group by 1, 2, 3, 4 order by 1, 2, 3, 4`;
  return [...kept, ...found];
}

/** `since` is the time of the account's first channel configuration. */
interface BilledAccount extends Pick<BillRow, 'payWay' | 'account' | 'mode'> {
  since: Date;
  projects: string[];
}

/**
 * The accounts for which bills exist or are fetched. An account is included if the channel has confirmed it as the
 * payee. An unconfirmed account is included only if a current configuration names it, or if it has a bill.
 */
export async function billedAccounts(
  tx: ReadTx,
  { mode, payWay, account }: Pick<SettlementFilter, 'mode' | 'payWay' | 'account'>,
): Promise<BilledAccount[]> {
  const isOfChannel = payWay === undefined ? sql`true` : sql`p.pay_way = ${payWay}`;
  return tx.sql`
    select * from (
     select p.pay_way, p.payee as account, p.mode, min(c.created_at) as since, array_agg(distinct p.project) as projects
       from payees p
       join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
      where p.mode = ${mode} and ${isOfChannel}
        and (p.proven_at is not null
             or exists (select 1 from channel_states s where s.project = p.project and s.pay_way = p.pay_way and s.version = p.version)
             or exists (select 1 from bills b where b.pay_way = p.pay_way and b.account = p.payee and b.mode = p.mode))
      group by p.pay_way, p.payee, p.mode) b
     where ${account === undefined ? sql`true` : isCalled(account)} order by pay_way, account, mode`;
}
