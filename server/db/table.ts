import { LockMode, type EntitySchema } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';

/** Equality on columns only: operators cannot be expressed, so no caller's object can become one. */
export type Where<Row> = Partial<{ [K in keyof Row]: Row[K] | readonly NonNullable<Row[K]>[] }>;

/** Newest or oldest first, by one or more columns. */
export type Order<Row> = Partial<Record<keyof Row, 'asc' | 'desc'>>;

/** One table inside one transaction: explicit statements, no unit of work, rows are plain records. */
export class Table<Row extends object> {
  readonly #em: SqlEntityManager;
  readonly #entity: EntitySchema<Row>;

  constructor(em: SqlEntityManager, entity: object) {
    this.#em = em;
    this.#entity = entity as EntitySchema<Row>;
  }

  /** Writes a new row; throws UniqueConstraintViolationException when a unique column is taken. */
  async insert(row: Partial<Row>): Promise<void> {
    await this.#em.insert(this.#entity, row as never);
  }

  /** Writes many new rows in one statement. */
  async insertMany(rows: readonly Partial<Row>[]): Promise<void> {
    await this.#em.insertMany(this.#entity, rows as never);
  }

  /** Writes a new row unless a unique column is taken; says whether it did. */
  async insertIfNew(row: Partial<Row>): Promise<boolean> {
    const qb = this.#em
      .createQueryBuilder(this.#entity)
      .insert(row as never)
      .onConflict()
      .ignore();
    const result = await qb.execute('run', false);
    return (result as { affectedRows?: number }).affectedRows === 1;
  }

  /** The row that matches, if there is one. */
  async find(where: Where<Row>): Promise<Row | undefined> {
    return (
      ((await this.#em.findOne(this.#entity, filter(where), { disableIdentityMap: true })) as Row | null) ?? undefined
    );
  }

  /** The row that matches, locked until the transaction ends (waits at most the lock timeout). */
  async lock(where: Where<Row>): Promise<Row | undefined> {
    const found = await this.#em.findOne(this.#entity, filter(where), {
      disableIdentityMap: true,
      lockMode: LockMode.PESSIMISTIC_WRITE,
    });
    return (found as Row | null) ?? undefined;
  }

  /** All rows that match, in an order, at most `limit`. */
  async list(
    where: Where<Row>,
    options: { orderBy?: Order<Row>; limit?: number; offset?: number } = {},
  ): Promise<Row[]> {
    return (await this.#em.find(this.#entity, filter(where), {
      disableIdentityMap: true,
      orderBy: options.orderBy as never,
      limit: options.limit,
      offset: options.offset,
    })) as Row[];
  }

  /** Changes the rows that match; returns how many. */
  async update(where: Where<Row>, patch: Partial<Row>): Promise<number> {
    return this.#em.nativeUpdate(this.#entity, filter(where), patch as never);
  }

  /** Removes the rows that match; returns how many. */
  async delete(where: Where<Row>): Promise<number> {
    return this.#em.nativeDelete(this.#entity, filter(where));
  }

  /** How many rows match. */
  async count(where: Where<Row>): Promise<number> {
    return this.#em.count(this.#entity, filter(where));
  }
}

/** Arrays become IN; anything that is not a plain value is refused before it can reach the ORM. */
function filter<Row>(where: Where<Row>): never {
  const query: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(where)) {
    if (Array.isArray(value)) query[column] = { $in: value.map((one) => plain(column, one)) };
    else query[column] = plain(column, value);
  }
  return query as never;
}

function plain(column: string, value: unknown): unknown {
  if (value === undefined || (typeof value === 'object' && value !== null && !(value instanceof Date)))
    throw new TypeError(`${column}: only plain values can be looked up`);
  return value;
}
