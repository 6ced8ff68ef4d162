import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import { PART_ROWS, deleteOldKeys } from '../../server/db/queries/retention.ts';
import { identityQueries } from '../../server/db/queries/identity.ts';
import { createRateLimits } from '../../server/db/rate-limits.ts';
import { count } from '../support/counts.ts';
import { orderRow } from '../support/core-rows.ts';
import type { TestDatabase } from '../support/database.ts';
import { watched } from './watched.ts';

const ROWS = count(200_000, 50_000);
/** As many rows as the service's statement time-out allows on a slow machine. */
const CHUNK = 10_000;
const DAY = 86_400_000;

async function inChunks({ store }: TestDatabase, insert: string): Promise<void> {
  for (let from = 1; from <= ROWS; from += CHUNK)
    await store.transaction(
      (tx) => tx.sql`${sql.raw(insert)} from generate_series(${from}::int, ${from + CHUNK - 1}::int) n`,
    );
}

function bounded(t: ExecutionContext, taken: readonly number[], all: number): void {
  t.is(
    taken.reduce((sum, n) => sum + n, 0),
    all,
  );
  t.true(Math.max(...taken) <= PART_ROWS, `${Math.max(...taken)} rows in one statement`);
}

test.serial('expired idempotency keys are deleted in bounded batches; those of open orders stay', async (t) => {
  const on = await watched(t, 'idempotency_keys');
  const { store } = on;
  const open = orderRow({ orderNo: 'OPEN', state: 'closing', clientId: 'shop' });
  await store.transaction((tx) => tx.orders.insert(open));
  await inChunks(
    on,
    `insert into idempotency_keys (scope, route, key, fingerprint, intent_no, state, created_at)
     select 'app:shop', 'pay', 'k' || n, 'f', case when n <= 5000 then 'OPEN' else 'P' || n end, 'done',
            now() - interval '30 days' + n * interval '1 millisecond'`,
  );
  await inChunksOfNew(on);
  const now = new Date();
  const stoppedAt = await deleteOldKeys(store, now, () => false);
  t.true(stoppedAt <= PART_ROWS, 'a stopping replica runs only one batch');
  const [one, other] = await Promise.all([deleteOldKeys(store, now), deleteOldKeys(store, now)]);
  t.is(stoppedAt + one + other, ROWS - 5000);
  bounded(t, await on.taken('idempotency_keys'), ROWS - 5000);
  t.is(await store.read((tx) => tx.keys.count({ intentNo: 'OPEN' })), 5000);
  t.is(await store.read((tx) => tx.keys.count({ scope: 'app:new' })), 10);
  t.is(await deleteOldKeys(store, now), 0);
  t.log(`${ROWS} keys in ${(await on.taken('idempotency_keys')).length} parts`);
});

async function inChunksOfNew({ store }: TestDatabase): Promise<void> {
  await store.transaction(
    (tx) =>
      tx.sql`insert into idempotency_keys (scope, route, key, fingerprint, state, created_at)
       select 'app:new', 'pay', 'k' || n, 'f', 'done', now() from generate_series(1, 10) n`,
  );
}

test.serial('expired limit windows are deleted in bounded batches; an active window stays', async (t) => {
  const on = await watched(t, 'rate_limits');
  const soon = Date.now() + DAY;
  await inChunks(
    on,
    `insert into rate_limits (key, points, expire) select 'ip:' || n, 1, case when n % 100 = 0 then ${soon} else n end`,
  );
  const limits = createRateLimits(on.database);
  t.is(await limits.deleteExpired(new Date()), ROWS * 0.99);
  bounded(t, await on.taken('rate_limits'), ROWS * 0.99);
  t.is(await limits.deleteExpired(new Date()), 0);
});

test.serial('revocations of expired tokens are deleted in bounded batches; the rest stays', async (t) => {
  const on = await watched(t, 'revoked_tokens');
  const { store } = on;
  await inChunks(
    on,
    `insert into revoked_tokens (jti, owner, expires_at, revoked_at)
     select 'j' || n, 'shop', now() + (case when n % 100 = 0 then 1 else -2 end) * interval '1 day', now()`,
  );
  t.is(await identityQueries.deleteExpiredRevocations(store), ROWS * 0.99);
  bounded(t, await on.taken('revoked_tokens'), ROWS * 0.99);
  t.is(await store.read((tx) => tx.revokedTokens.count({})), ROWS * 0.01);
});
