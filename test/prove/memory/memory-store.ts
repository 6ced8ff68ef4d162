import type { ReadTx, Store, Tx } from '../../../server/db/store.ts';
import {
  type AnyRow,
  brokenBy,
  MEMORY_TABLES,
  type Snapshot,
  takenBy,
  TABLE_NAMES,
  type TableName,
  type TableRules,
} from './tables.ts';

/** A unique column is taken, or a condition of a table broken: what the database would have refused. */
export class RefusedByDatabase extends Error {
  constructor(table: TableName, why: string) {
    super(`${table}: ${why}`);
    this.name = 'RefusedByDatabase';
  }
}

/** What a transaction left behind. */
export interface Committed<T> {
  readonly result: T;
  readonly snapshot: Snapshot;
}

/** Runs a transaction on a snapshot as if nobody else were there; the snapshot itself stays as it is. */
export async function runTransaction<T>(snapshot: Snapshot, work: (tx: Tx) => Promise<T>): Promise<Committed<T>> {
  const held = { tables: { ...snapshot } as Record<TableName, readonly AnyRow[]> };
  const result = await work(memoryTx(held));
  return { result, snapshot: held.tables };
}

/** Reads from a snapshot. */
export function runRead<T>(snapshot: Snapshot, work: (tx: ReadTx) => Promise<T>): Promise<T> {
  return work(memoryTx({ tables: { ...snapshot } }));
}

/** A store whose database is one snapshot after the other, for a single process; `current` is the newest. */
export function memoryStore(first: Snapshot): Store & { current(): Snapshot } {
  let current = first;
  const commit = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const { result, snapshot } = await runTransaction(current, work);
    current = snapshot;
    return result;
  };
  return { transaction: commit, autocommit: commit, read: (work) => runRead(current, work), current: () => current };
}

interface Held {
  tables: Record<TableName, readonly AnyRow[]>;
}

function memoryTx(held: Held): Tx {
  const tables = Object.fromEntries(TABLE_NAMES.map((name) => [name, new MemoryTable(held, name)]));
  const tx = {
    ...tables,
    sql: async (statement: string, parameters: readonly unknown[] = []) => runSql(held, statement, parameters),
    prepared: async (statement: string, parameters: readonly unknown[]) => runSql(held, statement, parameters),
    async savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T> {
      const before = { ...held.tables };
      try {
        return await part(tx as unknown as Tx);
      } catch (error) {
        held.tables = before;
        throw error;
      }
    },
    advisoryLock: async () => {},
    wake: async () => {},
  };
  return tx as unknown as Tx;
}

/** The one statement of payments that is written in SQL: another message about what is listed (db/queries/exceptions.ts). */
function runSql(held: Held, statement: string, parameters: readonly unknown[]): AnyRow[] {
  if (!/^update order_exceptions\s+set detail = detail/.test(statement))
    throw new TypeError(`no such statement in memory: ${statement.slice(0, 80)}`);
  const [detail, orderNo, kind, dedupe] = parameters as string[];
  const isMeant = (row: AnyRow) => row['orderNo'] === orderNo && row['kind'] === kind && row['dedupe'] === dedupe;
  const found = held.tables.exceptions.filter(isMeant);
  held.tables.exceptions = held.tables.exceptions.map((row) => {
    if (!isMeant(row)) return row;
    const known = row['detail'] as { notices?: string | number };
    return { ...row, detail: { ...known, ...JSON.parse(detail!), notices: Number(known.notices) + 1 } };
  });
  return found.map(({ id }) => ({ id }));
}

type Where = Readonly<Record<string, unknown>>;
interface Listing {
  orderBy?: Readonly<Record<string, 'asc' | 'desc'>>;
  limit?: number;
  offset?: number;
}

/** One table, with the methods of `server/db/table.ts` and its meaning. */
class MemoryTable {
  readonly #held: Held;
  readonly #name: TableName;

  constructor(held: Held, name: TableName) {
    this.#held = held;
    this.#name = name;
  }

  get #rows(): readonly AnyRow[] {
    return this.#held.tables[this.#name];
  }

  async find(where: Where): Promise<AnyRow | undefined> {
    const row = this.#rows.find((one) => matches(one, where));
    return row && { ...row };
  }

  lock(where: Where): Promise<AnyRow | undefined> {
    return this.find(where);
  }

  async list(where: Where, { orderBy = {}, limit, offset = 0 }: Listing = {}): Promise<AnyRow[]> {
    const found = this.#rows.filter((one) => matches(one, where)).toSorted((a, b) => compareRows(a, b, orderBy));
    return found.slice(offset, limit === undefined ? undefined : offset + limit).map((row) => ({ ...row }));
  }

  async count(where: Where): Promise<number> {
    return this.#rows.filter((one) => matches(one, where)).length;
  }

  async insert(row: AnyRow): Promise<void> {
    const taken = this.#insert(row);
    if (taken) throw new RefusedByDatabase(this.#name, `${taken.join(', ')} is taken`);
  }

  async insertMany(rows: readonly AnyRow[]): Promise<void> {
    for (const row of rows) await this.insert(row);
  }

  async insertIfNew(row: AnyRow): Promise<boolean> {
    return this.#insert(row) === undefined;
  }

  async update(where: Where, patch: AnyRow): Promise<number> {
    const changes = Object.fromEntries(
      Object.entries(patch).flatMap(([name, value]) => (value === undefined ? [] : [[name, stored(value)]])),
    );
    if (Object.keys(changes).length === 0) return 0;
    let count = 0;
    const rows = this.#rows.map((row) => {
      if (!matches(row, where)) return row;
      count += 1;
      return { ...row, ...changes };
    });
    if (count > 0) this.#replace(rows);
    return count;
  }

  async delete(where: Where): Promise<number> {
    const left = this.#rows.filter((row) => !matches(row, where));
    const count = this.#rows.length - left.length;
    this.#held.tables[this.#name] = left;
    return count;
  }

  /** Gives the columns that are taken, or undefined when the row is in. */
  #insert(given: AnyRow): readonly string[] | undefined {
    const { defaults = {}, numbered } = MEMORY_TABLES[this.#name] as TableRules;
    const row: Record<string, unknown> = { ...defaults };
    for (const [name, value] of Object.entries(given)) if (value !== undefined) row[name] = stored(value);
    if (numbered !== undefined) row[numbered] ??= BigInt(this.#rows.length + 1);
    const broken = brokenBy(this.#name, row);
    if (broken) throw new RefusedByDatabase(this.#name, broken);
    const taken = takenBy(this.#name, row, this.#rows);
    if (!taken) this.#held.tables[this.#name] = [...this.#rows, row];
    return taken;
  }

  #replace(rows: readonly AnyRow[]): void {
    for (const [at, row] of rows.entries()) {
      if (row === this.#rows[at]) continue;
      const broken = brokenBy(this.#name, row);
      if (broken) throw new RefusedByDatabase(this.#name, broken);
      const taken = takenBy(this.#name, row, rows.toSpliced(at, 1));
      if (taken) throw new RefusedByDatabase(this.#name, `${taken.join(', ')} is taken`);
    }
    this.#held.tables[this.#name] = rows;
  }
}

function matches(row: AnyRow, where: Where): boolean {
  return Object.entries(where).every(([name, wanted]) => {
    if (wanted === undefined) throw new TypeError(`${name}: only plain values can be looked up`);
    const value = row[name] ?? null;
    return Array.isArray(wanted) ? wanted.some((one) => isEqual(value, one)) : isEqual(value, wanted);
  });
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime();
  return one === other;
}

function compareRows(a: AnyRow, b: AnyRow, orderBy: NonNullable<Listing['orderBy']>): number {
  for (const [name, way] of Object.entries(orderBy)) {
    const [left, right] = [a[name] as number, b[name] as number];
    if (isEqual(left, right)) continue;
    return (left < right ? -1 : 1) * (way === 'desc' ? -1 : 1);
  }
  return 0;
}

/** As the database gives it back: documents as plain JSON of their own. */
function stored(value: unknown): unknown {
  const isDocument = typeof value === 'object' && value !== null && !(value instanceof Date) && !Array.isArray(value);
  return isDocument ? (JSON.parse(JSON.stringify(value)) as unknown) : value;
}
