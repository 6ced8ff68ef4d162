import { type Insertable, sql } from 'kysely';
import test from 'ava';
import type { takeStock } from '../../../server/db/queries/catalog.ts';
import type { claimDueRefund } from '../../../server/db/queries/due.ts';
import { listEvents, type appendEvent } from '../../../server/db/queries/events.ts';
import type { listOrders } from '../../../server/db/queries/orders.ts';
import type { BillSum } from '../../../server/domain.ts';
import type { asJson, Database } from '../../../server/db/kysely.ts';
import type { ReadTx, Store, Tx } from '../../../server/db/store.ts';
import { postgresDatabase } from '../../support/database.ts';

const row = { jti: 'j', owner: 'o', expiresAt: new Date(0), revokedAt: new Date(0) };

type Takes<Query extends (tx: never, ...rest: never[]) => unknown, Given> = [Given] extends [Parameters<Query>[0]]
  ? true
  : false;
type Missing<Type, Name extends string> = [Extract<keyof Type, Name>] extends [never] ? true : false;
type TableName = Exclude<keyof ReadTx, 'sql' | 'db'>;
type NoTableWrites = { [Name in TableName]: Missing<ReadTx[Name], Writing> }[TableName];
/** A document without `asJson` is refused: pg would turn an empty list into `{}`. */
type Document = Insertable<Database['bills']>['sums'];
type Writing = 'insert' | 'insertMany' | 'insertIfNew' | 'update' | 'delete' | 'lock';

test('the compiler rejects writes in a read and allows reads in a transaction', (t) => {
  const reading: [Takes<typeof listOrders, ReadTx>, Takes<typeof listOrders, Tx>] = [true, true];
  const writing: [Takes<typeof takeStock, Tx>, Takes<typeof appendEvent, Tx>] = [true, true];
  const refused: [
    Takes<typeof takeStock, ReadTx>,
    Takes<typeof appendEvent, ReadTx>,
    Takes<typeof claimDueRefund, ReadTx>,
    Takes<Parameters<Store['transaction']>[0], ReadTx>,
    Takes<Parameters<Store['autocommit']>[0], ReadTx>,
  ] = [false, false, false, false, false];
  const tables: [NoTableWrites] extends [true] ? true : false = true;
  const members: Missing<ReadTx, 'savepoint' | 'advisoryLock' | 'afterCommit'> = true;
  t.deepEqual(refused, [false, false, false, false, false]);
  const documents: [
    [[]] extends [Document] ? true : false,
    [ReturnType<typeof asJson<BillSum[]>>] extends [Document] ? true : false,
  ] = [false, true];
  t.deepEqual(documents, [false, true]);
  t.true([...reading, ...writing, tables, members].every(Boolean));
});

test('a read transaction exposes no write at run time', async (t) => {
  const { store } = await postgresDatabase(t);
  await store.autocommit((tx) => tx.revokedTokens.insert(row));
  await store.read(async (tx) => {
    t.deepEqual(Object.keys(tx).toSorted(), ['db', 'sql']);
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(tx)).filter((name) => name !== 'constructor');
    t.is(names.length, 47);
    for (const name of names)
      t.deepEqual(methodsOf(tx[name as keyof ReadTx]), ['count', 'find', 'list', 'listWith', 'rows'], name);
    const writes = [
      `update revoked_tokens set owner = 'x'`,
      ` DELETE from revoked_tokens`,
      `with gone as (delete from revoked_tokens returning jti) select * from gone`,
      `select jti into other from revoked_tokens`,
      `select * from revoked_tokens for update`,
      `select * from revoked_tokens for key share`,
      `select nextval('events_sequence_seq')`,
      `select pg_advisory_xact_lock(1)`,
      `lock table revoked_tokens`,
      `explain analyze insert into revoked_tokens default values`,
    ];
    const refused = { instanceOf: TypeError, message: /only reads/ };
    for (const text of writes) await t.throwsAsync(tx.sql`${sql.raw(text)}`, refused, text);
    const db = tx.db as Tx['db'];
    const built = {
      insert: db.insertInto('revoked_tokens').values(row),
      update: db.updateTable('revoked_tokens').set({ owner: 'x' }),
      delete: db.deleteFrom('revoked_tokens'),
      lock: tx.revokedTokens.rows().forUpdate(),
      'a write in a with': tx.db
        .with('gone', (inner) => inner.deleteFrom('revoked_tokens').returning('jti'))
        .selectFrom('gone')
        .selectAll(),
      'a function that writes': tx.db.selectNoFrom(sql`nextval('events_sequence_seq')`.as('n')),
    };
    for (const [name, statement] of Object.entries(built))
      await t.throwsAsync(async () => statement.execute(), refused, name);
    t.deepEqual(await tx.sql`select owner from revoked_tokens where owner <> 'admin.update'`, [{ owner: 'o' }]);
    t.deepEqual(await tx.revokedTokens.rows().distinct().execute(), [row]);
    t.deepEqual(await tx.sql`with one as (select ${'a'}::text as word) select word from one`, [{ word: 'a' }]);
    t.deepEqual(await listEvents(tx, {}, 0n, 10), []);
  });
});

test('every column is the snake-case name of its property and is read back as that property', async (t) => {
  const { store, database } = await postgresDatabase(t);
  let columns = 0;
  for (const { tableName, props } of database.em.getMetadata()) {
    const names = props.map(({ name }) => name);
    await store.read(async ({ db }) => {
      const statement = db.selectFrom(tableName as 'orders').select(names as ['orderNo']);
      t.deepEqual(await statement.limit(0).execute(), [], tableName);
      const [row] = await db.selectNoFrom(names.map((name) => sql`1`.as(name))).execute();
      t.deepEqual(Object.keys(row!), names);
    });
    columns += names.length;
  }
  t.true(columns > 600, `${columns} columns`);
});

test('autocommit allows one statement and refuses a second one or one that needs a transaction', async (t) => {
  const { store } = await postgresDatabase(t);
  t.is(await store.autocommit((tx) => tx.revokedTokens.update({ jti: 'absent' }, { owner: 'p' })), 0);
  const two = store.autocommit(async (tx) => {
    await tx.revokedTokens.insert(row);
    await tx.revokedTokens.update({ jti: 'j' }, { owner: 'never' });
  });
  await t.throwsAsync(two, { instanceOf: TypeError, message: /one statement/ });
  t.deepEqual(await store.read((tx) => tx.revokedTokens.list({})), [row]);
  const alone: ((tx: Tx) => Promise<unknown>)[] = [
    (tx) => tx.revokedTokens.lock({ jti: 'j' }),
    (tx) => tx.savepoint(async () => {}),
    (tx) => tx.advisoryLock('name'),
    (tx) => tx.afterCommit('queue', {}),
  ];
  for (const work of alone)
    await t.throwsAsync(store.autocommit(work), { instanceOf: TypeError, message: /transaction/ });
});

function methodsOf(object: object): string[] {
  const names = new Set<string>();
  for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name);
  return [...names].toSorted();
}
