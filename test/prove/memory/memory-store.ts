import type { ReadTx, Store, Tx } from '../../../server/db/store.ts';
import type { Shelf } from './memory-table.ts';
import { memoryTx, type Shelves } from './memory-tx.ts';
import type { AnyRow, Snapshot, TableName } from './tables.ts';

/** The result of a transaction. */
export interface Committed<T> {
  readonly result: T;
  readonly snapshot: Snapshot;
}

/** Runs a transaction alone on a snapshot; the snapshot itself is unchanged. */
export async function runTransaction<T>(snapshot: Snapshot, work: (tx: Tx) => Promise<T>): Promise<Committed<T>> {
  const held = new HeldSnapshot(snapshot);
  const result = await work(memoryTx(held));
  return { result, snapshot: held.tables };
}

/** Reads from a snapshot. */
export function runRead<T>(snapshot: Snapshot, work: (tx: ReadTx) => Promise<T>): Promise<T> {
  return work(memoryTx(new HeldSnapshot(snapshot)));
}

/** A single-process store whose database is a sequence of snapshots; `current` is the newest. */
export function memoryStore(first: Snapshot): Store & { current(): Snapshot } {
  let current = first;
  const commit = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const { result, snapshot } = await runTransaction(current, work);
    current = snapshot;
    return result;
  };
  return { transaction: commit, autocommit: commit, read: (work) => runRead(current, work), current: () => current };
}

/** Rows in immutable lists: a write makes a new list. */
class HeldSnapshot implements Shelves {
  tables: Record<TableName, readonly AnyRow[]>;

  constructor(snapshot: Snapshot) {
    this.tables = { ...snapshot };
  }

  remember(): () => void {
    const before = { ...this.tables };
    return () => void (this.tables = before);
  }

  of(name: TableName): Shelf {
    const rows = () => this.tables[name];
    const put = (changed: readonly AnyRow[]) => void (this.tables[name] = changed);
    return {
      get size() {
        return rows().length;
      },
      among: rows,
      like: rows,
      add: (row) => put([...rows(), row]),
      replace: (before, after) => put(rows().map((row) => (row === before ? after : row))),
      remove: (gone) => put(rows().filter((row) => !gone.includes(row))),
    };
  }
}
