import type { Store, Tx } from '../../../server/db/store.ts';
import type { Shelf } from './memory-table.ts';
import { memoryTx, type Shelves } from './memory-tx.ts';
import { type AnyRow, MEMORY_TABLES, type Snapshot, TABLE_NAMES, type TableName, type Where } from './tables.ts';

/** Indexed columns besides the unique ones. */
const ALSO: Readonly<Partial<Record<TableName, readonly string[]>>> = {
  orders: ['merchantOrderNo', 'channelTradeNo', 'channelOrderId'],
  refunds: ['orderNo', 'channelRefundNo', 'merchantRefundNo'],
  refundLookups: ['orderNo'],
  transitions: ['orderNo'],
  exceptions: ['orderNo', 'refundNo'],
  notifications: ['notificationId'],
  keys: ['key'],
  events: ['objectNo'],
  dueEffects: ['orderNo'],
  disputes: ['orderNo', 'refundNo', 'channelDisputeNo'],
};

/** An in-memory store for one transaction at a time, with row lookup by key. */
export interface IndexedStore extends Store {
  /** The rows with this value in an indexed column, in insertion order, valid until the next write. */
  rowsBy(name: TableName, column: string, value: unknown): readonly AnyRow[];
  snapshot(): Snapshot;
}

/** Opens an empty store. `committed` receives the rows that a commit wrote, each with its former state. */
export function indexedStore(committed: (changes: readonly Written[]) => void = () => {}): IndexedStore {
  const shelves = new IndexedShelves();
  const tx = memoryTx(shelves);
  const commit = async <T>(work: (one: Tx) => Promise<T>): Promise<T> => {
    const putBack = shelves.remember();
    let result: T;
    try {
      result = await work(tx);
    } catch (error) {
      putBack();
      shelves.forget();
      throw error;
    }
    const written = shelves.forget();
    if (written.length > 0) committed(written);
    return result;
  };
  return {
    transaction: commit,
    autocommit: commit,
    read: (work) => work(tx),
    rowsBy: (name, column, value) => shelves.of(name).by(column, value),
    snapshot: () =>
      Object.fromEntries(TABLE_NAMES.map((name) => [name, [...shelves.of(name).among({})]])) as unknown as Snapshot,
  };
}

/** One row before and after a write; undefined = it did not exist. */
export interface Written {
  readonly name: TableName;
  readonly before: AnyRow | undefined;
  readonly after: AnyRow | undefined;
}

class IndexedShelves implements Shelves {
  readonly #shelves = new Map<TableName, IndexedShelf>();
  #written: Written[] = [];

  constructor() {
    for (const name of TABLE_NAMES)
      this.#shelves.set(name, new IndexedShelf(name, (one) => void this.#written.push(one)));
  }

  of(name: TableName): IndexedShelf {
    return this.#shelves.get(name)!;
  }

  remember(): () => void {
    const from = this.#written.length;
    return () => {
      for (const one of this.#written.splice(from).toReversed()) this.#shelves.get(one.name)!.undo(one);
    };
  }

  /** Makes earlier changes permanent and returns them. */
  forget(): readonly Written[] {
    const written = this.#written;
    this.#written = [];
    return written;
  }
}

const NONE: readonly AnyRow[] = [];

class IndexedShelf implements Shelf {
  readonly #name: TableName;
  readonly #note: (written: Written) => void;
  /** By their positions, which never change. */
  readonly #rows = new Map<number, AnyRow>();
  readonly #places = new Map<AnyRow, number>();
  readonly #indexes: readonly Index[];
  #next = 0;

  constructor(name: TableName, note: (written: Written) => void) {
    this.#name = name;
    this.#note = note;
    const single = MEMORY_TABLES[name].uniques.flatMap(({ columns }) => (columns.length === 1 ? columns : []));
    const columns = new Set([...single, ...(ALSO[name] ?? [])]);
    this.#indexes = Array.from(columns, (column) => ({ column, rows: new Map() }));
  }

  get size(): number {
    return this.#rows.size;
  }

  among(where: Where): Iterable<AnyRow> {
    for (const { column, rows } of this.#indexes) {
      const wanted = where[column];
      if (wanted === undefined || wanted === null) continue;
      if (!Array.isArray(wanted)) return rows.get(wanted) ?? NONE;
      return this.#inOrder((wanted as unknown[]).flatMap((value) => rows.get(value) ?? []));
    }
    return this.#rows.values();
  }

  like(row: AnyRow, columns: readonly string[]): Iterable<AnyRow> {
    for (const { column, rows } of this.#indexes) if (columns.includes(column)) return rows.get(row[column]) ?? NONE;
    return this.#rows.values();
  }

  /** The rows with a value in an indexed column. */
  by(column: string, value: unknown): readonly AnyRow[] {
    for (const index of this.#indexes) if (index.column === column) return index.rows.get(value) ?? NONE;
    throw new TypeError(`${column} of ${this.#name} is not indexed`);
  }

  add(row: AnyRow): void {
    this.#put(this.#next++, row);
    this.#note({ name: this.#name, before: undefined, after: row });
  }

  replace(before: AnyRow, after: AnyRow): void {
    this.#change(before, after);
    this.#note({ name: this.#name, before, after });
  }

  remove(rows: readonly AnyRow[]): void {
    for (const before of rows) {
      this.#take(before);
      this.#note({ name: this.#name, before, after: undefined });
    }
  }

  undo({ before, after }: Written): void {
    if (before && after) this.#change(after, before);
    else if (after) this.#take(after);
    else if (before) this.#put(this.#next++, before);
  }

  #put(place: number, row: AnyRow): void {
    this.#rows.set(place, row);
    this.#places.set(row, place);
    for (const index of this.#indexes) this.#enter(index, row);
  }

  #take(row: AnyRow): void {
    this.#rows.delete(this.#places.get(row)!);
    this.#places.delete(row);
    for (const index of this.#indexes) leave(index, row);
  }

  #change(before: AnyRow, after: AnyRow): void {
    const place = this.#places.get(before)!;
    this.#rows.set(place, after);
    this.#places.delete(before);
    this.#places.set(after, place);
    for (const index of this.#indexes) {
      const same = before[index.column] === after[index.column] ? index.rows.get(after[index.column]) : undefined;
      if (same) {
        same[same.indexOf(before)] = after;
        continue;
      }
      leave(index, before);
      this.#enter(index, after);
    }
  }

  #enter({ column, rows }: Index, row: AnyRow): void {
    const value = row[column] ?? null;
    if (value === null) return;
    const same = rows.get(value);
    const last = same?.at(-1);
    if (!same || !last) rows.set(value, [row]);
    else if (this.#places.get(last)! < this.#places.get(row)!) same.push(row);
    else rows.set(value, this.#inOrder([...same, row]));
  }

  #inOrder(rows: AnyRow[]): AnyRow[] {
    return rows.toSorted((a, b) => this.#places.get(a)! - this.#places.get(b)!);
  }
}

/** The rows of a table by the value of a column, rows of one value in insertion order. */
interface Index {
  readonly column: string;
  readonly rows: Map<unknown, AnyRow[]>;
}

function leave({ column, rows }: Index, row: AnyRow): void {
  const same = rows.get(row[column]);
  if (same) same.splice(same.indexOf(row), 1);
}
