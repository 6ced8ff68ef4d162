import type { BillDifferenceRow, BillLineRow, BillRow } from '../entities/bills.ts';
import type { ReadTx } from '../store.ts';
import { arrayText } from '../table.ts';
import { IS_CALLED, OF_NO_OTHER, OF_PAYEE, SAME_ACCOUNT } from './payees.ts';
import { ofProjects, type Projects } from './reach.ts';

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
