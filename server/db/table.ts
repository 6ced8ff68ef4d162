import { arrayText, type Layout, type Statements } from './statement.ts';

/** Equality on columns only: operators cannot be expressed, so no caller's object can become one. */
export type Where<Row> = Partial<{ [K in keyof Row]: Row[K] | readonly NonNullable<Row[K]>[] }>;

/** Newest or oldest first, by one or more columns. */
export type Order<Row> = Partial<Record<keyof Row, 'asc' | 'desc'>>;

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

  /** All rows that match, in an order, at most `limit`. */
  async list(
    where: Where<Row>,
    { orderBy = {}, limit, offset }: { orderBy?: Order<Row>; limit?: number; offset?: number } = {},
  ): Promise<Row[]> {
    const by = Object.entries(orderBy).map(
      ([name, way]) => `${this.#layout.column(name).sql} ${way === 'desc' ? 'desc' : 'asc'}`,
    );
    return select(this.#statements, this.#layout, where, (bind) =>
      [
        by.length > 0 ? ` order by ${by.join(', ')}` : '',
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

  /** Writes a new row unless a unique column is taken; says whether it did. */
  async insertIfNew(row: Partial<Row>): Promise<boolean> {
    return (await this.#insert([row], ' on conflict do nothing')) === 1;
  }

  /** The row that matches, locked until the transaction ends (waits at most the lock timeout). */
  async lock(where: Where<Row>): Promise<Row | undefined> {
    if (!this.#statements.inTransaction) throw new TypeError('a lock needs a transaction');
    return (await select<Row>(this.#statements, this.#layout, where, () => ' limit 1 for update'))[0];
  }

  /** Changes the rows that match; returns how many. */
  async update(where: Where<Row>, patch: Partial<Row>): Promise<number> {
    const { bind, values } = binder();
    const changes = given(patch).map(([name, value]) => {
      const { sql, encode } = this.#layout.column(name);
      return `${sql} = ${bind(encode(value))}`;
    });
    if (changes.length === 0) return 0;
    const text = `update ${this.#layout.table} set ${changes.join(', ')}${matching(this.#layout, where, bind)}`;
    return (await this.#statements.run(text, values)).affected;
  }

  /** Removes the rows that match; returns how many. */
  async delete(where: Where<Row>): Promise<number> {
    const { bind, values } = binder();
    const text = `delete from ${this.#layout.table}${matching(this.#layout, where, bind)}`;
    return (await this.#statements.run(text, values)).affected;
  }

  async #insert(rows: readonly Partial<Row>[], otherwise = ''): Promise<number> {
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
    return (await this.#statements.run(text, values)).affected;
  }
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
  return rows.map((found) => {
    const row: Record<string, unknown> = {};
    for (const { name, field, decode } of layout.columns) row[name] = decode(found[field]);
    return row as Row;
  });
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
