import { sql } from 'kysely';
import test from 'ava';
import { openDatabase } from '../../server/db/orm.ts';
import { createRateLimits } from '../../server/db/rate-limits.ts';
import { createStore } from '../../server/db/store.ts';
import { PATIENT, postgresDatabase } from '../support/database.ts';
import { startPostgres } from '../support/postgres.ts';
import { until } from '../support/service.ts';
import { layStatementCable } from '../support/statement-cable.ts';

test('connections that are lost during a transaction do not use up the pool', async (t) => {
  const { store } = await postgresDatabase(t, 2);
  for (let turn = 0; turn < 5; turn++) {
    const lost = store.transaction((tx) => tx.sql`select pg_terminate_backend(pg_backend_pid())`);
    await t.throwsAsync(lost, { message: /terminat/i });
  }
  t.deepEqual(await store.transaction((tx) => tx.sql`select 1 as one`), [{ one: 1 }]);
});

test('the first failure is reported if the rollback fails too', async (t) => {
  const { store } = await postgresDatabase(t, 2);
  const failed = store.transaction(async (tx) => {
    await tx.sql`select pg_terminate_backend(pg_backend_pid())`.catch(() => {});
    throw new Error('on purpose');
  });
  await t.throwsAsync(failed, { message: 'on purpose' });
});

test('a statement with a kept plan returns the same after other statements and after a failed one', async (t) => {
  const { store } = await postgresDatabase(t, 1);
  const add = (a: number, b: number) =>
    store.read((tx) => tx.sql<{ sum: number }>`select ${a}::int + ${b}::int as sum`);
  t.deepEqual(await add(1, 2), [{ sum: 3 }]);
  await t.throwsAsync(add(2_147_483_647, 1), { message: /out of range/ });
  t.deepEqual(await store.read((tx) => tx.sql`select ${'x'}::text as text`), [{ text: 'x' }]);
  t.deepEqual(await add(3, 4), [{ sum: 7 }]);
});

test('a table that gains a column keeps its readers working', async (t) => {
  const { store } = await postgresDatabase(t, 1);
  const row = { jti: 'j', owner: 'o', expiresAt: new Date(0), revokedAt: new Date(0) };
  await store.transaction((tx) => tx.revokedTokens.insert(row));
  t.deepEqual(await store.read((tx) => tx.revokedTokens.find({ jti: 'j' })), row);
  await store.transaction((tx) => tx.sql`alter table revoked_tokens add column more text`);
  t.deepEqual(await store.read((tx) => tx.revokedTokens.find({ jti: 'j' })), row);
});

for (const prepared of ['on', 'off'] as const)
  test(`Database.Prepared = ${prepared}: a connection keeps ${prepared === 'on' ? 'plans under names of their texts' : 'nothing'}`, async (t) => {
    const { url } = await postgresDatabase(t, 1);
    const database = await openDatabase({ kind: 'postgres', url, poolSize: 1, prepared, timeouts: PATIENT });
    t.teardown(() => database.close());
    const store = createStore(database, async () => {});
    const row = { jti: 'j', owner: 'o', expiresAt: new Date(0), revokedAt: new Date(0) };
    await store.transaction(async (tx) => {
      await tx.revokedTokens.insert(row);
      await tx.savepoint((part) => part.revokedTokens.update({ jti: 'j' }, { owner: 'p' }));
      t.is((await tx.revokedTokens.lock({ jti: 'j' }))?.owner, 'p');
    });
    t.deepEqual(await store.read((tx) => tx.revokedTokens.list({}, { limit: 5 })), [{ ...row, owner: 'p' }]);
    t.deepEqual(await store.read((tx) => tx.sql`select ${7}::int as n`), [{ n: 7 }]);
    t.true((await createRateLimits(database).consume('k', 1, 60)).allowed);
    const kept = await database.em.execute<{ name: string }[]>('select name from pg_prepared_statements');
    // Behind a pooler transaction control is sent as a message of its own.
    const names = database.pooler ? 6 : 9;
    t.is(kept.length, prepared === 'on' ? names : 0);
    for (const { name } of kept) t.regex(name, /^pay_(?:[\w-]{22}|begin|savepoint|release)$/);
  });

test('after a black hole killed every connection of the pool, only the first caller waits', async (t) => {
  const direct = await postgresDatabase(t);
  const cable = await layStatementCable(t, direct.url);
  const timeouts = { query: 3_000, statement: 2_500 };
  const database = await openDatabase({ kind: 'postgres', url: cable.url, poolSize: 8, timeouts });
  t.teardown(() => database.close());
  const store = createStore(database, () => {});
  const read = () => store.read((tx) => tx.sql`select 1 as one`);
  await Promise.all(Array.from({ length: 8 }, () => store.read((tx) => tx.sql`select pg_sleep(0.2)`)));
  const [{ n }] = (await direct.store.read(
    (tx) => tx.sql`select count(*)::int as n from pg_stat_activity where datname = current_database()`,
  )) as [{ n: number }];
  t.true(n >= 8, `${n} connections`);
  cable.strikeNext(/select 1/, 'black-hole');
  await t.throwsAsync(read(), { message: /timeout/i });
  cable.mend();
  for (let turn = 0; turn < 8; turn += 1) t.deepEqual(await read(), [{ one: 1 }], `statement ${turn}`);
});

test('closing waits for a running transaction, which completes normally', async (t) => {
  const { url } = await postgresDatabase(t);
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: PATIENT });
  const store = createStore(database, () => {});
  const began = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const work = store.transaction(async (tx) => {
    await tx.sql`select 1`;
    began.resolve();
    await gate.promise;
    return tx.sql`select 2 as two`;
  });
  await began.promise;
  const closing = database.close();
  gate.resolve();
  t.deepEqual(await work, [{ two: 2 }]);
  await closing;
  await t.throwsAsync(store.read((tx) => tx.sql`select 3`));
});

test('commits that wait for an unreachable standby hold no more connections than the pool has, and continue when the standby is dropped', async (t) => {
  const postgres = await startPostgres({ durable: true });
  t.teardown(() => postgres.stop());
  const open = async (poolSize: number, timeouts = {}) => {
    const database = await openDatabase({ kind: 'postgres', url: postgres.url, poolSize, timeouts });
    t.teardown(() => database.close());
    return createStore(database, () => {});
  };
  const admin = await open(1, PATIENT);
  const tell = (text: string) => admin.autocommit((tx) => tx.sql`${sql.raw(text)}`);
  await tell('create table kept (turn int)');
  const standby = async (name: string) => {
    await tell(`alter system set synchronous_standby_names = '${name}'`);
    await tell('select pg_reload_conf()');
    const setting = "select current_setting('synchronous_standby_names') as name";
    await until('it is read', async () => {
      const [row] = await admin.read((tx) => tx.sql<{ name: string }>`${sql.raw(setting)}`);
      return row?.name === name;
    });
  };
  const store = await open(3, { query: 300, statement: 250, connect: 300 });
  await store.read((tx) => tx.sql`select 1`);
  const backends = () =>
    admin.read(
      (tx) =>
        tx.sql<{ waits: string | null }>`select wait_event as waits from pg_stat_activity
         where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
  const waiting = async () => (await backends()).filter(({ waits }) => waits === 'SyncRep').length;

  await standby('away');
  const most: number[] = [];
  for (let turn = 0; turn < 12; turn += 1) {
    await t.throwsAsync(store.transaction((tx) => tx.sql`insert into kept values (${sql.lit(turn)})`));
    most.push((await backends()).length);
  }
  t.is(await waiting(), 3, 'each connection of the pool once');
  // One more connection may check which of them have ended.
  t.true(Math.max(...most) <= 4, most.join());

  await standby('');
  await until('served again', async () => store.read((tx) => tx.sql`select 1`).then(Boolean, () => false));
  t.is(await waiting(), 0);
  const [row] = await admin.read((tx) => tx.sql<{ n: number }>`select count(*)::int as n from kept`);
  t.is(row?.n, 3, 'exactly the sent statements were committed');
});
