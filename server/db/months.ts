import { sql } from 'kysely';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUSY } from '../errors.ts';
import type { Sql } from './kysely.ts';
import type { OpenDatabase } from './orm.ts';
import { type Removal, noteRemoved } from './queries/retention.ts';
import { type ReadTx, type Store, type Tx, createStore } from './store.ts';

/** A table that grows with every order and is partitioned by month. */
interface MonthlyTable {
  name: 'channel_messages' | 'transitions' | 'notifications' | 'events' | 'deliveries' | 'delivery_attempts';
  /** The column with the instant at which a row was written; the instant never changes. */
  at: 'at' | 'created_at' | 'received_at';
  /** A partition that ended before `before` is kept if any of its rows fulfils this SQL condition. */
  keeps?: (before: Date) => Sql;
}

/** Orders, refunds and exceptions are not partitioned by month, because most of their rows are kept forever. */
export const MONTHLY: readonly MonthlyTable[] = [
  // A repeated message is counted in the row of its first occurrence; `last_at` is the time of its last occurrence.
  { name: 'channel_messages', at: 'at', keeps: (before) => sql`last_at >= ${before}` },
  { name: 'transitions', at: 'at' },
  { name: 'notifications', at: 'received_at' },
  { name: 'events', at: 'created_at' },
  { name: 'deliveries', at: 'created_at', keeps: (before) => sql`state = 'pending' or finished_at >= ${before}` },
  { name: 'delivery_attempts', at: 'at' },
];

/** Returns the monthly table with this name. */
export function monthlyTable(name: MonthlyTable['name']): MonthlyTable {
  return MONTHLY.find((table) => table.name === name)!;
}

/** A partition with the rows from `from` (inclusive) to `to` (exclusive). For the default partition both are null. */
interface Part {
  name: string;
  from: Date | null;
  to: Date | null;
  isRest: boolean;
}

/** Name suffix of the default partition, which holds rows without a monthly partition. */
export const REST = 'rest';

/** The partitions of a table, oldest first and the default partition last. */
export async function partsOf(tx: ReadTx, { name }: Pick<MonthlyTable, 'name'>): Promise<Part[]> {
  return tx.sql`
    select c.relname as name, cast(substring(b.bound from 'FROM \\(''([^'']+)''\\)') as timestamptz) as from,
           cast(substring(b.bound from 'TO \\(''([^'']+)''\\)') as timestamptz) as to, b.bound = 'DEFAULT' as is_rest
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
     cross join lateral (select pg_get_expr(c.relpartbound, c.oid) as bound) b
     where i.inhparent = cast(${name} as regclass) order by b.bound = 'DEFAULT', 2`;
}

/** The first instant of the month (UTC) that is `months` after the month of `at`. */
export function monthFrom(at: Date, months = 0): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1));
}

/** The name of the partition of a month, such as `events_2026_11`. */
function monthName({ name }: Pick<MonthlyTable, 'name'>, month: Date): string {
  return `${name}_${month.toISOString().slice(0, 7).replace('-', '_')}`;
}

/**
 * The wait for a table lock (ms). It is short, because a waiting lock request blocks all later statements on the table.
 */
const WAIT_MS = 150;
const TRIES = 40;
const PAUSE_MS = 250;

/**
 * Runs a transaction that needs an exclusive table lock for a short time. If the table is in use, each attempt gives up
 * quickly and is repeated for some seconds. Returns false if no attempt got the lock.
 */
async function whenFree(store: Store, work: (tx: Tx) => Promise<void>, tries = TRIES): Promise<boolean> {
  for (let left = tries; left > 0; left -= 1) {
    try {
      await store.transaction(async (tx) => {
        await tx.sql`set local lock_timeout = ${sql.lit(WAIT_MS)}`;
        await work(tx);
      });
      return true;
    } catch (error) {
      if (!BUSY.test(String((error as { code?: unknown }).code))) throw error;
      if (left > 1) await sleep(PAUSE_MS);
    }
  }
  return false;
}

/** How long before the beginning of a month its partition is created. */
const AHEAD_MS = 35 * 86_400_000;

/**
 * The result for one monthly partition: `made` = it exists now; `busy` = the table was in use; `rest` = rows of the
 * month are already in the default partition and stay there.
 */
interface MonthMade {
  name: string;
  result: 'made' | 'busy' | 'rest';
}

/** Creates the missing partitions for this month and for months that begin within five weeks. */
export async function makeMonthsAhead(store: Store, now: Date): Promise<MonthMade[]> {
  const made: MonthMade[] = [];
  for (const table of MONTHLY) {
    const parts = await store.read((tx) => partsOf(tx, table));
    for (let month = monthFrom(now); month.getTime() < now.getTime() + AHEAD_MS; month = monthFrom(month, 1))
      if (!isCovered(parts, month))
        made.push({ name: monthName(table, month), result: await makeMonth(store, table, month) });
  }
  return made;
}

function isCovered(parts: readonly Part[], month: Date): boolean {
  return parts.some(({ from, to, isRest }) => !isRest && from !== null && from <= month && to !== null && month < to);
}

const CHECK_VIOLATION = '23514';
const DUPLICATE_TABLE = '42P07';

async function makeMonth(store: Store, table: MonthlyTable, month: Date): Promise<MonthMade['result']> {
  const name = monthName(table, month);
  const [from, to] = [month, monthFrom(month, 1)].map((at) => sql.lit(at.toISOString()));
  try {
    const isMade = await whenFree(store, async (tx) => {
      const [whole, part] = [sql.table(table.name), sql.table(name)];
      await tx.sql`create table ${part} (like ${sql.table(`${table.name}_${REST}`)} including all)`;
      await tx.sql`alter table ${whole} attach partition ${part} for values from (${from}) to (${to})`;
    });
    return isMade ? 'made' : 'busy';
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === CHECK_VIOLATION) return 'rest';
    // Another replica has created the partition.
    if (code === DUPLICATE_TABLE) return 'made';
    throw error;
  }
}

/** Analyzes the partitioned tables, because autovacuum analyzes each partition but not the parent table. */
export async function analyzeParts(database: OpenDatabase): Promise<void> {
  const own = (await database.reopen?.()) ?? database;
  try {
    const store = createStore(own, () => {});
    for (const { name } of MONTHLY) await store.autocommit((tx) => tx.sql`analyze ${sql.table(name)}`);
  } finally {
    if (own !== database) await own.close();
  }
}

/** `refused` is set if the database role does not own the tables; the owner must then create the partitions. */
interface MonthsKept {
  months: MonthMade[];
  refused?: Error;
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Creates the partitions of the coming months; without them, rows are stored in the default partition. */
export async function keepMonths(database: OpenDatabase, now: Date): Promise<MonthsKept> {
  try {
    return {
      months: await makeMonthsAhead(
        createStore(database, () => {}),
        now,
      ),
    };
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    return { months: [], refused: error as Error };
  }
}

/** Name suffix of a detached partition; if dropping it is interrupted, the next run drops it. */
const GONE = '_gone';

/**
 * Drops the partitions of a table that end before an instant, and returns their number. Each partition is detached in
 * one short transaction and dropped in another, so that writers wait only briefly. A partition that has rows to keep,
 * or is constantly in use, stays until the next run.
 */
export async function dropOldParts(store: Store, table: MonthlyTable, before: Date): Promise<number> {
  const parts = await store.read((tx) => partsOf(tx, table));
  let dropped = 0;
  for (const { name, to, isRest } of parts) {
    if (isRest || to === null || to > before || (await hasKept(store, table, name, before))) continue;
    const isDetached = await whenFree(store, async (tx) => {
      await tx.sql`alter table ${sql.table(table.name)} detach partition ${sql.table(name)}`;
      await tx.sql`alter table ${sql.table(name)} rename to ${sql.table(`${name}${GONE}`)}`;
    });
    if (isDetached) dropped += 1;
  }
  await dropGone(store, table);
  return dropped;
}

async function hasKept(store: Store, { keeps }: MonthlyTable, part: string, before: Date): Promise<boolean> {
  if (keeps === undefined) return false;
  const rows = await store.read((tx) => tx.sql`select 1 from ${sql.table(part)} where ${keeps(before)} limit 1`);
  return rows.length > 0;
}

async function dropGone(store: Store, { name }: MonthlyTable): Promise<void> {
  const gone = await store.read(
    (tx) => tx.sql<{ name: string }>`
      select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = current_schema() and c.relkind = 'r' and c.relname ~ ${`^${name}_[0-9]{4}_[0-9]{2}${GONE}$`}
         and not c.relispartition`,
  );
  for (const { name: table } of gone) await store.autocommit((tx) => tx.sql`drop table if exists ${sql.table(table)}`);
}

function partsByRow(parts: readonly Part[], everyPart: boolean): string[] {
  return parts.filter(({ isRest }) => everyPart || isRest).map(({ name }) => name);
}

/**
 * If the retention is shorter than this number of days, old rows are deleted row by row in all partitions. Waiting
 * until a whole month is old would keep rows too long.
 */
const DAYS_OF_A_MONTH = 31;

export interface MonthlyRemoval {
  table: MonthlyTable['name'];
  days: number;
  rows: (part: string) => Removal;
  dropped: (table: string) => void;
}

/**
 * Returns a function that removes the old rows of a monthly table. The function drops expired partitions. In the
 * default partition it deletes old rows one by one. If the retention is shorter than a month, it deletes old rows of
 * every partition one by one.
 */
export function removeMonthly({ table: name, days, rows, dropped }: MonthlyRemoval): Removal {
  const table = monthlyTable(name);
  return async (store, before, goesOn = () => true) => {
    await noteRemoved(store, name, before);
    const whole = await dropOldParts(store, table, before).catch(asNotAllowed);
    for (let left = whole ?? 0; left > 0; left -= 1) dropped(name);
    let removed = 0;
    const now = await store.read((tx) => partsOf(tx, table));
    for (const part of partsByRow(now, whole === undefined || days < DAYS_OF_A_MONTH))
      if (goesOn()) removed += await rows(part)(store, before, goesOn);
    return removed;
  };
}

/**
 * Returns undefined if the database role does not own the tables; rows are then deleted row by row. Other errors are
 * thrown.
 */
function asNotAllowed(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
}
