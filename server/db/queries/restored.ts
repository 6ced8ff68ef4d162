import { type RawBuilder, sql } from 'kysely';
import type { ReadTx } from '../store.ts';

interface SequenceFact {
  table: string;
  column: string;
  sequence: string;
  /** The last number that the sequence has returned; 0 = none yet. */
  last: string;
  /** The highest number in the column; 0 = the table is empty. */
  highest: string;
}

interface GapFact {
  table: string;
  missing: string;
  /** The first missing numbers, such as `7` or `7-9`. */
  first: string[];
}

/** The newest time in a column, and how many rows have a time after the limit that the caller gave. */
interface MomentFact {
  table: string;
  column: string;
  newest: Date;
  later: number;
}

/** The migrations that have run, according to the table `schema_migrations`; empty if the table does not exist. */
export async function migrationsRun(tx: ReadTx): Promise<string[]> {
  const [found] = await tx.sql<{ is: boolean }>`select to_regclass('schema_migrations') is not null as is`;
  if (!found?.is) return [];
  const rows = await tx.sql<{ name: string }>`select name from schema_migrations order by id`;
  return rows.map(({ name }) => name);
}

/** Identifies a running database by its name and its server's start time, which are the same for every address. */
export async function runningDatabase(tx: ReadTx): Promise<string> {
  const [row] = await tx.sql<{ name: string }>`
    select current_database() || ' ' || extract(epoch from pg_postmaster_start_time()) as name`;
  return row?.name ?? '';
}

interface Column {
  table: string;
  column: string;
}

/** The SQL `condition` uses the aliases `a` (pg_attribute) and `c` (pg_class). Partitions are excluded. */
function columnsOf(tx: ReadTx, condition: RawBuilder<boolean>): Promise<Column[]> {
  return tx.sql<Column>`
    select c.relname as "table", a.attname as "column"
      from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped and ${condition}
     order by 1, 2`;
}

/** The current number of every sequence, and the column that uses the sequence. */
export async function sequencesOf(tx: ReadTx): Promise<SequenceFact[]> {
  const facts: SequenceFact[] = [];
  const hasSequence = sql<boolean>`pg_get_serial_sequence(quote_ident(c.relname), a.attname) is not null`;
  for (const { table, column } of await columnsOf(tx, hasSequence)) {
    const [named] = await tx.sql<{ sequence: string }>`
      select pg_get_serial_sequence(quote_ident(${table}), ${column}) as sequence`;
    const sequence = named!.sequence;
    const [row] = await tx.sql<Pick<SequenceFact, 'last' | 'highest'>>`
      select (case when s.is_called then s.last_value else s.last_value - 1 end)::text as last,
             coalesce((select max(${sql.ref(column)}) from ${sql.table(table)}), 0)::text as highest
        from ${sql.raw(sequence)} s`;
    facts.push({ table, column, sequence, ...row! });
  }
  return facts;
}

/** A gap is a rolled-back transaction or a lost row; in `events` also an event removed with its unpaid order. */
const UNBROKEN = [
  { table: 'audit_log', column: 'id' },
  { table: 'coin_entries', column: 'id' },
  { table: 'events', column: 'sequence' },
] as const;

/** The gaps in the numbers of the tables `UNBROKEN`; for each table the first `most` gaps. */
export async function gapsOf(tx: ReadTx, most: number): Promise<GapFact[]> {
  const facts: GapFact[] = [];
  for (const { table, column } of UNBROKEN) {
    const [number, from] = [sql.ref(column), sql.table(table)];
    const [sum] = await tx.sql<{ missing: string }>`
      select (coalesce(max(${number}) - min(${number}) + 1, 0) - count(*))::text as missing from ${from}`;
    const gaps = await tx.sql<{ first: string; last: string }>`
      select (number + 1)::text as first, (next - 1)::text as last
        from (select ${number} as number, lead(${number}) over (order by ${number}) as next from ${from}) n
       where next > number + 1 order by number limit ${most}`;
    const first = gaps.map((gap) => (gap.first === gap.last ? gap.first : `${gap.first}-${gap.last}`));
    facts.push({ table, missing: sum?.missing ?? '0', first });
  }
  return facts;
}

/** The newest time of every column with the time of a write, and how many of its rows have a time after `latest`. */
export async function momentsOf(tx: ReadTx, latest: Date): Promise<MomentFact[]> {
  const facts: MomentFact[] = [];
  // Bill lines are excluded, because their times are by the channel's clock.
  const written = sql<boolean>`a.atttypid = 'timestamptz'::regtype and c.relname <> 'bill_lines'
    and a.attname in ('created_at', 'updated_at', 'at', 'received_at')`;
  for (const { table, column } of await columnsOf(tx, written)) {
    const at = sql.ref(column);
    const [row] = await tx.sql<{ newest: Date | null; later: number }>`
      select max(${at}) as newest, count(*) filter (where ${at} > ${latest})::int as later from ${sql.table(table)}`;
    if (row?.newest) facts.push({ table, column, newest: row.newest, later: row.later });
  }
  return facts;
}
