import type { BillLine } from '../../domain.ts';
import { BUSY } from '../../errors.ts';
import type { Store } from '../store.ts';
import { arrayText } from '../table.ts';
import { pendingRefunds } from './bills.ts';
import { OF_PAYEE } from './payees.ts';
import { PART_ROWS, type PartDone, type Removal, inParts } from './retention.ts';

/** Which lines of a bill: those of one try to read its file. */
export interface Reading {
  billNo: string;
  reading: number;
  /** `yyyy-MM-dd` */
  day: string;
}

/** Lines of one statement: few enough that their text is small. */
const PART_LINES = 500;

/**
 * A commit of lines does not wait for the disk: they count from a later commit only, which waits for itself and all before it.
 * That saves half of the time of a large bill.
 */
const INSERT = `with quickly as materialized (select set_config('synchronous_commit', 'off', true))
  insert into bill_lines
    (bill_no, reading, line, day, kind, event, order_no, refund_no, channel_trade_no, channel_refund_no, currency, amount, discount, fee, share, at, raw)
  select cast(? as varchar), cast(? as int), cast(? as int) + l.n::int, cast(? as date),
         l.kind, l.event, l.order_no, l.refund_no, l.trade_no, l.back_no, l.currency, l.amount, l.discount, l.fee, l.share, l.at, l.raw
    from unnest(cast(? as text[]), cast(? as text[]), cast(? as text[]), cast(? as text[]), cast(? as text[]), cast(? as text[]),
                cast(? as text[]), cast(? as bigint[]), cast(? as bigint[]), cast(? as bigint[]), cast(? as bigint[]), cast(? as timestamptz[]),
                cast(? as text[]))
         with ordinality as l(kind, event, order_no, refund_no, trade_no, back_no, currency, amount, discount, fee, share, at, raw, n), quickly`;

/** The values of statements that write lines which follow each other. To make them is half of the work, and waits for nobody. */
export function statementsOf(of: Reading, lines: readonly BillLine[]): unknown[][] {
  const statements: unknown[][] = [];
  for (let from = 0; from < lines.length; from += PART_LINES) {
    const part = lines.slice(from, from + PART_LINES);
    const column = (cell: (line: BillLine) => string | null): string => arrayText(part.map(cell));
    const columns = [
      column(({ kind }) => kind),
      column(({ event }) => kept(event, 64)),
      column(({ orderNo }) => kept(orderNo, 128)),
      column(({ refundNo }) => kept(refundNo, 128)),
      column(({ channelTradeNo }) => kept(channelTradeNo, 128)),
      column(({ channelRefundNo }) => kept(channelRefundNo, 128)),
      column(({ currency }) => currency),
      column(({ amount }) => String(amount)),
      column(({ discount }) => String(discount)),
      column(({ fee }) => String(fee)),
      column(({ share }) => String(share)),
      column(({ at }) => at.toISOString()),
      column(({ raw }) => kept(raw)),
    ];
    statements.push([of.billNo, of.reading, part[0]!.line - 1, of.day, ...columns]);
  }
  return statements;
}

/** Writes lines; each statement is a commit of its own, and nothing counts before the reading does. */
export async function writeLines(store: Store, statements: readonly unknown[][]): Promise<void> {
  for (const values of statements) await store.autocommit((tx) => tx.prepared(INSERT, values));
}

/** A text as PostgreSQL takes it, which has no NUL; what is longer than a number can be is another system's. */
function kept<Text extends string | null>(text: Text, most?: number): Text | string {
  if (text === null) return text;
  const whole = text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
  return most === undefined || whole.length <= most ? whole : whole.slice(0, most);
}

/** Lines that one part removes. */
const PART_REMOVED = 5_000;

/** Removes the lines of a bill that do not count and that nobody writes any more; returns how many. */
export async function removeOldLines(store: Store, billNo: string, goesOn?: () => boolean): Promise<number> {
  return inParts<true>(async () => removePart(store, OLD, [billNo]), goesOn);
}

/** Removes the lines of one reading, unless it counts: the answer to the commit that says so may have been lost. */
export async function removeReading(store: Store, { billNo, reading }: Omit<Reading, 'day'>): Promise<number> {
  return inParts<true>(async () => removePart(store, THAT_DOES_NOT_COUNT, [billNo, reading]));
}

const THAT_DOES_NOT_COUNT = `l.bill_no = $1 and l.reading = $2 and not exists (
    select 1 from bills b where b.bill_no = l.bill_no and b.reading = l.reading)`;

/** The newest reading may be under way; every other one but that which counts is over. */
const OLD = `l.bill_no = $1 and exists (
    select 1 from bills b where b.bill_no = l.bill_no and l.reading < b.readings and l.reading <> b.reading)`;

async function removePart(store: Store, condition: string, values: readonly unknown[]): Promise<PartDone<true>> {
  const { length } = await store.autocommit((tx) =>
    tx.prepared(
      `delete from bill_lines where (bill_no, reading, line, day) in (
         select l.bill_no, l.reading, l.line, l.day from bill_lines l where ${condition}
          order by l.bill_no, l.reading, l.line limit ${PART_REMOVED} for update) returning 1`,
      values,
    ),
  );
  return { removed: length, next: length < PART_REMOVED ? undefined : true };
}

/** Where a line has no order number, the order whose payment it names; of PayPal's refunds and disputes. */
export async function nameOrders(store: Store, { billNo, reading, day }: Reading): Promise<void> {
  await store.autocommit((tx) =>
    tx.prepared(
      `update bill_lines l set order_no = o.order_no
         from bills b, orders o
        where b.bill_no = l.bill_no and l.bill_no = ? and l.reading = ? and l.day = ? and l.order_no is null
          and ${OF_PAYEE} and o.channel_trade_no = l.channel_trade_no`,
      [billNo, reading, day],
    ),
  );
}

/**
 * Empties the channel's text of lines about payers who were forgotten before the bill came. It begins with those payers, who are few:
 * a bill of a million lines is not compared with all orders for them.
 */
export async function forgetInLines(store: Store, { billNo, reading, day }: Reading): Promise<void> {
  await store.autocommit((tx) =>
    tx.prepared(
      `with gone as materialized (
         select o.order_no from users u
           join orders o on o.user_id = u.user_id and o.project = u.project and o.created_at <= u.forget_since
          where u.forget_since is not null and o.subject = ''),
       l as (
         select bill_no, reading, line, day from bill_lines
          where bill_no = ? and reading = ? and day = ? and raw <> '' and order_no in (select order_no from gone)
          order by bill_no, reading, line for update)
       update bill_lines b set raw = '' from l
        where b.bill_no = l.bill_no and b.reading = l.reading and b.line = l.line and b.day = l.day`,
      [billNo, reading, day],
    ),
  );
}

/** Makes the table for the lines of a day's month; false when this role may not, and they go to the rest. */
export async function makeMonth(store: Store, day: string): Promise<boolean> {
  const [year, month] = [Number(day.slice(0, 4)), Number(day.slice(5, 7))];
  const first = (at: number): string => new Date(Date.UTC(year, at, 1)).toISOString().slice(0, 10);
  const name = monthTable(day);
  const [there] = await store.read((tx) =>
    tx.sql(`select 1 from pg_class where relname = ? and relkind = 'r'`, [name]),
  );
  if (there) return true;
  try {
    await store.autocommit((tx) =>
      tx.sql(
        `create table if not exists "${name}" partition of bill_lines for values from ('${first(month - 1)}') to ('${first(month)}')`,
      ),
    );
    return true;
  } catch {
    return false;
  }
}

function monthTable(day: string): string {
  return `bill_lines_${day.slice(0, 4)}_${day.slice(5, 7)}`;
}

/**
 * Has the database count the lines of a day's month again: of a table that was filled a moment ago it knows nothing yet, and would
 * compare a million lines as if they were ten. A role that does not own the table is warned and goes on.
 */
export async function countLines(store: Store, day: string): Promise<void> {
  for (const name of [monthTable(day), 'bill_lines_rest']) {
    const [there] = await store.read((tx) =>
      tx.sql(`select 1 from pg_class where relname = ? and relkind = 'r'`, [name]),
    );
    if (there) await store.autocommit((tx) => tx.sql(`analyze "${name}"`));
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * The lines of bills of old days: whole months at once, and what stands in a month that is not over by its bills. The bills stay, with how the
 * refunds ended that their lines said were under way.
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
  const current = await store.read((tx) =>
    tx.sql<{ bill_no: string; day: string }>(
      `select bill_no, day::text as day from bills where day < cast(? as date) and day >= date_trunc('month', cast(? as date)) order by day`,
      [limit, limit],
    ),
  );
  for (const { bill_no: billNo, day } of current) {
    if (!goesOn()) return removed;
    removed += await removeOlderPart(
      store,
      'bill_lines',
      `t.bill_no = $1 and t.day = cast($2 as date)`,
      [billNo, day],
      goesOn,
    );
  }
  return removed;
};

/** Settlement asks the lines how these refunds ended, and could not any more. */
async function keepPendingRefunds(store: Store, limit: string): Promise<void> {
  const bills = await store.read((tx) =>
    tx.prepared<{ bill_no: string }>(
      `select bill_no from bills where day < cast($1 as date) and pending_refunds is null
          and exists (select 1 from jsonb_array_elements(sums) s where cast(s->>'pending' as int) > 0) order by day, bill_no`,
      [limit],
    ),
  );
  for (const { bill_no: billNo } of bills)
    await store.transaction(async (tx) => {
      const bill = await tx.bills.lock({ billNo });
      if (bill) await tx.bills.update({ billNo }, { pendingRefunds: await pendingRefunds(tx, [bill]) });
    });
}

/** Tables of months that ended before a day. */
async function monthsBefore(store: Store, limit: string): Promise<string[]> {
  const rows = await store.read((tx) =>
    tx.sql<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'bill_lines'::regclass and c.relname ~ '^bill_lines_[0-9]{4}_[0-9]{2}$' order by c.relname`,
    ),
  );
  return rows.map(({ name }) => name).filter((name) => firstDayAfter(name) <= limit);
}

/** `bill_lines_2026_11` ends before `2026-12-01`. */
function firstDayAfter(name: string): string {
  const [year, month] = name.split('_').slice(2).map(Number) as [number, number];
  return new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
}

/** A role that may not is `refused`: the rows are removed instead. While others read the table it stays until the next hour. */
async function dropMonth(store: Store, name: string): Promise<'dropped' | 'refused' | 'busy'> {
  try {
    await store.autocommit((tx) => tx.sql(`drop table if exists "${name}"`));
    return 'dropped';
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    if (code === INSUFFICIENT_PRIVILEGE) return 'refused';
    if (BUSY.test(code)) return 'busy';
    throw error;
  }
}

function removeOlder(store: Store, table: string, limit: string, goesOn: () => boolean): Promise<number> {
  return removeOlderPart(store, table, 't.day < cast($1 as date)', [limit], goesOn);
}

function removeOlderPart(
  store: Store,
  table: string,
  condition: string,
  values: readonly unknown[],
  goesOn: () => boolean,
): Promise<number> {
  const text = `delete from ${table} where (bill_no, reading, line, day) in (
      select t.bill_no, t.reading, t.line, t.day from ${table} t where ${condition} limit ${PART_ROWS}) returning 1`;
  return inParts<true>(async () => {
    const { length } = await store.autocommit((tx) => tx.prepared(text, values));
    return { removed: length, next: length < PART_ROWS ? undefined : true };
  }, goesOn);
}
