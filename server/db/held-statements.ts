import pg, { type PoolClient, type QueryConfig, type QueryResult } from 'pg';

/** Statements that open and close parts of transactions: nobody needs their answer before the next statement has one. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['start transaction isolation level read committed', 'pay_begin'],
  ['savepoint part', 'pay_savepoint'],
  ['release savepoint part', 'pay_release'],
]);
const [BEGIN, SAVEPOINT, RELEASE] = [...NAMES.keys()] as [string, string, string];
const END = /^(?:commit|rollback)\b(?! to)/i;
const BACK = /^rollback to /i;

/** What a connection does with one statement. */
export interface HeldStatements {
  /**
   * Runs a statement, in one message with those that were held before it; one that can be held is answered at once. `prepare` runs
   * right before anything is sent, and may refuse.
   */
  run(statement: QueryConfig, prepare: () => void): Promise<Pick<QueryResult, 'command' | 'rowCount' | 'rows'>>;
}

const NOTHING = { command: '', rowCount: null as unknown as number, rows: [] as never[] };

/**
 * Holds the statements that begin transactions and savepoints until the next one is sent, so that they cost no way there and back: a
 * transaction of two statements takes three messages instead of four, and one in which nothing happens takes none.
 *
 * PostgreSQL skips the rest of a message when a part of it fails, so nothing can run outside of a transaction that did not begin.
 * Whatever is sent after such a failure is refused here until the transaction, or its savepoint, is rolled back.
 */
export function holdStatements(client: PoolClient): HeldStatements {
  /** Names that the connection knows: they are made when first used. */
  const known = new Set<string>();
  let held: string[] = [];
  let failure: { error: unknown } | undefined;
  return { run };

  async function run(statement: QueryConfig, prepare: () => void) {
    const { text } = statement;
    if (END.test(text)) {
      const isUnsent = held[0] === BEGIN;
      held = [];
      failure = undefined;
      if (isUnsent) return NOTHING;
      prepare();
      return client.query(statement);
    }
    if (failure && !BACK.test(text)) throw failure.error;
    const name = NAMES.get(text);
    if (name !== undefined && known.has(name)) {
      // A part in which nothing happened.
      if (text === RELEASE && held.at(-1) === SAVEPOINT) held.pop();
      else held.push(text);
      return NOTHING;
    }
    prepare();
    const before = held;
    held = [];
    try {
      const result = await send(client, { ...statement, ...(name !== undefined && { name }) }, before);
      failure = undefined;
      if (name !== undefined) known.add(name);
      return result;
    } catch (error) {
      if (before.length > 0) failure = { error };
      throw error;
    }
  }
}

function send(client: PoolClient, statement: QueryConfig, before: readonly string[]): Promise<QueryResult> {
  if (before.length === 0) return client.query(statement);
  // Without values and without a name everything is one text.
  if (statement.name === undefined && (statement.values ?? []).length === 0)
    return client.query({ ...statement, text: [...before, statement.text].join('; ') }).then(lastOf);
  const names = before.map((text) => NAMES.get(text)!);
  return new Promise((resolve, reject) => {
    const query = new Following(statement, names, (error, result) => (error ? reject(error) : resolve(result)));
    client.query(query as never);
  });
}

/** Of several statements in one text pg gives a list of results. */
function lastOf(results: QueryResult | QueryResult[]): QueryResult {
  return Array.isArray(results) ? results.at(-1)! : results;
}

/** The little of pg's connection and query that is needed to put known statements in front of another one. */
interface Wire {
  bind(config: { statement: string }): void;
  execute(config: object): void;
}

interface WireQuery {
  prepare(connection: Wire): void;
  handleCommandComplete(message: unknown, connection: Wire): void;
}

type Done = (error: Error | undefined, result: QueryResult) => void;

const Query = pg.Query as unknown as new (config: QueryConfig, done: Done) => WireQuery;

/** A statement behind others that the connection knows by name, in one message. */
class Following extends Query {
  /** How long pg waits for it (ms). */
  readonly query_timeout: number | undefined;
  /** Of the statements before it. */
  readonly names: readonly string[];
  #open: number;

  constructor(statement: QueryConfig & { query_timeout?: number }, names: readonly string[], done: Done) {
    super(statement, done);
    this.query_timeout = statement.query_timeout;
    this.names = names;
    this.#open = names.length;
  }

  override prepare(connection: Wire): void {
    for (const statement of this.names) {
      connection.bind({ statement });
      connection.execute({});
    }
    super.prepare(connection);
  }

  override handleCommandComplete(message: unknown, connection: Wire): void {
    if (this.#open > 0) this.#open -= 1;
    else super.handleCommandComplete(message, connection);
  }
}
