import test from 'ava';
import { createRateLimits } from '../../server/db/rate-limits.ts';
import { postgresDatabase } from '../support/database.ts';

test('uses at once by several replicas are counted exactly', async (t) => {
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

test('looking does not count, and one that is used up is enough', async (t) => {
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

test('when a window is over the next use begins a new one', async (t) => {
  const { database } = await postgresDatabase(t);
  await createRateLimits(database).consume('k', 1, 600);
  await database.em.fork().execute('update rate_limits set expire = 1');
  const fresh = createRateLimits(database);
  t.true((await fresh.peek([{ key: 'k', limit: 1 }])).allowed);
  const { allowed, remaining } = await fresh.consume('k', 1, 600);
  t.deepEqual([allowed, remaining], [true, 0]);
});
