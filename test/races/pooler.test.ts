import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { openDatabase } from '../../server/db/orm.ts';
import { carriesNames } from '../../server/db/connections.ts';
import { createRateLimits } from '../../server/db/rate-limits.ts';
import { createStore } from '../../server/db/store.ts';
import { inParallel } from '../support/counts.ts';
import { createDatabase, PATIENT } from '../support/database.ts';
import { pgbouncerVersion, startPgbouncer } from '../support/pgbouncer.ts';

const version = pgbouncerVersion();
/** PgBouncer can carry named statements from 1.21, and does so by default from 1.24. */
const carries = version !== undefined && Number(version.split('.')[1]) >= 24;

const SHORT = { query: 20_000, statement: 700, lock: 300 };

/** A database through its own pooler. */
async function pooled(
  t: ExecutionContext,
  {
    timeouts = PATIENT,
    ...options
  }: NonNullable<Parameters<typeof startPgbouncer>[1]> & { timeouts?: Partial<typeof PATIENT> } = {},
) {
  const { url: direct, drop } = await createDatabase({ direct: true });
  const pooler = await startPgbouncer(direct, options);
  const url = pooler.at(direct);
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 6, timeouts });
  t.teardown(async () => {
    await database.close();
    await pooler.stop();
    await drop();
  });
  return { url, database, store: createStore(database, () => {}) };
}

if (version === undefined)
  test('behind a pooler', (t) => {
    t.log('Not run: this machine has no pgbouncer.');
    t.pass();
  });
else {
  for (const [how, more] of [
    ['its defaults', []],
    [
      'limits of sessions ignored',
      ['ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout'],
    ],
  ] as const)
    test(`PgBouncer in transaction mode with ${how}: every transaction has the limits, and plans are named only if the pooler carries them`, async (t) => {
      const { database, store } = await pooled(t, { more, timeouts: SHORT });
      t.is(database.pooler?.prepared, carries);
      t.regex(
        String(database.pooler?.missing),
        /alter role postgres set statement_timeout = 700; alter role postgres set lock_timeout = 300/,
      );
      const of = (name: string) => `select current_setting('${name}') as is`;
      const bounds = await store.transaction(async (tx) => [
        await tx.sql`${sql.raw(of('statement_timeout'))}`,
        await tx.sql`${sql.raw(of('lock_timeout'))}`,
        await tx.sql`${sql.raw(of('idle_in_transaction_session_timeout'))}`,
      ]);
      t.deepEqual(bounds.flat(), [{ is: '700ms' }, { is: '300ms' }, { is: '10s' }]);
      // No setting stays on the connection.
      t.deepEqual(await store.read((tx) => tx.sql`${sql.raw(of('statement_timeout'))}`), [{ is: '0' }]);
      await t.throwsAsync(
        store.transaction((tx) => tx.sql`select pg_sleep(5)`),
        { message: /statement timeout/ },
      );
      await t.throwsAsync(
        store.autocommit((tx) => tx.sql`select pg_sleep(5)`),
        { message: /statement timeout/ },
      );
    });

  test('two services over four pooler connections never share rows, plans or locks', async (t) => {
    const { database, store, url } = await pooled(t, { connections: 4 });
    const other = await openDatabase({ kind: 'postgres', url, poolSize: 6, timeouts: PATIENT });
    t.teardown(() => other.close());
    const stores = [store, createStore(other, () => {})];
    const limits = createRateLimits(database);
    const row = (jti: string) => ({ jti, owner: 'o', expiresAt: new Date(0), revokedAt: new Date(0) });
    await inParallel(400, 24, async (turn) => {
      const mine = stores[turn % 2]!;
      const jti = `j-${turn}`;
      await mine.transaction(async (tx) => {
        await tx.advisoryLock(`l-${turn % 7}`);
        await tx.revokedTokens.insert(row(jti));
        await tx.savepoint((part) => part.revokedTokens.update({ jti }, { owner: jti }));
      });
      t.is((await mine.read((tx) => tx.revokedTokens.find({ jti })))?.owner, jti);
      t.deepEqual(await mine.read((tx) => tx.sql`select ${turn}::int + ${1}::int as sum`), [{ sum: turn + 1 }]);
      t.true((await limits.consume(jti, 1, 60)).allowed);
    });
    t.is(await store.read((tx) => tx.revokedTokens.count({})), 400);
  });

  test('a service ignores statement names that an earlier service left on a pooler connection', async (t) => {
    const { url, drop } = await createDatabase({ direct: true });
    const pooler = await startPgbouncer(url, { connections: 2 });
    t.teardown(async () => {
      await pooler.stop();
      await drop();
    });
    const through = pooler.at(url);
    const answers: boolean[] = [];
    for (let start = 0; start < 4; start += 1) {
      // The connection given out last has the leftovers of earlier starts ("pay_probe" is a former name).
      const [early, late] = [new pg.Client(through), new pg.Client(through)];
      await Promise.all([early.connect(), late.connect()]);
      await early.query('begin');
      await late.query('begin');
      const { rows } = await late.query<{ name: string }>('select name from pg_prepared_statements');
      for (const name of ['pay_probe', ...rows.map((row) => row.name)])
        await early
          .query(`savepoint s; prepare "${name}" as select pg_backend_pid() as pid, cast($1 as int) as turn`)
          .catch(() => early.query('rollback to s'));
      await early.query('commit');
      await late.query('commit');
      answers.push(await carriesNames({ connectionString: through }));
      await Promise.all([early.end(), late.end()]);
    }
    t.deepEqual(answers, [carries, carries, carries, carries]);
  });

  test('Database.Prepared = on and off override the detection', async (t) => {
    const { url, drop } = await createDatabase({ direct: true });
    const pooler = await startPgbouncer(url);
    t.teardown(async () => {
      await pooler.stop();
      await drop();
    });
    for (const prepared of ['on', 'off'] as const) {
      const database = await openDatabase({ kind: 'postgres', url: pooler.at(url), poolSize: 2, prepared });
      t.is(database.pooler?.prepared, prepared === 'on');
      await database.close();
    }
  });
}
