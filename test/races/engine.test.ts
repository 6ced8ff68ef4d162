import test, { type ExecutionContext } from 'ava';
import { requireEngine } from '../../server/db/engine.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { embeddedDatabase, postgresDatabase } from '../support/database.ts';
import { buildApp } from '../../server/app.ts';
import { ensureEmbeddedSecrets } from '../../config/embedded-secrets.ts';
import { loadConfig } from '../../config/load.ts';

/** A PostgreSQL with a masked catalogue, like another engine with its protocol. */
async function disguised(t: ExecutionContext, statements: readonly string[]) {
  const { url, database } = await postgresDatabase(t);
  await database.em.execute('create schema disguise');
  for (const statement of statements) await database.em.execute(statement);
  const name = new URL(url).pathname.slice(1);
  await database.em.execute(`alter database ${name} set search_path = disguise, pg_catalog, public`);
  const seen = await openDatabase({ kind: 'postgres', url, poolSize: 2 });
  t.teardown(() => seen.close());
  return { seen, url };
}

const HIDDEN = [`create view disguise.pg_locks as select * from pg_catalog.pg_locks where locktype <> 'advisory'`];

test('PostgreSQL and the embedded database have the required features', async (t) => {
  const { database } = await postgresDatabase(t);
  await t.notThrowsAsync(requireEngine(database));
  await t.notThrowsAsync(requireEngine((await embeddedDatabase(t)).database));
});

test('a database whose pg_locks hides advisory locks is refused at start with a clear message', async (t) => {
  const { seen, url } = await disguised(t, HIDDEN);
  const refusal = { code: 'engine_unsupported', message: /not shown by pg_locks/ };
  await t.throwsAsync(requireEngine(seen), refusal);
  const env = {
    PAY_DATABASE_URL: url,
    PAY_JWT_SECRET_KEY: 'k'.repeat(40),
    PAY_SECURITY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    PAY_LOG_LEVEL: 'silent',
  };
  const config = await ensureEmbeddedSecrets(loadConfig({ argv: {}, env, cwd: '/' }));
  await t.throwsAsync(buildApp(config), refusal);
});

test('advisory locks that succeed without locking are detected', async (t) => {
  const { seen } = await disguised(t, [
    'create function disguise.pg_advisory_xact_lock_shared(int, int) returns void language sql as $$ select $$',
  ]);
  await t.throwsAsync(requireEngine(seen), { code: 'engine_unsupported', message: /not shown by pg_locks/ });
});

test('missing lock functions are an engine defect, a lost connection is not', async (t) => {
  const { seen } = await disguised(t, [
    `create function disguise.pg_advisory_xact_lock_shared(int, int) returns void language plpgsql as
       $$ begin raise exception 'unimplemented' using errcode = '0A000'; end $$`,
  ]);
  await t.throwsAsync(requireEngine(seen), { code: 'engine_unsupported' });
  const { database } = await postgresDatabase(t);
  await database.close();
  const error = await t.throwsAsync(requireEngine(database));
  t.not((error as { code?: string }).code, 'engine_unsupported');
});

test('a probe that times out is reported as a timeout, although its rollback fails on the closed connection', async (t) => {
  const { url } = await disguised(t, [
    `create function disguise.pg_advisory_xact_lock_shared(int, int) returns void language sql as
       $$ select pg_catalog.pg_sleep(2) $$`,
  ]);
  const hasty = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: { query: 500, statement: 0 } });
  t.teardown(() => hasty.close());
  await t.throwsAsync(requireEngine(hasty), { message: 'Query read timeout' });
});
