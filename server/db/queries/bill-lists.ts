import type { BillDifferenceRow, BillLineRow, BillRow } from '../entities/bills.ts';
import type { PendingRefunds } from '../../domain.ts';
import type { ReadTx } from '../store.ts';
import { arrayText } from '../table.ts';
import { REFUND_OF_LINE } from './bill-matching.ts';
import { isQuiet, UNKNOWN_HERE } from './bill-strangers.ts';
import type { Position } from './orders.ts';
import { IS_CALLED, OF_PAYEE } from './payees.ts';

/** Which differences of a bill. */
export interface DifferenceFilter {
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
export type CountingBill = Pick<BillRow, 'billNo' | 'reading' | 'day' | 'payWay' | 'account' | 'mode'>;

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
export interface BilledAccount extends Pick<BillRow, 'payWay' | 'account' | 'mode'> {
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
