import type { SqlEntityManager } from '@mikro-orm/postgresql';

/** What a statement came to. */
export interface Ran {
  rows: Record<string, unknown>[];
  /** Rows written or removed; 0 for a read. */
  affected: number;
}

type Query = Parameters<ReturnType<SqlEntityManager['getKysely']>['executeQuery']>[0];

/**
 * Runs one statement with bound values (`$1`, `$2` …) in the transaction of `em`, or alone without one. Errors are
 * MikroORM's, as for every other statement of it.
 */
export async function run(em: SqlEntityManager, text: string, values: readonly unknown[]): Promise<Ran> {
  // MikroORM writes values into the text of a statement, so no two are alike; Kysely below it binds them.
  try {
    const { rows, numAffectedRows } = await em.getKysely().executeQuery(compiled(text, values));
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

function compiled(sql: string, parameters: readonly unknown[]): Query {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
  return { sql, parameters, query, queryId: { queryId: '' } } as unknown as Query;
}

/** Statements that get a name; what comes after them, or is as long as one that writes many rows, is planned every time. */
const MOST_NAMES = 300;
const LONGEST_NAMED = 4_000;
const names = new Map<string, string>();

interface Client {
  connection: { stream: { destroy(): void } };
  query(...words: unknown[]): unknown;
}

/** A pool of `pg`, as far as it is touched. */
export interface Pool {
  Client: new (...options: never[]) => Client;
}

/**
 * Has every connection of a pool keep the plans of statements with bound values: PostgreSQL then parses and plans each
 * of them once for a connection, and not once for a call. A connection whose answer did not come in time is closed.
 */
export function keepPlans(pool: Pool): void {
  pool.Client = class extends pool.Client {
    override query(...words: unknown[]): unknown {
      const [text, values, ...rest] = words;
      const name = typeof text === 'string' && Array.isArray(values) && values.length > 0 ? nameOf(text) : undefined;
      const answer = name === undefined ? super.query(...words) : super.query({ name, text, values }, ...rest);
      // The statement that nobody waits for any more still holds the connection: the next one must not queue behind it.
      if (answer instanceof Promise)
        answer.catch((error: unknown) => isTimeout(error) && this.connection.stream.destroy());
      return answer;
    }
  };
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

function nameOf(text: string): string | undefined {
  let name = names.get(text);
  if (name === undefined && names.size < MOST_NAMES && text.length <= LONGEST_NAMED)
    names.set(text, (name = `pay${names.size}`));
  return name;
}
