import type { Service } from './service.ts';

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
