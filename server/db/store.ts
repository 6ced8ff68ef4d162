import { IsolationLevel } from '@mikro-orm/core';
import type { OpenDatabase } from './orm.ts';
import { Tx, type Wake } from './tx.ts';

/** The only door to the data. Inside `transaction` only `tx` is in reach; never await a network call there. */
export interface Store {
  /** Everything in `work` commits or nothing does. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Reads without a transaction; each statement sees the newest committed state. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** Opens the door; `wake` is how jobs are enqueued in a transaction. */
export function createStore(database: OpenDatabase, wake: Wake): Store {
  return {
    transaction: (work) =>
      database.em.fork({ useContext: false }).transactional((em) => work(new Tx(em as typeof database.em, wake)), {
        isolationLevel: IsolationLevel.READ_COMMITTED,
      }),
    read: (work) => work(new Tx(database.em.fork({ useContext: false }), wake)),
  };
}
