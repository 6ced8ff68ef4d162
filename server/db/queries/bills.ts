import type { PendingRefunds } from '../../domain.ts';
import type { BillDifferenceRow, BillLineRow, BillRow } from '../entities/bills.ts';
import type { ReadTx } from '../store.ts';
import { arrayText } from '../table.ts';
import { REFUND_OF_LINE } from './bill-matching.ts';
import type { Position } from './orders.ts';
import { IS_CALLED, OF_NO_OTHER, OF_PAYEE, SAME_ACCOUNT, UNKNOWN_HERE, isQuiet } from './payees.ts';
import { type Projects, ofProjects } from './reach.ts';

/**
 * Whether a day's bill may still get a payment of ours: its account holds the money of an order that was taken on that day, as far as the
 * order's life tells, or a paid order is missing in it.
 */
export async function isIncomplete(
  tx: ReadTx,
  billNo: string,
  { from, to }: { from: Date; to: Date },
): Promise<boolean> {
  const [row] = await tx.prepared<{ is_incomplete: boolean }>(
    `select exists (select 1 from bill_differences where bill_no = $1 and kind = 'paid_missing_at_channel' and state in ('open', 'listed'))
         or exists (select 1 from orders o join bills b on b.bill_no = $1
              where ${OF_PAYEE} and o.capture_state = 'pending' and o.paid = 0
                and o.created_at < cast($3 as timestamptz) and o.expires_at >= cast($2 as timestamptz) - interval '1 hour') as is_incomplete`,
    [billNo, from, to],
  );
  return row?.is_incomplete === true;
}

/** Filters of the list of bills. */
export interface BillFilter {
  payWay?: string | undefined;
  account?: string | undefined;
  mode?: string | undefined;
  /** Of several (or of a list of one) only the bills of accounts that no other project has. */
  project?: Projects | undefined;
  state?: string | undefined;
  /** Days, both included. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Bills that match, the newest day first, one more than asked; `after` is the last one of the page before. */
export async function listBills(
  tx: ReadTx,
  { from, to, project, account, ...equal }: BillFilter,
  after: { day: string; billNo: string } | undefined,
  limit: number,
): Promise<BillRow[]> {
  const parts = ['true'];
  const values: unknown[] = [];
  const add = (part: string, ...more: unknown[]) => {
    parts.push(part);
    values.push(...more);
  };
  for (const [member, column] of BILL_COLUMNS) if (equal[member] !== undefined) add(`b.${column} = ?`, equal[member]);
  if (account !== undefined) add(IS_CALLED, account, account);
  if (project !== undefined) add(...ofProjects('b.project', project));
  if (project !== undefined && typeof project !== 'string') add(OF_NO_OTHER, arrayText(project));
  if (from !== undefined) add('b.day >= cast(? as date)', from);
  if (to !== undefined) add('b.day <= cast(? as date)', to);
  if (after) add('(b.day, b.bill_no) < (cast(? as date), ?)', after.day, after.billNo);
  const found = await tx.sql<{ bill_no: string }>(
    `select b.bill_no from bills b where ${parts.join(' and ')} order by b.day desc, b.bill_no desc limit ${limit + 1}`,
    values,
  );
  if (found.length === 0) return [];
  const rows = await tx.bills.list({ billNo: found.map(({ bill_no: billNo }) => billNo) });
  const byNumber = new Map(rows.map((row) => [row.billNo, row]));
  return found.flatMap(({ bill_no: billNo }) => byNumber.get(billNo) ?? []);
}

const BILL_COLUMNS = [
  ['payWay', 'pay_way'],
  ['mode', 'mode'],
  ['state', 'state'],
] as const;

/** A line that counts, and the day of its bill. */
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

/** Most lines of an order that are shown. */
const MOST_LINES = 50;

/** What the bills say about an order, in the order of their days. */
export async function linesOfOrder(tx: ReadTx, orderNo: string): Promise<BilledLine[]> {
  const counting = await tx.sql<{ bill_no: string; reading: number; line: number; day: string }>(
    `select l.bill_no, l.reading, l.line, l.day::text as day from bill_lines l
       join bills b on b.bill_no = l.bill_no and b.reading = l.reading
       join orders o on o.order_no = l.order_no and ${OF_PAYEE}
      where l.order_no = ? order by l.day, l.line limit ${MOST_LINES}`,
    [orderNo],
  );
  if (counting.length === 0) return [];
  const billNos = [...new Set(counting.map((one) => one.bill_no))];
  const found = await tx.billLines.list({ orderNo, billNo: billNos }, { orderBy: { day: 'asc', line: 'asc' } });
  const isCounting = new Set(counting.map((one) => `${one.bill_no} ${one.reading} ${one.line}`));
  return found.filter(({ billNo, reading, line }) => isCounting.has(`${billNo} ${reading} ${line}`));
}

/** Differences of a bill by kind and state. */
export interface DifferenceCount {
  kind: BillDifferenceRow['kind'];
  state: BillDifferenceRow['state'];
  count: number;
}

/** How many differences bills have of each kind and state. */
export async function countDifferences(
  tx: ReadTx,
  billNos: readonly string[],
): Promise<(DifferenceCount & { billNo: string })[]> {
  if (billNos.length === 0) return [];
  const rows = await tx.sql<Omit<DifferenceCount, 'count'> & { bill_no: string; n: string }>(
    `select bill_no, kind, state, count(*) as n from bill_differences where bill_no in (${billNos.map(() => '?').join(', ')})
      group by bill_no, kind, state order by bill_no, kind, state`,
    [...billNos],
  );
  return rows.map(({ bill_no: billNo, kind, state, n }) => ({ billNo, kind, state, count: Number(n) }));
}

/** How bills stand, for whoever watches them. */
export interface BillFigures {
  /** Differences that are not ended, by kind. */
  differences: { kind: string; count: number }[];
  /** Of each account that is asked for bills: the newest day that was compared; before the first one the day before the first that is asked for. */
  newest: { payWay: string; account: string; day: string }[];
}

/** Reads the figures of the accounts that have bills of the last days, so that one that is configured no more is not watched for ever; `simulated`: those at the simulator, too. */
export async function billFigures(tx: ReadTx, since: string, simulated: boolean): Promise<BillFigures> {
  const [row] = await tx.prepared<{ [Name in keyof BillFigures]: BillFigures[Name] | null }>(
    `select (select json_agg(json_build_object('kind', kind, 'count', n)) from (
               select kind, count(*) as n from bill_differences where state in ('open', 'listed') group by kind) d) as differences,
            (select json_agg(json_build_object('payWay', pay_way, 'account', account, 'day', day) order by pay_way, account) from (
               select pay_way, account, coalesce(max(day) filter (where matched_at is not null), min(day) - 1)::text as day
                 from bills where (mode <> 'simulator' or cast($1 as boolean)) and fault is distinct from '${SAME_ACCOUNT}'
                group by pay_way, account having max(day) >= cast($2 as date)) b) as newest`,
    [simulated, since],
  );
  return { differences: row?.differences ?? [], newest: row?.newest ?? [] };
}

/** Which differences of a bill. */
interface DifferenceFilter {
  kind?: string | undefined;
  state?: string | undefined;
}

/** The differences of a bill, the newest first, one more than asked. */
export async function listDifferences(
  tx: ReadTx,
  billNo: string,
  { kind, state }: DifferenceFilter,
  after: Position | undefined,
  limit: number,
): Promise<BillDifferenceRow[]> {
  const parts = ['bill_no = ?'];
  const values: unknown[] = [billNo];
  const add = (part: string, ...more: unknown[]) => {
    parts.push(part);
    values.push(...more);
  };
  if (kind !== undefined) add('kind = ?', kind);
  if (state !== undefined) add('state = ?', state);
  if (after) add('(created_at, id) < (?, cast(? as uuid))', after.createdAt, after.id);
  const found = await tx.sql<{ id: string }>(
    `select id from bill_differences where ${parts.join(' and ')} order by created_at desc, id desc limit ${limit + 1}`,
    values,
  );
  if (found.length === 0) return [];
  const rows = await tx.billDifferences.list({ id: found.map(({ id }) => id) });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return found.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Which bill's lines: those of the reading that counts. */
type CountingBill = Pick<BillRow, 'billNo' | 'reading' | 'day' | 'payWay' | 'account' | 'mode'>;

/** Lines of a bill behind a line, in their order. */
export function linesAfter(
  tx: ReadTx,
  { billNo, reading, day }: CountingBill,
  { kind, line }: { kind?: string | undefined; line: number },
  limit: number,
): Promise<BillLineRow[]> {
  return readLines(tx, { billNo, reading, day, line, limit, more: kind === undefined ? '' : 'and l.kind = ?' }, kind);
}

/** Payments and refunds of other systems behind a line of a bill. */
export function linesNotOurs(tx: ReadTx, bill: CountingBill, line: number, limit: number): Promise<BillLineRow[]> {
  const { billNo, reading, day } = bill;
  const more = `and l.kind in ('payment', 'refund', 'pending') and not exists (
    select 1 from orders o join bills b on b.bill_no = l.bill_no where o.order_no = l.order_no and ${OF_PAYEE})
    and not exists (
    select 1 from bill_differences d join bills b on b.bill_no = d.bill_no
     where d.bill_no = l.bill_no and d.kind = '${UNKNOWN_HERE}' and d.order_no in (l.order_no, l.refund_no) and d.state <> 'healed'
       and not ${isQuiet('b.pay_way', 'b.account', 'b.mode')})`;
  return readLines(tx, { billNo, reading, day, line, limit, more });
}

async function readLines(
  tx: ReadTx,
  of: Pick<CountingBill, 'billNo' | 'reading' | 'day'> & { line: number; limit: number; more: string },
  ...values: (string | undefined)[]
): Promise<BillLineRow[]> {
  const { billNo, reading, day, line, limit, more } = of;
  const bound = values.filter((value) => value !== undefined);
  const found = await tx.sql<{ line: number }>(
    `select l.line from bill_lines l
      where l.bill_no = ? and l.reading = ? and l.day = cast(? as date) and l.line > ? ${more} order by l.line limit ${limit}`,
    [billNo, reading, day, line, ...bound],
  );
  if (found.length === 0) return [];
  const lines = found.map((row) => Number(row.line));
  return tx.billLines.list({ billNo, reading, day, line: lines }, { orderBy: { line: 'asc' } });
}

/** Which bills a settlement is made of. */
export interface SettlementFilter {
  /** Days, both included, as each channel counts them. */
  from: string;
  to: string;
  mode: BillRow['mode'];
  payWay?: string | undefined;
  account?: string | undefined;
}

/** The bills of some days, in the order of days. */
export async function billsBetween(
  tx: ReadTx,
  { from, to, mode, payWay, account }: SettlementFilter,
): Promise<BillRow[]> {
  const rows = await tx.sql<{ bill_no: string }>(
    `select b.bill_no from bills b where b.day >= cast(? as date) and b.day <= cast(? as date) and b.mode = ?
        and b.pay_way = coalesce(?, b.pay_way)${account === undefined ? '' : ` and ${IS_CALLED}`}`,
    [from, to, mode, payWay ?? null, ...(account === undefined ? [] : [account, account])],
  );
  if (rows.length === 0) return [];
  return tx.bills.list(
    { billNo: rows.map(({ bill_no: billNo }) => billNo) },
    { orderBy: { day: 'asc', payWay: 'asc', account: 'asc', billNo: 'asc' } },
  );
}

/**
 * The refunds that these bills say are under way, by their end in our books: the lines never change, so each settlement asks. Of bills whose
 * lines were removed it is kept how they ended.
 */
export async function pendingRefunds(
  tx: ReadTx,
  bills: readonly Pick<BillRow, 'billNo' | 'pendingRefunds'>[],
): Promise<PendingRefunds[]> {
  const kept = bills.flatMap((bill) => bill.pendingRefunds ?? []);
  const asked = bills.filter((bill) => bill.pendingRefunds === null);
  if (asked.length === 0) return kept;
  const found = await tx.sql<PendingRefunds>(
    `select b.bill_no as "billNo", o.project, l.currency,
            case when r.state in ('succeeded', 'failed') then r.state else 'open' end as "end",
            count(*)::int as refunds, sum(l.amount)::text as refunded, sum(l.discount)::text as discounts,
            sum(l.fee)::text as fees, sum(l.share)::text as shares
       from bills b
       join bill_lines l on l.bill_no = b.bill_no and l.reading = b.reading and l.day = b.day and l.kind = 'pending'
       left join orders o on o.order_no = l.order_no and ${OF_PAYEE}
       ${REFUND_OF_LINE}
      where b.bill_no = any(cast(? as text[]))
      group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [arrayText(asked.map(({ billNo }) => billNo))],
  );
  return [...kept, ...found];
}

/** A payee, since when it is configured, and the projects that take money for it. */
interface BilledAccount extends Pick<BillRow, 'payWay' | 'account' | 'mode'> {
  since: Date;
  projects: string[];
}

/** The accounts that give bills: payees that the channel answered for, and claims that are configured or have bills. */
export async function billedAccounts(
  tx: ReadTx,
  { mode, payWay, account }: Pick<SettlementFilter, 'mode' | 'payWay' | 'account'>,
): Promise<BilledAccount[]> {
  const rows = await tx.sql<Omit<BilledAccount, 'payWay' | 'since'> & { pay_way: BillRow['payWay']; since: string }>(
    `select * from (
     select p.pay_way, p.payee as account, p.mode, min(c.created_at)::text as since, array_agg(distinct p.project) as projects
       from payees p
       join channel_configs c on c.project = p.project and c.pay_way = p.pay_way and c.version = p.version
      where p.mode = ? and p.pay_way = coalesce(?, p.pay_way)
        and (p.proven_at is not null
             or exists (select 1 from channel_states s where s.project = p.project and s.pay_way = p.pay_way and s.version = p.version)
             or exists (select 1 from bills b where b.pay_way = p.pay_way and b.account = p.payee and b.mode = p.mode))
      group by p.pay_way, p.payee, p.mode) b
      where ${account === undefined ? 'true' : IS_CALLED} order by pay_way, account, mode`,
    [mode, payWay ?? null, ...(account === undefined ? [] : [account, account])],
  );
  return rows.map(({ pay_way, since, ...row }) => ({ ...row, payWay: pay_way, since: new Date(since) }));
}
