import { sql } from 'kysely';
import type { BillLine } from '../../domain.ts';
import { BUSY } from '../../errors.ts';
import type { Sql } from '../kysely.ts';
import type { Store } from '../store.ts';
import { pendingRefunds } from './bills.ts';
import { OF_PAYEE } from './payees.ts';
import { PART_ROWS, type PartDone, type Removal, inParts } from './retention.ts';

export interface Reading {
  billNo: string;
  reading: number;
  /** `yyyy-MM-dd` */
  day: string;
}

/** Lines per insert statement, so that the SQL text stays small. */
const PART_LINES = 500;

/**
 * Builds the statements that insert consecutive lines of a bill. They are built before the database is used, because
 * building them takes long. The inserts commit with `synchronous_commit = off`, which halves the time for a large bill.
 * A crash may lose such commits, but the lines are used only after a later synchronous commit.
 */
export function statementsOf(of: Reading, lines: readonly BillLine[]): Sql[] {
  const statements: Sql[] = [];
  for (let from = 0; from < lines.length; from += PART_LINES) {
    const part = lines.slice(from, from + PART_LINES);
    const texts = (cell: (line: BillLine) => string | null) => sql`${part.map(cell)}::text[]`;
    const amounts = (cell: (line: BillLine) => bigint) => sql`${part.map(cell)}::bigint[]`;
    const columns = [
      texts(({ kind }) => kind),
      texts(({ event }) => kept(event, 64)),
      texts(({ orderNo }) => kept(orderNo, 128)),
      texts(({ refundNo }) => kept(refundNo, 128)),
      texts(({ channelTradeNo }) => kept(channelTradeNo, 128)),
      texts(({ channelRefundNo }) => kept(channelRefundNo, 128)),
      texts(({ currency }) => currency),
      amounts(({ amount }) => amount),
      amounts(({ discount }) => discount),
      amounts(({ fee }) => fee),
      amounts(({ share }) => share),
      sql`${part.map(({ at }) => at)}::timestamptz[]`,
      texts(({ raw }) => kept(raw)),
    ];
    statements.push(sql`
      with quickly as materialized (select set_config('synchronous_commit', 'off', true))
      insert into bill_lines
        (bill_no, reading, line, day, kind, event, order_no, refund_no, channel_trade_no, channel_refund_no, currency, amount, discount, fee, share, at, raw)
      select ${of.billNo}::varchar, ${of.reading}::int, ${part[0]!.line - 1}::int + l.n::int, ${of.day}::date,
             l.kind, l.event, l.order_no, l.refund_no, l.trade_no, l.back_no, l.currency, l.amount, l.discount, l.fee, l.share, l.at, l.raw
        from unnest(${sql.join(columns)}) with ordinality
             as l(kind, event, order_no, refund_no, trade_no, back_no, currency, amount, discount, fee, share, at, raw, n), quickly`);
  }
  return statements;
}

/** Inserts lines, one commit per statement. They are not used until the bill's `reading` is set to their attempt. */
export async function writeLines(store: Store, statements: readonly Sql[]): Promise<void> {
  for (const statement of statements) await store.autocommit((tx) => tx.sql`${statement}`);
}

/**
 * Replaces NUL, which PostgreSQL rejects, and cuts a text that is longer than `most`. Order and refund numbers of this
 * service are always shorter, so they are never cut.
 */
function kept<Text extends string | null>(text: Text, most?: number): Text | string {
  if (text === null) return text;
  const whole = text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
  return most === undefined || whole.length <= most ? whole : whole.slice(0, most);
}

/** The maximum number of bill lines that one delete statement removes. */
const PART_REMOVED = 5_000;

/** Removes the lines of finished read attempts that the bill does not use. Returns the number of removed lines. */
export async function removeOldLines(store: Store, billNo: string, goesOn?: () => boolean): Promise<number> {
  // The newest read attempt may still be in progress. Of the older attempts only the one that the bill uses is kept.
  const isOld = sql`l.bill_no = ${billNo} and exists (
    select 1 from bills b where b.bill_no = l.bill_no and l.reading < b.readings and l.reading <> b.reading)`;
  return inParts<true>(async () => removePart(store, isOld), goesOn);
}

/**
 * Removes the lines of a failed read attempt. If the bill uses this attempt, its lines are kept: the commit succeeded,
 * and only its result was lost.
 */
export async function removeReading(store: Store, { billNo, reading }: Omit<Reading, 'day'>): Promise<number> {
  const isOfReading = sql`l.bill_no = ${billNo} and l.reading = ${reading} and not exists (
    select 1 from bills b where b.bill_no = l.bill_no and b.reading = l.reading)`;
  return inParts<true>(async () => removePart(store, isOfReading));
}

async function removePart(store: Store, condition: Sql): Promise<PartDone<true>> {
  const { length } = await store.autocommit(
    (tx) => tx.sql`delete from bill_lines where (bill_no, reading, line, day) in (
        select l.bill_no, l.reading, l.line, l.day from bill_lines l where ${condition}
         order by l.bill_no, l.reading, l.line limit ${PART_REMOVED} for update) returning 1`,
  );
  return { removed: length, next: length < PART_REMOVED ? undefined : true };
}

/**
 * Adds the order number to lines without one (PayPal's refunds and disputes). The channel's payment number identifies
 * the order.
 */
export async function nameOrders(store: Store, { billNo, reading, day }: Reading): Promise<void> {
  await store.autocommit(
    (tx) => tx.sql`
      update bill_lines l set order_no = o.order_no
        from bills b, orders o
       where b.bill_no = l.bill_no and l.bill_no = ${billNo} and l.reading = ${reading} and l.day = ${day} and l.order_no is null
         and ${OF_PAYEE} and o.channel_trade_no = l.channel_trade_no`,
  );
}

/**
 * Erases the raw text of lines about payers whose data was erased before the bill was read. The query starts from these
 * few payers, so that a bill with a million lines is not joined with all orders.
 */
export async function forgetInLines(store: Store, { billNo, reading, day }: Reading): Promise<void> {
  await store.autocommit(
    (tx) => tx.sql`
       with gone as materialized (
         select o.order_no from users u
           join orders o on o.user_id = u.user_id and o.project = u.project and o.created_at <= u.forget_since
          where u.forget_since is not null and o.subject = ''),
       l as (
         select bill_no, reading, line, day from bill_lines
          where bill_no = ${billNo} and reading = ${reading} and day = ${day} and raw <> '' and order_no in (select order_no from gone)
          order by bill_no, reading, line for update)
       update bill_lines b set raw = '' from l
        where b.bill_no = l.bill_no and b.reading = l.reading and b.line = l.line and b.day = l.day`,
  );
}

/**
 * Creates the partition for the month of a day. Returns false if the database role may not create it; the lines are
 * then stored in the default partition.
 */
export async function makeMonth(store: Store, day: string): Promise<boolean> {
  const [year, month] = [Number(day.slice(0, 4)), Number(day.slice(5, 7))];
  const first = (at: number) => sql.lit(new Date(Date.UTC(year, at, 1)).toISOString().slice(0, 10));
  const name = monthTable(day);
  if (await isThere(store, name)) return true;
  try {
    await store.autocommit(
      (tx) => tx.sql`create table if not exists ${sql.table(name)} partition of bill_lines
        for values from (${first(month - 1)}) to (${first(month)})`,
    );
    return true;
  } catch {
    return false;
  }
}

async function isThere(store: Store, name: string): Promise<boolean> {
  const found = await store.read((tx) => tx.sql`select 1 from pg_class where relname = ${name} and relkind = 'r'`);
  return found.length > 0;
}

function monthTable(day: string): string {
  return `bill_lines_${day.slice(0, 4)}_${day.slice(5, 7)}`;
}

/**
 * Analyzes the table with the lines of a day's month. Without current statistics, PostgreSQL would plan for ten lines
 * instead of a million. If the database role does not own the table, PostgreSQL only emits a warning.
 */
export async function analyzeLines(store: Store, day: string): Promise<void> {
  for (const name of [monthTable(day), 'bill_lines_rest'])
    if (await isThere(store, name)) await store.autocommit((tx) => tx.sql`analyze ${sql.table(name)}`);
}

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Removes the lines of old bills. For expired months the whole partition is dropped. In the month that contains
 * `before`, lines are deleted bill by bill. The bills themselves are kept. Before the removal, each bill stores a
 * summary of the refunds that were pending in it.
 */
export const removeBillLines: Removal = async (store, before, goesOn = () => true) => {
  const limit = before.toISOString().slice(0, 10);
  await keepPendingRefunds(store, limit);
  let removed = 0;
  for (const month of await monthsBefore(store, limit)) {
    if (!goesOn()) return removed;
    if ((await dropMonth(store, month)) === 'refused') removed += await removeOlder(store, month, limit, goesOn);
  }
  removed += await removeOlder(store, 'bill_lines_rest', limit, goesOn);
  const current = await store.read(
    (tx) => tx.sql<{ billNo: string; day: string }>`
      select bill_no, day from bills where day < ${limit}::date and day >= date_trunc('month', ${limit}::date) order by day`,
  );
  for (const { billNo, day } of current) {
    if (!goesOn()) return removed;
    const isOfBill = sql`t.bill_no = ${billNo} and t.day = ${day}::date`;
    removed += await removeOlderPart(store, 'bill_lines', isOfBill, goesOn);
  }
  return removed;
};

/** Settlement reports cannot read the lines after the removal, so the bills keep the pending refunds. */
async function keepPendingRefunds(store: Store, limit: string): Promise<void> {
  const bills = await store.read(
    (tx) => tx.sql<{ billNo: string }>`
      select bill_no from bills where day < ${limit}::date and pending_refunds is null
         and exists (select 1 from jsonb_array_elements(sums) s where cast(s->>'pending' as int) > 0) order by day, bill_no`,
  );
  for (const { billNo } of bills)
    await store.transaction(async (tx) => {
      const bill = await tx.bills.lock({ billNo });
      if (bill) await tx.bills.update({ billNo }, { pendingRefunds: await pendingRefunds(tx, [bill]) });
    });
}

async function monthsBefore(store: Store, limit: string): Promise<string[]> {
  const rows = await store.read(
    (tx) => tx.sql<{ name: string }>`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'bill_lines'::regclass and c.relname ~ '^bill_lines_[0-9]{4}_[0-9]{2}$' order by c.relname`,
  );
  return rows.map(({ name }) => name).filter((name) => firstDayAfter(name) <= limit);
}

/** The first day after the month of a partition: `2026-12-01` for `bill_lines_2026_11`. */
function firstDayAfter(name: string): string {
  const [year, month] = name.split('_').slice(2).map(Number) as [number, number];
  return new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
}

/**
 * Drops a partition. `refused` = the database role may not drop it, so the rows are deleted instead. `busy` = the table
 * is in use, so the partition stays until the next run.
 */
async function dropMonth(store: Store, name: string): Promise<'dropped' | 'refused' | 'busy'> {
  try {
    await store.autocommit((tx) => tx.sql`drop table if exists ${sql.table(name)}`);
    return 'dropped';
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    if (code === INSUFFICIENT_PRIVILEGE) return 'refused';
    if (BUSY.test(code)) return 'busy';
    throw error;
  }
}

function removeOlder(store: Store, table: string, limit: string, goesOn: () => boolean): Promise<number> {
  return removeOlderPart(store, table, sql`t.day < ${limit}::date`, goesOn);
}

function removeOlderPart(store: Store, name: string, condition: Sql, goesOn: () => boolean): Promise<number> {
  const table = sql.table(name);
  return inParts<true>(async () => {
    const { length } = await store.autocommit(
      (tx) => tx.sql`delete from ${table} where (bill_no, reading, line, day) in (
          select t.bill_no, t.reading, t.line, t.day from ${table} t where ${condition} limit ${PART_ROWS}) returning 1`,
    );
    return { removed: length, next: length < PART_ROWS ? undefined : true };
  }, goesOn);
}
