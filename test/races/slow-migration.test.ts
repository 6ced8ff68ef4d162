import test from 'ava';
import { migrate, schemaStatus } from '../../server/db/migrate.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { createDatabase, PATIENT } from '../support/database.ts';

test('a migration that takes longer than the request time limit is not aborted', async (t) => {
  const { url, drop } = await createDatabase();
  t.teardown(drop);
  const before = await openDatabase({ kind: 'postgres', url, poolSize: 1, timeouts: PATIENT });
  // As on large tables: the first statement about an index takes five seconds.
  for (const statement of [
    'drop schema public cascade',
    'create schema public',
    'create sequence public.begun',
    `create function public.linger() returns event_trigger language plpgsql as
       $$ begin if nextval('public.begun') = 1 then perform pg_sleep(5); end if; end $$`,
    `create event trigger linger on ddl_command_start when tag in ('CREATE INDEX') execute function public.linger()`,
  ])
    await before.em.execute(statement);
  await before.close();
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 2 });
  t.teardown(() => database.close());
  t.deepEqual((await migrate(database)).pending, []);
  t.deepEqual((await schemaStatus(database)).pending, []);
});
