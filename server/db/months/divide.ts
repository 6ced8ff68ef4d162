import { LocalError } from '../../errors.ts';
import type { OpenDatabase } from '../orm.ts';
import { createStore, type Store, type Tx } from '../store.ts';
import { BEFORE, monthFrom, MONTHLY, type MonthlyTable, REST } from './tables.ts';
import { whenFree } from './patient-lock.ts';

/** Names for one statement of SQL. */
const quoted = (name: string): string => `"${name}"`;

/** Larger tables are divided beside the running service, because every row is looked at. */
export const SMALL_BYTES = 64 * 1024 * 1024;

/** Which tables to divide. */
export interface DivideOptions {
  now: Date;
  /** Only tables of at most so many bytes. */
  atMost?: number;
  /** How often a table that is in use is tried. */
  tries?: number;
}

/**
 * Makes tables that grow with every order into tables of months (PostgreSQL only). What a table has becomes its first part as it
 * stands, until a month from now at least; no row is copied, and nobody waits for more than an instant. Returns the names of
 * the tables that it divided. Whatever it cannot do now is left for the next time, and two at once are one after the other.
 */
export async function divideByMonths(database: OpenDatabase, { now, atMost, tries }: DivideOptions): Promise<string[]> {
  if (database.kind !== 'postgres') return [];
  const undivided = await waiting(
    createStore(database, () => {}),
    atMost,
  );
  if (undivided.length === 0) return [];
  // To look at every row takes longer than a request may.
  const own = (await database.reopen?.()) ?? database;
  const store = createStore(own, () => {});
  const divided: string[] = [];
  try {
    await store.transaction(async (holder) => {
      const [row] = await holder.sql<{ taken: boolean }>('select pg_try_advisory_xact_lock(7240917002) as taken');
      if (!row?.taken) return;
      // Somebody may have done some of them since.
      for (const table of await waiting(store, atMost)) {
        await divide(store, table, { now, tries });
        divided.push(table.name);
      }
    });
  } finally {
    if (own !== database) await own.close();
  }
  return divided;
}

async function waiting(store: Store, atMost = Number.MAX_SAFE_INTEGER): Promise<MonthlyTable[]> {
  const rows = await store.read((tx) =>
    tx.sql<{ name: string }>(
      `select c.relname as name from pg_class c
        where c.oid in (${MONTHLY.map(({ name }) => `to_regclass('${name}')`).join(', ')}) and c.relkind = 'r'
          and pg_relation_size(c.oid) <= ?`,
      [atMost],
    ),
  );
  const names = new Set(rows.map(({ name }) => name));
  return MONTHLY.filter(({ name }) => names.has(name));
}

/** A month and up to two: old and new releases run side by side meanwhile, and the old ones know one part only. */
const MONTHS_BEFORE = 2;

async function divide(
  store: Store,
  table: MonthlyTable,
  { now, tries }: Pick<DivideOptions, 'now' | 'tries'>,
): Promise<void> {
  const { name, at } = table;
  const until = monthFrom(now, MONTHS_BEFORE).toISOString();
  const check = quoted(`${name}_until`);
  // Known to hold for every row, the rows need not be looked at again under the lock that keeps everybody out.
  if (!(await hasCheck(store, name))) {
    const isAdded = await whenFree(
      store,
      async (tx) => {
        await tx.sql(`alter table ${quoted(name)} add constraint ${check} check (${at} < '${until}') not valid`);
      },
      tries,
    );
    if (!isAdded) throw new TableBusy(name);
  }
  let isDone = false;
  try {
    await store.autocommit((tx) => tx.sql(`alter table ${quoted(name)} validate constraint ${check}`));
    isDone = await whenFree(store, (tx) => swap(tx, table, until), tries);
    if (!isDone) throw new TableBusy(name);
  } finally {
    // Left behind, it would refuse rows of a later month.
    if (!isDone) await whenFree(store, (tx) => dropCheck(tx, name));
  }
}

/** The table is in use by statements that take long; it is divided the next time. */
class TableBusy extends LocalError {
  constructor(table: string) {
    super('table_busy', 503, `${table} is in use all the time, and is not divided into months yet.`, {
      retryable: true,
      hint: 'Nothing else depends on it. Run payctl server migrate when statements that take long have ended.',
    });
  }
}

async function hasCheck(store: Store, name: string): Promise<boolean> {
  const rows = await store.read((tx) =>
    tx.sql(`select 1 from pg_constraint where conrelid = cast(? as regclass) and conname = ?`, [name, `${name}_until`]),
  );
  return rows.length > 0;
}

async function dropCheck(tx: Tx, name: string): Promise<void> {
  await tx.sql(`alter table ${quoted(name)} drop constraint if exists ${quoted(`${name}_until`)}`);
}

/** A table that takes no rows from an instant on, unless its division is ended before. */
export interface HalfDivided {
  name: string;
  from: string;
}

/** The tables whose division was cut short; whoever may not divide them cannot end it either. */
export async function halfDivided(store: Store): Promise<HalfDivided[]> {
  const names = MONTHLY.map(({ name }) => `'${name}'`).join(', ');
  return store.read((tx) =>
    tx.sql<HalfDivided>(
      `select c.relname as name, substring(pg_get_constraintdef(n.oid) from '''([^'']+)''') as from
         from pg_constraint n join pg_class c on c.oid = n.conrelid
        where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
          and c.relname in (${names}) and n.conname = c.relname || '_until'
        order by 1`,
    ),
  );
}

/** The table becomes the first part of a new one with its name: same columns, numbers, rights and publications. */
async function swap(tx: Tx, { name, at }: MonthlyTable, until: string): Promise<void> {
  const [parent, before, rest] = [name, `${name}_${BEFORE}`, `${name}_${REST}`].map(quoted) as [string, string, string];
  await tx.sql(`lock table ${parent} in access exclusive mode`);
  await tx.sql(`alter table ${parent} rename to ${before}`);
  await tx.sql(
    `create table ${parent} (like ${before} including defaults including storage including comments) partition by range (${quoted(at)})`,
  );
  await tx.sql(`alter table ${parent} attach partition ${before} for values from (minvalue) to ('${until}')`);
  await tx.sql(`alter table ${before} drop constraint ${quoted(`${name}_until`)}`);
  await tx.sql(`create table ${rest} (like ${before} including all)`);
  await tx.sql(`alter table ${parent} attach partition ${rest} default`);
  const owned = await tx.sql<{ sequence: string; col: string }>(
    `select d.objid::regclass::text as sequence, a.attname as col from pg_depend d
       join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
       join pg_class s on s.oid = d.objid and s.relkind = 'S'
      where d.refobjid = cast(? as regclass) and d.deptype = 'a' and d.classid = cast('pg_class' as regclass)`,
    [`${name}_${BEFORE}`],
  );
  // Otherwise the numbers would go with the first part.
  for (const { sequence, col } of owned) await tx.sql(`alter sequence ${sequence} owned by ${parent}.${quoted(col)}`);
  await handOn(tx, name);
}

/** Who may read and write the table may do so with the new one, and whoever decodes its rows goes on. */
async function handOn(tx: Tx, name: string): Promise<void> {
  const before = `${name}_${BEFORE}`;
  const grants = await tx.sql<{ text: string }>(
    `select format('grant %s on %I to %s%s', a.privilege_type, cast(? as text),
                   case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
                   case when a.is_grantable then ' with grant option' else '' end) as text
       from pg_class c cross join lateral aclexplode(c.relacl) a
      where c.oid = cast(? as regclass) and a.grantee <> c.relowner`,
    [name, before],
  );
  const publications = await tx.sql<{ name: string }>(
    `select quote_ident(p.pubname) as name from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
      where r.prrelid = cast(? as regclass)`,
    [before],
  );
  for (const { text } of grants) await tx.sql(text);
  for (const { name: publication } of publications) {
    await tx.sql(`alter publication ${publication} set (publish_via_partition_root = true)`);
    await tx.sql(`alter publication ${publication} add table ${quoted(name)}`);
    await tx.sql(`alter publication ${publication} drop table ${quoted(before)}`);
  }
}
