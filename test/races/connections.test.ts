import test from 'ava';
import { postgresDatabase } from '../support/database.ts';

test('connections that are lost in the middle of a transaction do not use up the pool', async (t) => {
  const { store } = await postgresDatabase(t, 2);
  for (let turn = 0; turn < 5; turn++) {
    const lost = store.transaction((tx) => tx.sql('select pg_terminate_backend(pg_backend_pid())'));
    await t.throwsAsync(lost, { message: /terminat/i });
  }
  t.deepEqual(await store.transaction((tx) => tx.sql('select 1 as one')), [{ one: 1 }]);
});

test('the first failure is what is told, not that the rollback failed too', async (t) => {
  const { store } = await postgresDatabase(t, 2);
  const failed = store.transaction(async (tx) => {
    await tx.sql('select pg_terminate_backend(pg_backend_pid())').catch(() => {});
    throw new Error('on purpose');
  });
  await t.throwsAsync(failed, { message: 'on purpose' });
});

test('a statement whose plan is kept is still itself after other statements, and after one that failed', async (t) => {
  const { store } = await postgresDatabase(t, 1);
  const add = (a: number, b: number) =>
    store.read((tx) => tx.prepared<{ sum: number }>('select ?::int + ?::int as sum', [a, b]));
  t.deepEqual(await add(1, 2), [{ sum: 3 }]);
  await t.throwsAsync(add(2_147_483_647, 1), { message: /out of range/ });
  t.deepEqual(await store.read((tx) => tx.prepared('select ?::text as text', ['x'])), [{ text: 'x' }]);
  t.deepEqual(await add(3, 4), [{ sum: 7 }]);
});

test('a table that gets a column keeps its readers', async (t) => {
  const { store } = await postgresDatabase(t, 1);
  const row = { jti: 'j', owner: 'o', expiresAt: new Date(0), revokedAt: new Date(0) };
  await store.transaction((tx) => tx.revokedTokens.insert(row));
  t.deepEqual(await store.read((tx) => tx.revokedTokens.find({ jti: 'j' })), row);
  await store.transaction((tx) => tx.sql('alter table revoked_tokens add column more text'));
  t.deepEqual(await store.read((tx) => tx.revokedTokens.find({ jti: 'j' })), row);
});
