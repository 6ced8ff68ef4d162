import { sql } from 'kysely';
import test from 'ava';
import fc from 'fast-check';
import pg from 'pg';
import { openDatabase } from '../../server/db/orm.ts';
import { RequestTime, withinRequestTime } from '../../server/db/pool.ts';
import { createStore, type Store, type Tx } from '../../server/db/store.ts';
import { count } from '../support/counts.ts';
import { createDatabase, PATIENT, type TestDatabase } from '../support/database.ts';

/** One act of a transaction; a part is a savepoint with its own acts. */
type Act = { do: 'insert' | 'insert-text'; n: number } | { do: 'throw' } | { do: 'part'; acts: Act[]; caught: boolean };

const { act } = fc.letrec<{ act: Act }>((tie) => ({
  act: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({ do: fc.constantFrom('insert' as const, 'insert-text' as const), n: fc.integer({ min: 1, max: 6 }) }),
    fc.constant({ do: 'throw' as const }),
    fc.record({ do: fc.constant('part' as const), acts: fc.array(tie('act'), { maxLength: 4 }), caught: fc.boolean() }),
  ),
}));

async function perform(tx: Tx, acts: readonly Act[]): Promise<void> {
  for (const one of acts) {
    if (one.do === 'throw') throw new Error('thrown');
    // pg sends statements with values and without values in two ways.
    if (one.do === 'insert') await tx.sql`insert into acts (n) values (${one.n})`;
    if (one.do === 'insert-text') await tx.sql`insert into acts (n) values (${sql.lit(one.n)})`;
    if (one.do !== 'part') continue;
    const part = tx.savepoint((inner) => perform(inner, one.acts));
    await (one.caught ? part.catch(() => {}) : part);
  }
}

/** The outcome of each transaction, and the final rows of the table. */
async function outcomes(store: Store, program: readonly (readonly Act[])[]): Promise<unknown> {
  await store.transaction((tx) => tx.sql`truncate acts`);
  const ends: string[] = [];
  for (const acts of program) {
    const end = store
      .transaction((tx) => perform(tx, acts))
      .then(
        () => 'done',
        (error: Error) => error.message.replace(/^[^]*(duplicate key[^\n]*)[^]*$/, '$1'),
      );
    ends.push(await end);
  }
  const rows = await store.read((tx) => tx.sql<{ n: number }>`select n from acts order by n`);
  return { ends, rows };
}

async function opened(
  t: { teardown(end: () => Promise<void>): void },
  prepared: 'on' | 'off',
  poolSize = 1,
): Promise<TestDatabase> {
  const { url, drop } = await createDatabase({ direct: true });
  const database = await openDatabase({ kind: 'postgres', url, poolSize, prepared, timeouts: PATIENT });
  t.teardown(async () => {
    await database.close();
    await drop();
  });
  const store = createStore(database, () => {});
  await store.autocommit((tx) => tx.sql`create table acts (n int primary key)`);
  return { url, database, store };
}

test('deferred statements do not change the outcome of any transaction', async (t) => {
  const [holding, plain] = [await opened(t, 'on'), await opened(t, 'off')];
  const programs = fc.array(fc.array(act, { maxLength: 5 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      t.deepEqual(await outcomes(holding.store, program), await outcomes(plain.store, program));
    }),
    { numRuns: count(2_000, 150) },
  );
});

/** Records the texts of the messages that a process sends, each with the statements sent before it. */
function watchMessages(t: { teardown(end: () => void): void }): { take(): string[] } {
  const { query } = pg.Client.prototype;
  const seen: string[] = [];
  pg.Client.prototype.query = function (this: pg.Client, ...words: Parameters<typeof query>) {
    const [{ text, names = [] }] = words as unknown as [{ text: string; names?: readonly string[] }];
    seen.push([...names, text].join(' | '));
    return Reflect.apply(query, this, words);
  } as never;
  t.teardown(() => void Object.assign(pg.Client.prototype, { query }));
  return { take: () => seen.splice(0) };
}

test.serial('a begin is sent with the next statement, and is not sent at all if none follows', async (t) => {
  const { store } = await opened(t, 'on');
  const insert = (tx: Tx, n: number) => tx.sql`insert into acts (n) values (${n})`;
  // A connection prepares each of them once.
  await store.transaction((tx) => tx.savepoint((part) => insert(part, 1)));
  await store.transaction((tx) => tx.savepoint((part) => insert(part, 2)));
  const { take } = watchMessages(t);
  await store.transaction((tx) => tx.savepoint((part) => insert(part, 3)));
  t.deepEqual(take(), ['pay_begin | pay_savepoint | insert into acts (n) values ($1)', 'commit']);
  await store.transaction(async (tx) => {
    await insert(tx, 4);
    await tx.savepoint(async () => {});
    await tx.savepoint((part) => insert(part, 5));
    await insert(tx, 6);
  });
  t.deepEqual(take(), [
    'pay_begin | insert into acts (n) values ($1)',
    'pay_savepoint | insert into acts (n) values ($1)',
    'pay_release | insert into acts (n) values ($1)',
    'commit',
  ]);
  await store.transaction(async (tx) => tx.savepoint(async () => {}));
  await t.throwsAsync(store.transaction(() => Promise.reject(new Error('no'))));
  t.deepEqual(take(), []);
});

test.serial('a request that times out during a deferred begin writes nothing outside of its transaction', async (t) => {
  const { store } = await opened(t, 'on', 1);
  const insert = (tx: Tx, n: number) => tx.sql`insert into acts (n) values (${n})`;
  await store.transaction((tx) => insert(tx, 1));
  let spent = 0;
  const time = new RequestTime(1_000, () => spent);
  const done = withinRequestTime(time, () =>
    store.transaction(async (tx) => {
      time.startWaiting();
      spent = 5_000;
      time.stopWaiting();
      await insert(tx, 2).catch(() => {});
      time.end();
      // An uncaught failure would end the transaction; this caller continues anyway.
      await insert(tx, 3);
      throw new Error('rolled back');
    }),
  );
  await t.throwsAsync(done, { message: 'rolled back' });
  const rows = await store.read((tx) => tx.sql`select n from acts order by n`);
  t.deepEqual(rows, [{ n: 1 }]);
});

test.serial('a begin that PostgreSQL refuses fails the statements that follow it', async (t) => {
  const { url, store } = await opened(t, 'on', 1);
  const insert = (tx: Tx, n: number) => tx.sql`insert into acts (n) values (${n})`;
  await store.transaction((tx) => insert(tx, 1));
  // The prepared begin is deallocated behind the service's back, so that it alone fails.
  await store.autocommit((tx) => tx.sql`deallocate pay_begin`);
  const went = store.transaction(async (tx) => {
    await insert(tx, 2).catch(() => {});
    await insert(tx, 3);
  });
  await t.throwsAsync(went, { message: /pay_begin/ });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  t.deepEqual((await client.query('select n from acts')).rows, [{ n: 1 }]);
  await store.transaction((tx) => insert(tx, 4));
  t.is((await client.query('select n from acts')).rowCount, 2, 'the next transaction begins like the first one');
});
