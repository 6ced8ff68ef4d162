import type { SqlEntityManager } from '@mikro-orm/postgresql';
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
  const reader = database.em.fork({ useContext: false });
  return {
    transaction: (work) => transaction(database, (em) => work(new Tx(em, wake))),
    read: (work) => work(new Tx(reader, wake)),
  };
}

/**
 * Kysely's own transaction and not MikroORM's: it costs less, and gives the connection back even when the database went
 * away and nothing can be rolled back any more; MikroORM's would keep it for ever, and ten of them are the whole pool.
 */
async function transaction<T>({ em }: OpenDatabase, work: (em: SqlEntityManager) => Promise<T>): Promise<T> {
  const own = em.fork({ useContext: false });
  const begin = own.getKysely().transaction().setIsolationLevel('read committed');
  let failure: { error: unknown } | undefined;
  try {
    return await begin.execute(async (trx) => {
      own.setTransactionContext(trx);
      return work(own).catch((error: unknown) => {
        failure = { error };
        throw error;
      });
    });
  } catch (error) {
    // A rollback that fails as well must not hide why there was one.
    throw failure ? failure.error : error;
  }
}
