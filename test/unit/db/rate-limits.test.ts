import test from 'ava';
import { createRateLimits } from '../../../server/db/rate-limits.ts';
import { embeddedDatabase } from '../../support/database.ts';

test('the embedded database consumes, reads and deletes rate limits', async (t) => {
  const { database } = await embeddedDatabase(t);
  const limits = createRateLimits(database);
  const allowed = [];
  for (let at = 0; at < 4; at += 1) {
    const { allowed: one, remaining } = await limits.consume('k', 2, 600);
    allowed.push([one, remaining]);
  }
  t.deepEqual(allowed, [
    [true, 1],
    [true, 0],
    [false, 0],
    [false, 0],
  ]);
  const fresh = createRateLimits(database);
  t.false((await fresh.peek([{ key: 'k', limit: 2 }])).allowed);
  t.true((await fresh.peek([{ key: 'k', limit: 4 }])).allowed);
  t.is(await fresh.deleteExpired(new Date(Date.now() + 3_600_000)), 1);
  t.deepEqual(await fresh.consume('k', 2, 1), { allowed: true, limit: 2, remaining: 1, resetSeconds: 1 });
});
