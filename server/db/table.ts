import type { EntityMetadata } from '@mikro-orm/core';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { asJson, type Database, type Db, readInstant, type Sql } from './kysely.ts';

/** An array means any of its values. There are no operators, so that a value from a request cannot become one. */
export type Where<Row> = Partial<{ [K in keyof Row]: Row[K] | readonly NonNullable<Row[K]>[] }>;

type Order<Row> = Partial<Record<keyof Row, 'asc' | 'desc'>>;

/** The maximum number of rows in one insert, because PostgreSQL binds at most 65,535 values. */
const MOST_ROWS = 300;

/** `layoutNamed` returns the columns of another table by the table's name in `Tx`. */
export interface Place {
  /** `db` does not rename columns, because a table's statements already return them under their property names. */
  readonly db: Db;
  readonly renaming: Db;
  layoutNamed(table: string): Layout;
}

/**
 * Reads the rows of one table. The rows are plain objects; MikroORM's unit of work is not used. Statements are built
 * with `sql`, because a query builder would process up to fifty columns again for every call.
 */
export class ReadTable<Row extends object, Name extends keyof Database = keyof Database> {
  readonly #place: Place;
  readonly #layout: Layout;

  constructor(place: Place, layout: Layout) {
    this.#place = place;
    this.#layout = layout;
  }

  async find(where: Where<Row>): Promise<Row | undefined> {
    const { table, list } = this.#layout;
    return firstOf(this.#place, sql<Row>`select ${list} from ${table} where ${matching(this.#layout, where)} limit 1`);
  }

  /** One statement reads the rows and their related rows, so that no change can happen between two reads. */
  async listWith<Found extends Record<string, object>>(
    where: Where<Row>,
    beside: { [Name in keyof Found]: Beside<Found[Name]> },
  ): Promise<(Row & { [Name in keyof Found]: Found[Name][] })[]> {
    const named = Object.entries<AnyBeside>(beside as object as Record<string, AnyBeside>);
    const parts = named.map(([name, of]): Part => [name, of, this.#place.layoutNamed(of.table)]);
    const { table, list } = this.#layout;
    const lists = parts.map((part) => sql`${rowsAsJson(this.#layout, part)} as ${sql.ref(part[0])}`);
    const isIt = matching(this.#layout, where);
    const statement = sql<Record<string, unknown>>`select ${list}, ${sql.join(lists)} from ${table} where ${isIt}`;
    const { rows } = await statement.execute(this.#place.db);
    for (const row of rows)
      for (const [name, , layout] of parts)
        row[name] = ((row[name] ?? []) as Record<string, unknown>[]).map((one) => fromJson(layout, one));
    return rows as (Row & { [Name in keyof Found]: Found[Name][] })[];
  }

  async list(
    where: Where<Row>,
    { orderBy = {}, limit, offset }: { orderBy?: Order<Row>; limit?: number; offset?: number } = {},
  ): Promise<Row[]> {
    const { table, list } = this.#layout;
    const [isIt, order] = [matching(this.#layout, where), inOrder(this.#layout, orderBy)];
    const most = limit === undefined ? NOTHING : sql` limit ${limit}`;
    const skipped = offset === undefined ? NOTHING : sql` offset ${offset}`;
    const statement = sql<Row>`select ${list} from ${table} where ${isIt}${order}${most}${skipped}`;
    return (await statement.execute(this.#place.db)).rows;
  }

  async count(where: Where<Row>): Promise<number> {
    const { table } = this.#layout;
    const statement = sql<{ count: bigint }>`select count(*) from ${table} where ${matching(this.#layout, where)}`;
    return Number((await firstOf(this.#place, statement))!.count);
  }

  /** Starts a query that selects all columns. The caller adds conditions to the query. */
  rows(): SelectQueryBuilder<Database, Name, Row> {
    const { name, names } = this.#layout;
    const columns = names.map((column) => `${name}.${column}`);
    return this.#place.renaming.selectFrom(name as 'orders').select(columns as never) as object as SelectQueryBuilder<
      Database,
      Name,
      Row
    >;
  }
}

/** Reads and writes one table inside a transaction. */
export class Table<Row extends object, Name extends keyof Database = keyof Database> extends ReadTable<Row, Name> {
  readonly #place: Place;
  readonly #layout: Layout;

  constructor(place: Place, layout: Layout) {
    super(place, layout);
    this.#place = place;
    this.#layout = layout;
  }

  /** Inserts a row. Throws PostgreSQL's error 23505 if another row has the same unique value. */
  async insert(row: Partial<Row>): Promise<void> {
    await affectedBy(this.#place, insertion(this.#layout, [row]));
  }

  async insertMany(rows: readonly Partial<Row>[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MOST_ROWS)
      await affectedBy(this.#place, insertion(this.#layout, rows.slice(from, from + MOST_ROWS)));
  }

  /** Inserts nothing if `row` has the unique value of an existing row. Returns whether `row` was inserted. */
  async insertIfNew(row: Partial<Row>, also?: Also<object>): Promise<boolean> {
    const statement = sql`${insertion(this.#layout, [row])} on conflict do nothing`;
    return (await affectedBy(this.#place, withAlso(this.#place, statement, also))) === 1;
  }

  /** Locks the matching row until the transaction ends. Waits for another lock, at most for the lock timeout. */
  async lock(where: Where<Row>): Promise<Row | undefined> {
    if (!this.#place.db.isTransaction) throw new TypeError('lock works only inside store.transaction.');
    const { table, list } = this.#layout;
    const isIt = matching(this.#layout, where);
    return firstOf(this.#place, sql<Row>`select ${list} from ${table} where ${isIt} limit 1 for update`);
  }

  /** Updates the matching rows, and inserts `also` once for each. Returns the number of updated rows. */
  async update(where: Where<Row>, patch: Partial<Row>, also?: Also<object>): Promise<number> {
    const columns = columnsOf(this.#layout, [patch]);
    if (columns.length === 0) return 0;
    const changes = listed(columns, patch, ({ quoted }) => [`${quoted} = `, '']);
    const statement = sql`update ${this.#layout.table} set ${changes} where ${matching(this.#layout, where)}`;
    return affectedBy(this.#place, withAlso(this.#place, statement, also));
  }

  async delete(where: Where<Row>): Promise<number> {
    const statement = sql`delete from ${this.#layout.table} where ${matching(this.#layout, where)}`;
    return affectedBy(this.#place, statement);
  }
}

const NOTHING = sql.raw('');

async function firstOf<Row>({ db }: Place, statement: RawBuilder<Row>): Promise<Row | undefined> {
  return (await statement.execute(db)).rows[0];
}

async function affectedBy({ db }: Place, statement: Sql): Promise<number> {
  return Number((await statement.execute(db)).numAffectedRows ?? 0);
}

function insertion(layout: Layout, rows: readonly object[]): Sql {
  const columns = columnsOf(layout, rows);
  const tuples = rows.map((row) => sql`(${sql.join(columns.map((column) => bound(column, row)))})`);
  return sql`insert into ${layout.table} (${names(columns)}) values ${sql.join(tuples)}`;
}

/** `also` is inserted once for each row that `first` writes, so that the statement reports the same number of rows. */
function withAlso(place: Place, first: Sql, also: Also<object> | undefined): Sql {
  if (!also) return first;
  const layout = place.layoutNamed(also.table);
  const columns = columnsOf(layout, [also.row]);
  // In a select list PostgreSQL does not know the types of bound values, so each value is cast.
  const values = listed(columns, also.row, ({ type }) => ['cast(', ` as ${type})`]);
  return sql`with first as (${first} returning 1)
    insert into ${layout.table} (${names(columns)}) select ${values} from first`;
}

/** The columns of all properties that are defined in at least one of the rows. */
function columnsOf(layout: Layout, rows: readonly object[]): Column[] {
  const found = new Set<string>();
  for (const row of rows) for (const [name, value] of Object.entries(row)) if (value !== undefined) found.add(name);
  return [...found].map((name) => layout.column(name));
}

function names(columns: readonly Column[]): Sql {
  return sql.raw(columns.map(({ quoted }) => quoted).join(', '));
}

/**
 * `around` returns the SQL text before and after a value. One fragment is used instead of one per column, because each
 * fragment stays in memory until the database has responded.
 */
function listed(columns: readonly Column[], row: object, around: (column: Column) => [string, string]): Sql {
  const texts = [''];
  for (const column of columns) {
    const [before, behind] = around(column);
    texts[texts.length - 1] += `${texts.length > 1 ? ', ' : ''}${before}`;
    texts.push(behind);
  }
  return sql(texts as object as TemplateStringsArray, ...columns.map((column) => bound(column, row)));
}

function bound({ name, kind }: Column, row: object): unknown {
  const value = (row as Record<string, unknown>)[name];
  if (value === undefined) return DEFAULT;
  return kind === 'json' && value !== null ? asJson(value) : value;
}

const DEFAULT = sql.raw('default');

/** A row that is inserted by the same statement as the main write, so that both succeed or fail together. */
interface Also<Row extends object> {
  /** The name of the table as a property of `Tx`, for example `orders`. */
  table: string;
  row: Partial<Row>;
}

/** Rows of another table whose column `by` has the same value as the column `by` of the found row. */
export interface Beside<Row extends object> {
  table: string;
  by: keyof Row & string;
  where?: Where<Row>;
  orderBy?: Order<Row>;
}

interface AnyBeside {
  table: string;
  by: string;
  where?: object;
  orderBy?: object;
}

type Part = [name: string, of: AnyBeside, layout: Layout];

/** The related rows as a JSON array, null if there are none. Values that JSON would round are selected as text. */
function rowsAsJson(owner: Layout, [, { by, where = {}, orderBy = {} }, layout]: Part): Sql {
  const belongs = sql`${layout.column(by).ref} = ${owner.column(by).ref}`;
  return sql`(select json_agg(one) from (select ${layout.jsonList} from ${layout.table}
    where ${belongs} and ${matching(layout, where)}${inOrder(layout, orderBy)}) one)`;
}

function inOrder(layout: Layout, orderBy: object): Sql {
  const by = Object.entries(orderBy).map(
    ([name, way]) => sql`${layout.column(name).ref}${way === 'desc' ? DESCENDING : NOTHING}`,
  );
  return by.length > 0 ? sql` order by ${sql.join(by)}` : NOTHING;
}

const DESCENDING = sql.raw(' desc');

function fromJson(layout: Layout, found: Record<string, unknown>): object {
  return Object.fromEntries(
    layout.names.map((name) => {
      const { kind } = layout.column(name);
      const value = found[name] ?? null;
      if (value === null || typeof value !== 'string') return [name, value];
      return [name, kind === 'bigint' ? BigInt(value) : kind === 'instant' ? readInstant(value) : value];
    }),
  );
}

/** An array matches any of its values, and null matches `is null`. undefined and other objects throw an error. */
function matching(layout: Layout, where: object): Sql {
  const parts = Object.entries(where).map(([key, value]) => {
    const { name, ref } = layout.column(key);
    if (Array.isArray(value)) return sql`${ref} = any(${value.map((one) => plain(name, one))})`;
    if (plain(name, value) === null) return sql`${ref} is null`;
    return sql`${ref} = ${value}`;
  });
  return parts.length > 0 ? sql.join(parts, AND) : TRUE;
}

const [AND, TRUE] = [sql.raw(' and '), sql.raw('true')];

function plain(column: string, value: unknown): unknown {
  if (value === undefined || (typeof value === 'object' && value !== null && !(value instanceof Date)))
    throw new TypeError(`The column ${column} cannot be compared with undefined or with an object.`);
  return value;
}

/** A column of a table. `name` is the property name in code, and `quoted` is the column name in the database. */
interface Column {
  readonly name: string;
  readonly quoted: string;
  /** The column name, preceded by the table name. */
  readonly ref: Sql;
  readonly type: string;
  readonly kind: 'json' | 'bigint' | 'instant' | 'day' | 'plain';
}

export interface Layout {
  readonly name: string;
  readonly table: Sql;
  /** The property names of all columns of the table. */
  readonly names: readonly string[];
  /** `*` is not used, because a prepared statement with `*` fails after a migration adds a column. */
  readonly list: Sql;
  readonly jsonList: Sql;
  /** Returns the column of a property. Throws if the table has no column for this property name. */
  column(name: string): Column;
}

const layouts = new WeakMap<EntityMetadata, Layout>();

/** Returns the layout (the columns) of the table of an entity. The layout is built once and cached. */
export function layoutOf(meta: EntityMetadata): Layout {
  let layout = layouts.get(meta);
  if (!layout) layouts.set(meta, (layout = makeLayout(meta)));
  return layout;
}

const KINDS: Readonly<Record<string, Column['kind']>> = {
  JsonType: 'json',
  BigIntType: 'bigint',
  Date: 'instant',
  DateType: 'day',
};
/** Kinds of columns whose values JSON would round or reformat. They are selected as text when rows are read as JSON. */
const AS_TEXT: ReadonlySet<Column['kind']> = new Set(['bigint', 'instant', 'day']);

function makeLayout({ tableName, props }: EntityMetadata): Layout {
  const table = quote(tableName);
  const columns = new Map(
    props.map(({ name, type, fieldNames: [field = name], columnTypes: [columnType = 'text'] }): [string, Column] => {
      const quoted = quote(field);
      const ref = sql.raw(`${table}.${quoted}`);
      return [name, { name, quoted, ref, type: columnType, kind: KINDS[type] ?? 'plain' }];
    }),
  );
  const all = [...columns.values()];
  const named = ({ name, quoted }: Column, cast = '') =>
    cast === '' && quoted === quote(name) ? quoted : `${quoted}${cast} as ${quote(name)}`;
  return {
    name: tableName,
    table: sql.raw(table),
    names: [...columns.keys()],
    list: sql.raw(all.map((column) => named(column)).join(', ')),
    jsonList: sql.raw(all.map((column) => named(column, AS_TEXT.has(column.kind) ? '::text' : '')).join(', ')),
    column(name) {
      const column = columns.get(name);
      if (!column) throw new TypeError(`The table ${tableName} has no column for the property ${name}.`);
      return column;
    },
  };
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
