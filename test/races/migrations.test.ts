import test, { type ExecutionContext } from 'ava';
import { MIGRATIONS } from '../../server/db/migrations/index.ts';
import { openDatabase, type OpenDatabase } from '../../server/db/orm.ts';
import { migrate } from '../../server/db/migrate.ts';
import { createDatabase, embeddedDatabase, PATIENT, postgresDatabase, type TestDatabase } from '../support/database.ts';

/** A column as the release that writes it knows it. */
interface Column {
  table: string;
  column: string;
  type: string;
  /** An insert may omit it. */
  optional: boolean;
}

interface Schema {
  columns: Map<string, Column>;
  /** Unique indexes, checks and foreign keys, by name and definition. */
  rules: Map<string, { table: string; text: string }>;
}

test('every migration only adds, so that replicas of the previous release keep reading and writing', async (t) => {
  const { url, drop } = await createDatabase({ direct: true, empty: true });
  t.teardown(drop);
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: PATIENT });
  t.teardown(() => database.close());
  let before: Schema | undefined;
  for (const { name } of MIGRATIONS) {
    await database.orm.migrator.up({ to: name });
    const after = await schemaOf(database);
    if (before) t.deepEqual(findBreaks(before, after), [], name);
    before = after;
  }
  await seesWhatBreaks(t, database, before!);
});

/** Tests the check itself: each of these changes would break a running replica of the previous release. */
async function seesWhatBreaks(t: ExecutionContext, database: OpenDatabase, before: Schema): Promise<void> {
  const breaking: [sql: string, found: RegExp][] = [
    ['drop table coins', /^coins\.\w+ is gone/],
    ['alter table orders drop column subject', /^orders\.subject is gone$/],
    ['alter table orders rename column subject to words', /^orders\.subject is gone$/],
    ['alter table orders alter column subject type varchar(4)', /^orders\.subject is character varying\(4\), was /],
    ['alter table orders add column words text not null', /^orders\.words must be set by every insert$/],
    ['alter table orders alter column merchant_order_no set not null', /^orders\.merchant_order_no must be set/],
    ['alter table orders add constraint dear check (amount > 10)', /^orders has a new rule: dear CHECK/],
    ['create unique index once on orders (subject)', /^orders has a new rule: once CREATE UNIQUE INDEX/],
  ];
  for (const [sql, found] of breaking) {
    const own = database.em.fork();
    await own.begin();
    await own.execute(sql);
    t.regex(findBreaks(before, await schemaOf({ ...database, em: own }))[0] ?? '', found, sql);
    await own.rollback();
  }
  t.deepEqual(findBreaks(before, await schemaOf(database)), []);
}

function findBreaks(before: Schema, after: Schema): string[] {
  const known = new Set([...before.columns.values()].map(({ table }) => table));
  const changed = [...before.columns].flatMap(([name, was]) => {
    const is = after.columns.get(name);
    if (!is) return [`${name} is gone`];
    if (is.type !== was.type) return [`${name} is ${is.type}, was ${was.type}`];
    return was.optional && !is.optional ? [`${name} must be set by every insert`] : [];
  });
  const demanded = [...after.columns].filter(
    ([name, { table, optional }]) => known.has(table) && !before.columns.has(name) && !optional,
  );
  const rules = [...after.rules].filter(([name, { table }]) => known.has(table) && !before.rules.has(name));
  return [
    ...changed,
    ...demanded.map(([name]) => `${name} must be set by every insert`),
    ...rules.map(([name, { table, text }]) => `${table} has a new rule: ${name} ${text}`),
  ];
}

async function schemaOf({ em }: Pick<OpenDatabase, 'em'>): Promise<Schema> {
  const ours = `c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`;
  const columns = (await em.execute(
    `select c.relname as "table", a.attname as "column", format_type(a.atttypid, a.atttypmod) as type,
            not a.attnotnull or a.atthasdef or a.attidentity <> '' as optional
       from pg_class c join pg_attribute a on a.attrelid = c.oid where ${ours} and a.attnum > 0 and not a.attisdropped`,
  )) as Column[];
  // A primary key of a partitioned table has more columns, so uniqueness is compared under the same name.
  const rules = (await em.execute(
    `select c.relname as "table", i.relname as name, pg_get_indexdef(i.oid) as text
       from pg_class c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid
      where ${ours} and x.indisunique and not x.indisprimary
     union all
     select c.relname, k.conname, pg_get_constraintdef(k.oid)
       from pg_class c join pg_constraint k on k.conrelid = c.oid where ${ours} and k.contype in ('c', 'f', 'x')`,
  )) as { table: string; name: string; text: string }[];
  return {
    columns: new Map(columns.map((one) => [`${one.table}.${one.column}`, one])),
    rules: new Map(rules.map(({ name, ...rule }) => [name, rule])),
  };
}

test('a database made by another first migration is refused with one message and stays unchanged', async (t) => {
  const builds: [string, TestDatabase, string][] = [
    ['PostgreSQL', await postgresDatabase(t, 10, { direct: true }), 'drop table schema_origin'],
    ['embedded', await embeddedDatabase(t), `update schema_origin set first_migration = 'another'`],
  ];
  for (const [name, { database }, sql] of builds) {
    await database.em.execute(sql);
    const before = await schemaOf(database);
    await t.throwsAsync(
      migrate(database),
      { code: 'schema_unreleased', message: /^This database was created by an unreleased build; no release/ },
      name,
    );
    t.deepEqual(await schemaOf(database), before, name);
  }
});

test('the first migration creates the schema of the entities on both engines', async (t) => {
  const [one, other] = [await postgresDatabase(t, 10, { direct: true }), await embeddedDatabase(t)];
  const tablesOf = async ({ database }: TestDatabase) => {
    const { columns, rules } = await schemaOf(database);
    return { columns: [...columns].toSorted(), rules: [...rules.keys()].toSorted() };
  };
  t.deepEqual(await tablesOf(one), await tablesOf(other));
  // Partitions carry the unique indexes, so the comparison skips indexes of monthly tables.
  const difference = await one.database.orm.schema.getUpdateSchemaSQL({ wrap: false, safe: false });
  const left = difference
    .split(/;\s*/)
    .filter((line) => /^(create table|alter table .* (add|drop) column|alter table .* alter column)/.test(line));
  t.deepEqual(left, []);
});
