import test from 'ava';
import { openDatabase } from '../../server/db/orm.ts';
import { createRateLimits } from '../../server/db/rate-limits.ts';
import { PATIENT, postgresDatabase } from '../support/database.ts';

test('concurrent uses by several replicas are counted exactly', async (t) => {
  const { database } = await postgresDatabase(t);
  const replicas = [1, 2, 3].map(() => createRateLimits(database));
  const quotas = await Promise.all(
    Array.from({ length: 60 }, (_, index) => replicas[index % 3]?.consume('app:x', 20, 600)),
  );
  t.is(quotas.filter((quota) => quota?.allowed).length, 20);
  const remaining = quotas.filter((quota) => quota?.allowed).map((quota) => quota?.remaining ?? -1);
  t.deepEqual(
    remaining.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, index) => index),
  );
});

test('a check without a use does not count, and one exhausted limit refuses', async (t) => {
  const { database } = await postgresDatabase(t);
  const [one, two] = [createRateLimits(database), createRateLimits(database)];
  const limits = [
    { key: 'login:a', limit: 2 },
    { key: 'login:b', limit: 1 },
  ];
  for (let at = 0; at < 5; at += 1) t.true((await one.peek(limits)).allowed);
  await one.consume('login:a', 2, 600);
  t.true((await two.peek(limits)).allowed);
  await one.consume('login:b', 1, 600);
  for (const replica of [one, two]) {
    const { allowed, resetSeconds } = await replica.peek(limits);
    t.false(allowed);
    t.true(resetSeconds > 0 && resetSeconds <= 600);
  }
});

test('the first use after a window ends begins a new window', async (t) => {
  const { database } = await postgresDatabase(t);
  await createRateLimits(database).consume('k', 1, 600);
  await database.em.fork().execute('update rate_limits set expire = 1');
  const fresh = createRateLimits(database);
  t.true((await fresh.peek([{ key: 'k', limit: 1 }])).allowed);
  const { allowed, remaining } = await fresh.consume('k', 1, 600);
  t.deepEqual([allowed, remaining], [true, 0]);
});

test('exactly the limit passes of many concurrent uses over two pools, in a new window too', async (t) => {
  const { database, url } = await postgresDatabase(t);
  const other = await openDatabase({ kind: 'postgres', url, poolSize: 10, timeouts: PATIENT });
  t.teardown(() => other.close());
  for (const round of ['the first window', 'the next window']) {
    const replicas = [createRateLimits(database), createRateLimits(other)];
    const quotas = await Promise.all(
      Array.from({ length: 80 }, async (_, index) => replicas[index % 2]!.consume('app:y', 17, 600)),
    );
    const allowed = quotas.filter((quota) => quota.allowed);
    t.is(allowed.length, 17, round);
    t.is(new Set(allowed.map(({ remaining }) => remaining)).size, 17, round);
    for (const { limit, remaining, resetSeconds } of quotas.filter((quota) => !quota.allowed)) {
      t.deepEqual([limit, remaining], [17, 0]);
      t.true(resetSeconds > 0 && resetSeconds <= 600, String(resetSeconds));
    }
    await database.em.fork().execute('update rate_limits set expire = 1');
  }
});

test('a use that waited for a later one does not say more seconds than the window has', async (t) => {
  const { database } = await postgresDatabase(t);
  const began = Date.now();
  await createRateLimits(database, () => began + 5).consume('app:z', 2, 600);
  const times = [began, began + 10];
  const waited = createRateLimits(database, () => times.shift() ?? began + 10);
  t.is((await waited.consume('app:z', 2, 600)).resetSeconds, 600);
});

test('a refused key is refused from memory, and only by its own limit', async (t) => {
  const { database } = await postgresDatabase(t);
  const limits = createRateLimits(database);
  for (let at = 0; at < 2; at += 1) await limits.consume('k', 1, 600);
  await database.em.fork().execute('delete from rate_limits');
  t.false((await limits.consume('k', 1, 600)).allowed);
  const raised = await limits.consume('k', 5, 600);
  t.deepEqual([raised.allowed, raised.remaining], [true, 4]);
});

test('expired windows are deleted', async (t) => {
  const { database } = await postgresDatabase(t);
  const limits = createRateLimits(database);
  await limits.consume('old', 1, 600);
  await limits.consume('new', 1, 7200);
  t.is(await limits.deleteExpired(new Date(Date.now() + 3_600_000)), 1);
  t.deepEqual(await database.em.fork().execute('select key from rate_limits'), [{ key: 'new' }]);
});
