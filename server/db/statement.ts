import type { EntityMetadata, EntityName, EntityProperty } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';

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
}

/** The statements of an entity manager. */
export function createStatements(em: SqlEntityManager): Statements {
  return {
    inTransaction: em.isInTransaction(),
    run: (text, values) => run(em, text, values),
    runWritten: (text, values) => em.execute(text, values as unknown[], 'all'),
    layoutOf: (entity) => layoutOf(em.getMetadata(entity as EntityName)),
  };
}

/** Refuses a second statement: it would not commit together with the first. */
export function createSingle(statements: Statements): Statements {
  let used = false;
  const once = async <T>(statement: () => Promise<T>): Promise<T> => {
    if (used) throw new TypeError('autocommit is for one statement; several need a transaction');
    used = true;
    return statement();
  };
  return {
    ...statements,
    run: (...words) => once(() => statements.run(...words)),
    runWritten: (...words) => once(() => statements.runWritten(...words)),
  };
}

/** Runs one statement with bound values in the transaction of `em`, or alone without one. */
export async function run(em: SqlEntityManager, text: string, values: readonly unknown[]): Promise<Ran> {
  // MikroORM writes values into the text of a statement, so no two are alike; Kysely below it binds them.
  try {
    const { rows, numAffectedRows } = await em.getKysely().executeQuery(CompiledQuery.raw(text, [...values]));
    return { rows: rows as Ran['rows'], affected: Number(numAffectedRows ?? 0) };
  } catch (error) {
    throw em
      .getPlatform()
      .getExceptionConverter()
      .convertException(error as Error);
  }
}

const numberedTexts = new Map<string, string>();

/** `?` as `$1`, `$2` …; for texts that are written in the source, never put together from values. */
export function numbered(text: string): string {
  let known = numberedTexts.get(text);
  if (known === undefined) {
    let at = 0;
    numberedTexts.set(text, (known = text.replaceAll('?', () => `$${(at += 1)}`)));
  }
  return known;
}

/** Words by which a statement writes, locks or takes a number. */
const WRITES =
  /\b(insert|update|delete|merge|into|truncate|nextval|setval|set_config|pg_(try_)?advisory_\w+|for\s+(key\s+)?share)\b/i;

/** Gives the text back when it only reads. Types come first: this stands behind them, for texts that they cannot see. */
export function readingOnly(text: string): string {
  if (!/^\s*(select|with|explain)\b/i.test(text) || WRITES.test(text))
    throw new TypeError('store.read only reads; a statement that writes or locks needs autocommit or a transaction');
  return text;
}

/** A column: its quoted name, how a value is bound, and what a value of the database becomes. */
export interface Column {
  /** Of the property in the row. */
  readonly name: string;
  readonly sql: string;
  /** Its name in the database. */
  readonly field: string;
  encode(value: unknown): unknown;
  decode(value: unknown): unknown;
}

/** A table as its entity describes it. */
export interface Layout {
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

function toColumn(property: EntityProperty): Column {
  const [field, ...more] = property.fieldNames;
  if (field === undefined || more.length > 0) throw new TypeError(`${property.name} is not one column`);
  return { name: property.name, field, sql: quote(field), ...codecOf(property) };
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

type Codec = Pick<Column, 'encode' | 'decode'>;

/** The two drivers differ in what they give for a type (text, number or bigint), so each kind is brought to one form. */
function codecOf({ name, type, customType, columnTypes }: EntityProperty): Codec {
  if (type === 'JsonType') return whenPresent(JSON.stringify, same);
  if (type === 'BigIntType') return whenPresent(String, (value) => BigInt(value as string | number | bigint));
  if (type === 'ArrayType') return whenPresent(arrayText, same);
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

/** PostgreSQL's own text of an array; every element in quotes. */
export function arrayText(values: readonly unknown[]): string {
  return `{${values.map((value) => `"${String(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`;
}

function instantText(value: Date): string {
  return value.toISOString();
}

const instant = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(?::?(\d\d))?$/;

/** `2026-01-02 03:04:05.678+00`, to the millisecond. */
function readInstant(value: unknown): Date {
  if (value instanceof Date) return value;
  const [, day, time, hours, minutes = '00'] = instant.exec(String(value)) ?? [];
  if (day === undefined) throw new TypeError(`${String(value)} is not an instant`);
  return new Date(`${day}T${time}${hours}:${minutes}`);
}
