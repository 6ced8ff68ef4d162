import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';

/** What a statement came to. */
export interface Ran {
  rows: Record<string, unknown>[];
  /** Rows written or removed; 0 for a read. */
  affected: number;
}

/** Where statements run: in the transaction of an entity manager, or each alone when it has none. */
export interface Statements {
  readonly inTransaction: boolean;
  /** Runs one with bound values (`$1`, `$2` …); errors are MikroORM's, as for every other statement of it. */
  run(text: string, values: readonly unknown[]): Promise<Ran>;
  /** Runs one whose values (`?`) MikroORM writes into its text. */
  runWritten(text: string, values: readonly unknown[]): Promise<Ran['rows']>;
  layoutOf(entity: object): Layout;
  /** The layout of a table by its name in a transaction. */
  layoutNamed(table: string): Layout;
}

/** Equality on columns only: operators cannot be expressed, so no caller's object can become one. */
export type Where<Row> = Partial<{ [K in keyof Row]: Row[K] | readonly NonNullable<Row[K]>[] }>;

/** Newest or oldest first, by one or more columns. */
type Order<Row> = Partial<Record<keyof Row, 'asc' | 'desc'>>;

/** PostgreSQL binds at most 65,535 values. */
const MOST_ROWS = 300;

/** One table for reading: explicit statements, no unit of work, rows are plain records. */
export class ReadTable<Row extends object> {
  readonly #statements: Statements;
  readonly #layout: Layout;

  constructor(statements: Statements, entity: object) {
    this.#statements = statements;
    this.#layout = statements.layoutOf(entity);
  }

  /** The row that matches, if there is one. */
  async find(where: Where<Row>): Promise<Row | undefined> {
    return (await select<Row>(this.#statements, this.#layout, where, () => ' limit 1'))[0];
  }

  /** The same with the rows of other tables that belong to it, all as they are at one moment, in one statement. */
  async findWith<Found extends Record<string, object>>(
    where: Where<Row>,
    beside: { [Name in keyof Found]: Beside<Found[Name]> },
  ): Promise<(Row & { [Name in keyof Found]: Found[Name][] }) | undefined> {
    const { bind, values } = binder();
    const named = Object.entries<AnyBeside>(beside as object as Record<string, AnyBeside>);
    const parts = named.map(([name, of]): Part => [name, of, this.#statements.layoutNamed(of.table)]);
    const lists = parts.map((part) => `, ${asJson(this.#layout, part, bind)}`).join('');
    const text = `select ${this.#layout.list}${lists} from ${this.#layout.table}${matching(this.#layout, where, bind)} limit 1`;
    const [found] = (await this.#statements.run(text, values)).rows;
    if (!found) return undefined;
    const rows = parts.map(([name, , layout]) => [
      name,
      ((found[`beside_${name}`] ?? []) as Record<string, unknown>[]).map((one) => decoded(layout, one)),
    ]);
    return Object.assign(decoded(this.#layout, found), Object.fromEntries(rows)) as Row & {
      [Name in keyof Found]: Found[Name][];
    };
  }

  /** All rows that match, in an order, at most `limit`. */
  async list(
    where: Where<Row>,
    { orderBy = {}, limit, offset }: { orderBy?: Order<Row>; limit?: number; offset?: number } = {},
  ): Promise<Row[]> {
    return select(this.#statements, this.#layout, where, (bind) =>
      [
        inOrder(this.#layout, orderBy),
        limit === undefined ? '' : ` limit ${bind(limit)}`,
        offset === undefined ? '' : ` offset ${bind(offset)}`,
      ].join(''),
    );
  }

  /** How many rows match. */
  async count(where: Where<Row>): Promise<number> {
    const { bind, values } = binder();
    const text = `select count(*) as "count" from ${this.#layout.table}${matching(this.#layout, where, bind)}`;
    return Number((await this.#statements.run(text, values)).rows[0]?.['count']);
  }
}

/** One table inside one transaction. */
export class Table<Row extends object> extends ReadTable<Row> {
  readonly #statements: Statements;
  readonly #layout: Layout;

  constructor(statements: Statements, entity: object) {
    super(statements, entity);
    this.#statements = statements;
    this.#layout = statements.layoutOf(entity);
  }

  /** Writes a new row; throws UniqueConstraintViolationException when a unique column is taken. */
  async insert(row: Partial<Row>): Promise<void> {
    await this.#insert([row]);
  }

  /** Writes many new rows, a few hundred with each statement. */
  async insertMany(rows: readonly Partial<Row>[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MOST_ROWS) await this.#insert(rows.slice(from, from + MOST_ROWS));
  }

  /** Writes a new row unless a unique column is taken, and `also` with it; says whether it did. */
  async insertIfNew(row: Partial<Row>, also?: Also<object>): Promise<boolean> {
    return (await this.#insert([row], ' on conflict do nothing', also)) === 1;
  }

  /** The row that matches, locked until the transaction ends (waits at most the lock timeout). */
  async lock(where: Where<Row>): Promise<Row | undefined> {
    if (!this.#statements.inTransaction) throw new TypeError('a lock needs a transaction');
    return (await select<Row>(this.#statements, this.#layout, where, () => ' limit 1 for update'))[0];
  }

  /** Changes the rows that match, and writes `also` for each; returns how many. */
  async update(where: Where<Row>, patch: Partial<Row>, also?: Also<object>): Promise<number> {
    const { bind, values } = binder();
    const changes = given(patch).map(([name, value]) => {
      const { sql, encode } = this.#layout.column(name);
      return `${sql} = ${bind(encode(value))}`;
    });
    if (changes.length === 0) return 0;
    const text = `update ${this.#layout.table} set ${changes.join(', ')}${matching(this.#layout, where, bind)}`;
    return (await this.#statements.run(this.#with(text, also, bind), values)).affected;
  }

  /** Removes the rows that match; returns how many. */
  async delete(where: Where<Row>): Promise<number> {
    const { bind, values } = binder();
    const text = `delete from ${this.#layout.table}${matching(this.#layout, where, bind)}`;
    return (await this.#statements.run(text, values)).affected;
  }

  async #insert(rows: readonly Partial<Row>[], otherwise = '', also?: Also<object>): Promise<number> {
    const names = new Set(rows.flatMap((row) => given(row).map(([name]) => name)));
    const columns = [...names].map((name) => this.#layout.column(name));
    const { bind, values } = binder();
    const tuples = rows.map((row) => {
      const cells = columns.map(({ name, encode }) => {
        const value = (row as Record<string, unknown>)[name];
        return value === undefined ? 'default' : bind(encode(value));
      });
      return `(${cells.join(', ')})`;
    });
    const list = columns.map(({ sql }) => sql).join(', ');
    const text = `insert into ${this.#layout.table} (${list}) values ${tuples.join(', ')}${otherwise}`;
    return (await this.#statements.run(this.#with(text, also, bind), values)).affected;
  }

  /** Both writes as one statement; it counts the rows of the second, one for each of the first. */
  #with(text: string, also: Also<object> | undefined, bind: Bind): string {
    if (!also) return text;
    const layout = this.#statements.layoutNamed(also.table);
    const cells = given(also.row).map(([name, value]): [string, string] => {
      const { sql, type, encode } = layout.column(name);
      const bound = bind(encode(value));
      // In a list of a select nothing says what a value is; text is taken as the column wants it.
      return [sql, /^(?:varchar|text$)/.test(type) ? bound : `cast(${bound} as ${type})`];
    });
    const [columns, list] = [0, 1].map((at) => cells.map((cell) => cell[at]).join(', '));
    return `with one as (${text} returning 1) insert into ${layout.table} (${columns}) select ${list} from one`;
  }
}

/** A row of another table that is written in the same statement. */
interface Also<Row extends object> {
  /** Its name in a transaction. */
  table: string;
  row: Partial<Row>;
}

async function select<Row extends object>(
  statements: Statements,
  layout: Layout,
  where: Where<Row>,
  tail: (bind: Bind) => string,
): Promise<Row[]> {
  const { bind, values } = binder();
  const text = `select ${layout.list} from ${layout.table}${matching(layout, where, bind)}${tail(bind)}`;
  const { rows } = await statements.run(text, values);
  return rows.map((found) => decoded(layout, found) as Row);
}

function decoded(layout: Layout, found: Record<string, unknown>): object {
  const row: Record<string, unknown> = {};
  for (const { name, field, decode } of layout.columns) {
    const value = found[field];
    row[name] = value === null ? null : decode(value);
  }
  return row;
}

/** Rows of another table that belong to a row: those with the same value in a column that both have. */
export interface Beside<Row extends object> {
  /** Its name in a transaction. */
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

/** The rows as a list of JSON objects, null for none. What JSON would round or write otherwise comes as PostgreSQL's own text. */
function asJson(owner: Layout, [name, of, layout]: Part, bind: Bind): string {
  const cells = layout.columns.map(({ sql, asText }) => `${layout.table}.${asText ? `${sql}::text as ${sql}` : sql}`);
  const by = `${layout.table}.${layout.column(of.by).sql} = ${owner.table}.${owner.column(of.by).sql}`;
  const only = matching(layout, of.where ?? {}, bind).replace(' where ', ' and ');
  const sorted = inOrder(layout, of.orderBy ?? {});
  const rows = `select ${cells.join(', ')} from ${layout.table} where ${by}${only}${sorted}`;
  return `(select json_agg(one) from (${rows}) one) as ${quote(`beside_${name}`)}`;
}

function inOrder(layout: Layout, orderBy: object): string {
  const by = Object.entries(orderBy).map(
    ([name, way]) => `${layout.table}.${layout.column(name).sql} ${way === 'desc' ? 'desc' : 'asc'}`,
  );
  return by.length > 0 ? ` order by ${by.join(', ')}` : '';
}

/** An array means any of its values; anything that is not a plain value is refused before it can reach the database. */
function matching(layout: Layout, where: object, bind: Bind): string {
  const parts = Object.entries(where).map(([name, value]) => {
    const { sql, encode } = layout.column(name);
    if (Array.isArray(value)) return `${sql} = any(${bind(arrayText(value.map((one) => encode(plain(name, one)))))})`;
    if (plain(name, value) === null) return `${sql} is null`;
    return `${sql} = ${bind(encode(value))}`;
  });
  return parts.length > 0 ? ` where ${parts.join(' and ')}` : '';
}

type Bind = (value: unknown) => string;

function binder(): { bind: Bind; values: unknown[] } {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}

/** Members with `undefined` are not there. */
function given(row: object): [string, unknown][] {
  return Object.entries(row).filter(([, value]) => value !== undefined);
}

function plain(column: string, value: unknown): unknown {
  if (value === undefined || (typeof value === 'object' && value !== null && !(value instanceof Date)))
    throw new TypeError(`${column}: only plain values can be looked up`);
  return value;
}

/** A column: its quoted name, how a value is bound, and what a value of the database becomes. */
interface Column {
  /** Of the property in the row. */
  readonly name: string;
  readonly sql: string;
  /** Its name in the database. */
  readonly field: string;
  /** Whether JSON would lose some of it, or write it in another form. */
  readonly asText: boolean;
  /** Its type in the database. */
  readonly type: string;
  encode(value: unknown): unknown;
  decode(value: unknown): unknown;
}

/** A table as its entity describes it. */
interface Layout {
  readonly table: string;
  readonly columns: readonly Column[];
  /** Every column, for a select. */
  readonly list: string;
  /** Throws for a name that is not a column's. */
  column(name: string): Column;
}

const layouts = new WeakMap<EntityMetadata, Layout>();

/** The layout of an entity; made once. */
export function layoutOf(meta: EntityMetadata): Layout {
  let layout = layouts.get(meta);
  if (!layout) layouts.set(meta, (layout = makeLayout(meta)));
  return layout;
}

function makeLayout(meta: EntityMetadata): Layout {
  const columns = meta.props.map(toColumn);
  const byName = new Map(columns.map((column) => [column.name, column]));
  return {
    table: quote(meta.tableName),
    columns,
    list: columns.map(({ sql }) => sql).join(', '),
    column(name) {
      const column = byName.get(name);
      if (!column) throw new TypeError(`${meta.tableName} has no column for ${name}`);
      return column;
    },
  };
}

const TEXT: ReadonlySet<string> = new Set(['BigIntType', 'DateType', 'Date']);

function toColumn(property: EntityProperty): Column {
  const [field, ...more] = property.fieldNames;
  if (field === undefined || more.length > 0) throw new TypeError(`${property.name} is not one column`);
  return {
    name: property.name,
    field,
    sql: quote(field),
    asText: TEXT.has(property.type),
    type: property.columnTypes[0] ?? 'text',
    ...codecOf(property),
  };
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

type Codec = Pick<Column, 'encode' | 'decode'>;

/** The two drivers differ in what they give for a type (text, number or bigint), so each kind is brought to one form. */
function codecOf({ name, type, customType, columnTypes }: EntityProperty): Codec {
  if (type === 'JsonType') return whenPresent(JSON.stringify, same);
  // Both drivers give bytes, one of them as a Buffer.
  if (type === 'Uint8ArrayType') return whenPresent(same, same);
  if (type === 'BigIntType') return whenPresent(String, (value) => BigInt(value as string | number | bigint));
  if (type === 'ArrayType') return whenPresent(arrayText, same);
  if (type === 'DateType') return whenPresent(same, dayText);
  if (type === 'Date') return whenPresent(instantText, readInstant);
  if (customType && type !== 'UuidType') throw new TypeError(`${name}: ${columnTypes.join()} has no codec`);
  return { encode: (value) => value ?? null, decode: same };
}

function whenPresent(encode: (value: never) => unknown, decode: (value: unknown) => unknown): Codec {
  return {
    encode: (value) => (value === null || value === undefined ? null : encode(value as never)),
    decode: (value) => (value === null || value === undefined ? null : decode(value)),
  };
}

function same(value: unknown): unknown {
  return value;
}

/** PostgreSQL's own text of an array; every element in quotes but null. */
export function arrayText(values: readonly unknown[]): string {
  return `{${values.map(elementText).join(',')}}`;
}

const SPECIAL = /["\\]/g;
const ESCAPED = String.raw`\$&`;

function elementText(value: unknown): string {
  if (value === null) return 'null';
  const text = String(value);
  return `"${text.includes('"') || text.includes('\\') ? text.replace(SPECIAL, ESCAPED) : text}"`;
}

/** A day, `yyyy-MM-dd`; the embedded driver makes an instant of it. */
function dayText(value: unknown): string {
  return value instanceof Date ? value.toISOString().slice(0, 10) : String(value).slice(0, 10);
}

function instantText(value: Date): string {
  return value.toISOString();
}

const instant = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(?::?(\d\d))?$/;

/** `2026-01-02 03:04:05.678+00`, to the millisecond. */
function readInstant(value: unknown): Date {
  if (value instanceof Date) return value;
  // What a PostgreSQL in UTC writes; the general form costs three times as much.
  if (typeof value === 'string' && value.length >= 22 && value[10] === ' ' && value.endsWith('+00')) {
    const date = new Date(`${value.slice(0, 10)}T${value.slice(11, -3)}Z`);
    if (!Number.isNaN(date.getTime())) return date;
  }
  const [, day, time, hours, minutes = '00'] = instant.exec(String(value)) ?? [];
  if (day === undefined) throw new TypeError(`${String(value)} is not an instant`);
  return new Date(`${day}T${time}${hours}:${minutes}`);
}
