import { sql } from 'kysely';
import type { Service } from './service.ts';

/** Tables that may change when no other may: attempt counters, session use, the log of channel messages, channel states. */
const BESIDE = new Set(['rate_limits', 'sessions', 'channel_messages', 'channel_states']);

async function tablesOf({ app }: Service): Promise<string[]> {
  const rows = await app.store.read(
    (tx) =>
      tx.sql<{ name: string }>`${sql.raw(
        // Partitions are read as their table; old detached ones are dropped at any time (db/months.ts).
        `select c.relname as name from pg_class c
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and c.relname !~ '_gone$'`,
      )}`,
  );
  return rows.map(({ name }) => name);
}

/** A fingerprint of the rows of every table; equal if nothing was written in between. */
export async function fingerprints(service: Service): Promise<Record<string, string>> {
  const prints: Record<string, string> = {};
  for (const name of await tablesOf(service)) {
    if (BESIDE.has(name)) continue;
    const [row] = await service.app.store.read(
      (tx) =>
        tx.sql<{
          print: string;
        }>`select count(*) || ' ' || coalesce(md5(string_agg(t::text, '' order by t::text)), '') as print from "${sql.raw(name)}" t`,
    );
    prints[name] = row?.print ?? '';
  }
  return prints;
}

/** Every row of every table as one line of text. */
export async function dumpTables(service: Service): Promise<string> {
  const lines: string[] = [];
  for (const name of await tablesOf(service)) {
    const rows = await service.app.store.read(
      (tx) => tx.sql<{ row: string }>`select row_to_json(t)::text as row from "${sql.raw(name)}" t`,
    );
    lines.push(...rows.map(({ row }) => `${name} ${row}`));
  }
  return lines.join('\n');
}

/**
 * Makes PostgreSQL refuse every write with its own error from now on; the returned function ends that.
 * Each table is locked separately: holding several could deadlock with a service that holds one and waits for another.
 */
export async function fillDatabase({ app }: Service): Promise<() => Promise<void>> {
  const run = (sql: string) => app.database.em.fork().execute(sql);
  const tables = await run(`select tablename from pg_tables where schemaname = 'public'`);
  await run(`create function no_room() returns trigger language plpgsql as $$ begin
    raise exception using errcode = '53100', message = 'could not extend file "base/16384/2619": No space left on device';
  end $$`);
  for (const { tablename } of tables)
    await run(
      `create trigger no_room before insert or update on ${tablename} for each statement execute function no_room()`,
    );
  return async () => {
    for (const { tablename } of tables) await run(`drop trigger no_room on ${tablename}`);
    await run('drop function no_room()');
  };
}
