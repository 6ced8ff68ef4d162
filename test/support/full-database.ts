import type { Service } from './service.ts';

/** What PostgreSQL answers to every write from now on, in its own words; the returned function makes room again. */
export async function fillDatabase({ app }: Service): Promise<() => Promise<void>> {
  const run = (sql: string) => app.database.em.fork().execute(sql);
  await run(`create function no_room() returns trigger language plpgsql as $$ begin
    raise exception using errcode = '53100', message = 'could not extend file "base/16384/2619": No space left on device';
  end $$`);
  await run(`do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
      execute format('create trigger no_room before insert or update on %I for each statement execute function no_room()', name);
    end loop;
  end $$`);
  return async () => void (await run('drop function no_room() cascade'));
}
