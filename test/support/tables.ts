import { sql } from 'kysely';
import type { Service } from './service.ts';

/** Counters of attempts, when sessions were used and the trail of calls: they may grow where nothing else may. */
const BESIDE = new Set(['rate_limits', 'sessions', 'channel_messages', 'channel_states']);

async function tablesOf({ app }: Service): Promise<string[]> {
  const rows = await app.store.read(
    (tx) =>
      tx.sql<{ name: string }>`${sql.raw(
        // Parts of a table are read as the table; old ones that were set aside are dropped at any time (db/months.ts).
        `select c.relname as name from pg_class c
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and c.relname !~ '_gone$'`,
      )}`,
  );
  return rows.map(({ name }) => name);
}

/** A fingerprint of the rows of every table: equal when nothing was written in between. */
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

/** Every row of every table as text, a line each. */
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
 * What PostgreSQL answers to every write from now on, in its own words; the returned function makes room again.
 * Each table is locked by itself: whoever held several would wait for a service that holds one and wants another.
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
