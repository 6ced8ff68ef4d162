import type { EntityName } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import { type Layout, layoutOf } from './layout.ts';

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
