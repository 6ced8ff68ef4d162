import type { EntityName } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import { AsyncLocalStorage } from 'node:async_hooks';
import { CommitUnknown } from '../errors.ts';
import type { OpenDatabase } from './orm.ts';
import { layoutOf, type Ran, type Statements } from './table.ts';
import { createReadTx, createTx, type ReadTx, type Tx, type Wake } from './tx.ts';

/** The only door to the data. Inside `transaction` only `tx` is in reach; never await a network call there. */
export interface Store {
  /** Everything in `work` commits or nothing does; throws CommitUnknown when nobody knows which. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Reads without a transaction; each statement sees the newest committed state. */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /** Runs one statement that commits by itself; a second one is refused. */
  autocommit<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** Who else hears of writes. */
export interface StoreEars {
  /** A transaction was committed. */
  committed?: () => void;
  /** A write failed. */
  failed?: (error: unknown) => void;
}

/** Opens the door; `wake` hears of rows that are due at once, after their commit. */
export function createStore(database: OpenDatabase, wake: Wake, { committed, failed }: StoreEars = {}): Store {
  const alone = createStatements(database.em.fork({ useContext: false }));
  const reader = createReadTx(alone);
  const told = (error: unknown): never => {
    failed?.(error);
    throw error;
  };
  return {
    async transaction(work) {
      const wakes: Parameters<Wake>[] = [];
      const result = await transaction(database, (em) =>
        work(createTx(createStatements(em), (...one) => void wakes.push(one))),
      ).catch(told);
      committed?.();
      for (const one of wakes) wake(...one);
      return result;
    },
    read: (work) => work(reader),
    autocommit: (work) => work(createTx(createSingle(alone), () => {})).catch(told),
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
  let isDone = false;
  try {
    return await begin.execute(async (trx) => {
      own.setTransactionContext(trx);
      const result = await work(own).catch((error: unknown) => {
        failure = { error };
        throw error;
      });
      isDone = true;
      return result;
    });
  } catch (error) {
    // A rollback that fails as well must not hide why there was one.
    if (failure) throw failure.error;
    throw isDone && !isRefusedCommit(error) ? new CommitUnknown(error) : error;
  }
}

/** PostgreSQL itself said that it did not commit; an error without its code, or of a connection that ends, says nothing. */
function isRefusedCommit(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57P)/.test(code) && code !== 'EPIPE';
}

/** Knows of a request whether it has changed anything, so that a later failure does not say that it has not. */
export interface Changes {
  /** Runs a request. */
  watch<T>(request: () => Promise<T>): Promise<T>;
  /** Something was committed. */
  note(): void;
  /** Whether the request that asks has committed anything. */
  made(): boolean;
}

/** Starts to watch. */
export function createChanges(): Changes {
  const requests = new AsyncLocalStorage<{ made: boolean }>();
  return {
    watch: (request) => requests.run({ made: false }, request),
    note() {
      const request = requests.getStore();
      if (request) request.made = true;
    },
    made: () => requests.getStore()?.made === true,
  };
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
function createSingle(statements: Statements): Statements {
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
