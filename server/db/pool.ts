import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import pg, {
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
  TypeOverrides,
} from 'pg';
import { type AbandonedConnections, type Bounds, localBounds, watchAbandoned } from './connections.ts';
import { PARSERS } from './kysely.ts';

/**
 * Creates a dialect for MikroORM over a `pg` pool. With `prepared`, PostgreSQL parses and plans each statement with bound values once per
 * connection. Without it a connection keeps no state after a transaction, so a pooler can reassign it. `local` are timeouts that each
 * transaction sets, where a session cannot have timeouts.
 */
export function createDialect(
  options: PoolConfig,
  prepared: boolean,
  local?: Bounds,
): { dialect: PostgresDialect; connections: () => Connections; end: () => Promise<void> } {
  const pool = new Pool({ ...options, types: typeParsers() });
  // Without a listener, the error event of a connection that the server ends would end the process; its statement fails anyway.
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', () => {});
  const abandoned = watchAbandoned(options);
  let ended: Promise<void> | undefined;
  /** Resolves when every connection was released and closed. */
  const end = () => {
    abandoned.end();
    return (ended ??= pool.end());
  };
  return {
    dialect: new PostgresDialect({ pool: { ...wrap(pool, { prepared, local, abandoned }), end } }),
    connections: () => ({
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      max: pool.options.max,
    }),
    end,
  };
}

/** The number of connections, and of requests that wait for one. */
export interface Connections {
  total: number;
  idle: number;
  waiting: number;
  max: number;
}

function typeParsers(): TypeOverrides {
  const overrides = new TypeOverrides();
  for (const [type, parse] of Object.entries(PARSERS)) overrides.setTypeParser(Number(type), parse as never);
  return overrides;
}

interface PoolWrapping {
  prepared: boolean;
  local: Bounds | undefined;
  abandoned: AbandonedConnections;
}

function wrap(pool: Pool, { prepared, local, abandoned }: PoolWrapping): Omit<PostgresPool, 'end'> {
  const nameOf = prepared ? createNames() : () => undefined;
  const { query_timeout: own = 0 } = pool.options as PoolConfig;
  const begins = local && localBounds(local);
  // False behind a pooler, where connections keep no prepared statements and the begin statement also sets timeouts.
  const holds = prepared && begins === undefined;
  const health: Health = { turn: 0, lostAt: 0 };
  const clients = new WeakMap<PoolClient, WatchedClient>();
  // Undefined behind a pooler, which limits connections itself and has other process ids than the server.
  const kept = begins === undefined ? abandoned : undefined;
  const wrapping = { nameOf, health, own, begins, holds, abandoned: kept };
  pool.on('connect', (client) => void clients.set(client, wrapClient(client, wrapping)));
  return {
    options: pool.options,
    async connect() {
      const time = requestTime();
      for (;;) {
        const client = await connectInTime(pool, time);
        const watched = clients.get(client)!;
        if (watched.answeredAt >= health.lostAt) return watched;
        client.release(true);
      }
    },
  };
}

async function connectInTime(pool: Pool, time: RequestTime | undefined): Promise<PoolClient> {
  if (!time) return pool.connect();
  const ms = time.left();
  time.startWaiting();
  try {
    const own = pool.options.connectionTimeoutMillis ?? 0;
    return await (own > 0 && own <= ms ? pool.connect() : connectWithin(pool, ms));
  } finally {
    time.stopWaiting();
  }
}

/** Connects within `ms`, or throws the pool's own timeout error; a connection that arrives later is released. */
export async function connectWithin(pool: Pick<Pool, 'connect'>, ms: number): Promise<PoolClient> {
  if (!Number.isFinite(ms)) return pool.connect();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('timeout exceeded when trying to connect')), ms);
  const connecting = pool.connect();
  try {
    return await Promise.race([connecting, late.promise]);
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => {},
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** When a connection was last lost. A connection without a response since then may be broken. */
interface Health {
  /** Counts responses and lost connections; used as a clock. */
  turn: number;
  lostAt: number;
}

/** A connection of the pool with the turn of its last response. */
interface WatchedClient extends PostgresPoolClient {
  answeredAt: number;
}

type NameOf = (text: string) => string | undefined;

interface Wrapping {
  nameOf: NameOf;
  health: Health;
  /** The pool's own query timeout (ms). */
  own: number;
  /** SQL that is appended to the statement that begins a transaction. */
  begins: string | undefined;
  /** Whether begin and savepoint statements are held until the next statement. */
  holds: boolean;
  /** Receives the connections that were abandoned while the server was still working. */
  abandoned: AbandonedConnections | undefined;
}

function wrapClient(client: PoolClient, { nameOf, health, own, begins, holds, abandoned }: Wrapping): WatchedClient {
  const connectedAt = performance.now();
  let isAbandoned = false;
  const { run } = holds ? holdStatements(client) : sendAtOnce(client);
  async function query(text: string, values: readonly unknown[]): Promise<unknown> {
    const time = requestTime();
    const statement: Statement = { text, values: values as unknown[] };
    if (begins !== undefined && IS_BEGIN.test(text)) statement.text += begins;
    if (values.length > 0) statement.name = nameOf(text);
    let isSent = false;
    const prepare = () => {
      // A statement without time left is not sent, so the connection stays usable.
      if (time) limit(statement, time.leftFor(text), own);
      time?.startWaiting();
      isSent = true;
    };
    try {
      const result = await run(statement, prepare);
      if (isSent) watched.answeredAt = health.turn += 1;
      return result;
    } catch (error) {
      if (!isSent) throw error;
      // An error from PostgreSQL is also a response.
      if (error instanceof DatabaseError) watched.answeredAt = health.turn += 1;
      else health.lostAt = health.turn += 1;
      // The statement that timed out still occupies the connection, so the next statement must not queue behind it.
      if (error instanceof Error && error.message === 'Query read timeout') {
        isAbandoned = true;
        void client.end();
      }
      // The connection has lost its prepared statements and pg does not notice, so the connection is closed.
      if ((error as { code?: unknown }).code === NO_SUCH_STATEMENT) void client.end();
      throw error;
    } finally {
      if (isSent) time?.stopWaiting();
    }
  }
  const watched: WatchedClient = {
    query: query as PostgresPoolClient['query'],
    release() {
      if (isAbandoned && abandoned) abandoned.add(client, connectedAt, () => client.release(true));
      else client.release();
    },
    answeredAt: (health.turn += 1),
  };
  return watched;
}

function sendAtOnce(client: PoolClient): HeldStatements {
  return {
    async run(statement, prepare) {
      prepare();
      return client.query(statement);
    },
  };
}

/** PostgreSQL's invalid_sql_statement_name. */
const NO_SUCH_STATEMENT = '26000';

const IS_BEGIN = /^(?:start transaction|begin)\b/i;

/** A statement as pg takes it. */
interface Statement extends QueryConfig {
  query_timeout?: number;
}

/** Sets the timeout of a statement if it is shorter than the pool's own (0 = none). */
function limit(statement: Statement, ms: number, own: number): void {
  if (ms <= 0) throw new Error('Query read timeout');
  // Node keeps timers of equal length in one list, so a different length for each statement is expensive.
  if (ms < (own || Number.POSITIVE_INFINITY)) statement.query_timeout = Math.ceil(ms);
}

/** Most prepared statements per pool; further statements, and long ones that write many rows, are planned each time. */
const MOST_NAMES = 300;
const LONGEST_NAMED = 8_000;

/** Names statements by their hash, so that clients that share a connection cannot confuse them. */
function createNames(): NameOf {
  const names = new Map<string, string>();
  return (text) => {
    let name = names.get(text);
    if (name === undefined && names.size < MOST_NAMES && text.length <= LONGEST_NAMED)
      names.set(text, (name = `pay_${hash('sha256', text, 'base64url').slice(0, 22)}`));
    return name;
  };
}

/** Statements that begin and end parts of transactions; their response is not needed before that of the next statement. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['start transaction isolation level read committed', 'pay_begin'],
  ['savepoint part', 'pay_savepoint'],
  ['release savepoint part', 'pay_release'],
]);
const [BEGIN, SAVEPOINT, RELEASE] = [...NAMES.keys()] as [string, string, string];
const END = /^(?:commit|rollback)\b(?! to)/i;
const BACK = /^rollback to /i;

/** Runs the statements of one connection. */
interface HeldStatements {
  /**
   * Sends a statement, in one message with the statements that are held. A statement that begins a transaction or a savepoint is not
   * sent but held until the next one, and this returns at once. `prepare` runs right before a message is sent, and may throw.
   */
  run(statement: QueryConfig, prepare: () => void): Promise<Pick<QueryResult, 'command' | 'rowCount' | 'rows'>>;
}

const NOTHING = { command: '', rowCount: null as unknown as number, rows: [] as never[] };

/**
 * Holds the statements that begin transactions and savepoints until the next statement is sent, which saves their round trips: a
 * transaction of two statements takes three messages instead of four, and an empty one takes none.
 *
 * PostgreSQL skips the rest of a message when a part of it fails, so no statement runs outside a transaction that did not begin. After
 * such a failure, statements are refused here until the transaction, or its savepoint, is rolled back.
 */
function holdStatements(client: PoolClient): HeldStatements {
  /** Statements that are already prepared on the connection. */
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
      // An empty savepoint is not sent.
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
  // Without values and without a name, all statements fit into one text.
  if (statement.name === undefined && (statement.values ?? []).length === 0)
    return client.query({ ...statement, text: [...before, statement.text].join('; ') }).then(lastOf);
  const names = before.map((text) => NAMES.get(text)!);
  return new Promise((resolve, reject) => {
    const query = new Following(statement, names, (error, result) => (error ? reject(error) : resolve(result)));
    client.query(query as never);
  });
}

/** The last result: for several statements in one text, pg returns a list. */
function lastOf(results: QueryResult | QueryResult[]): QueryResult {
  return Array.isArray(results) ? results.at(-1)! : results;
}

/** The methods of pg's connection that are needed to send prepared statements before another statement. */
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

/** A statement that is sent in one message behind prepared statements. */
class Following extends Query {
  /** Timeout of pg (ms). */
  readonly query_timeout: number | undefined;
  /** The names of the prepared statements that are sent before this one, in the same message. */
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

/** Time reserved for commit or rollback (ms). Without it the commit could time out, and the result of the transaction would be unknown. */
const ENDING_MS = 500;

/**
 * The time that one request may still wait for the database, over all its statements and connections. So two timeouts in a row take no
 * longer than one timeout. Waiting for channels, and work after the response, is not counted.
 */
export class RequestTime {
  /** Whether the request has committed a transaction. */
  hasChanged = false;
  /** Maximum age, in seconds, of the data that the request has read from the replica; undefined = it has read none. */
  lag: number | undefined;
  readonly #now: () => number;
  readonly #total: number;
  #spent = 0;
  #since = 0;
  #waiting = 0;
  #isOver = false;

  constructor(totalMs: number, now: () => number = () => performance.now()) {
    this.#total = totalMs - ENDING_MS;
    this.#now = now;
  }

  /** The time left for a statement (ms). */
  leftFor(text: string): number {
    const left = this.left();
    return left < ENDING_MS && /^(commit|rollback)\b/i.test(text) ? ENDING_MS : left;
  }

  left(): number {
    if (this.#isOver) return Number.POSITIVE_INFINITY;
    const current = this.#waiting > 0 ? this.#now() - this.#since : 0;
    return Math.max(0, this.#total - this.#spent - current);
  }

  /** Counts time until `stopWaiting`; parallel waits count once. */
  startWaiting(): void {
    if (this.#waiting === 0) this.#since = this.#now();
    this.#waiting += 1;
  }

  stopWaiting(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#spent += this.#now() - this.#since;
  }

  end(): void {
    this.#isOver = true;
  }
}

const current = new AsyncLocalStorage<RequestTime>();

/** Runs work whose database calls share one time limit. */
export function withinRequestTime<T>(time: RequestTime, work: () => Promise<T>): Promise<T> {
  return current.run(time, work).finally(() => time.end());
}

/** Runs work outside the time limit of the request: background work, and work whose duration depends on its input. */
export function outsideRequestTime<T>(work: () => T): T {
  return current.exit(work);
}

/** The time limit of the current request. */
export function requestTime(): RequestTime | undefined {
  return current.getStore();
}

/** The database state of requests. */
export interface Requests {
  /** Runs one request with a time limit of its own. */
  run<T>(request: () => Promise<T>): Promise<T>;
  /** Records that the current request has committed. */
  noteChange(): void;
  /** Whether the current request has committed; a later failure must not report that nothing changed. */
  hasChanged(): boolean;
  /** Records that the current request has read data that may be this old. */
  noteLag(seconds: number): void;
  /** Maximum age of the data that the current request has read; undefined if all is from the primary. */
  lag(): number | undefined;
}

/** Creates request state with `totalMs` of database time for each request. */
export function createRequests(totalMs: number): Requests {
  return {
    run: (request) => withinRequestTime(new RequestTime(totalMs), request),
    noteChange() {
      const request = current.getStore();
      if (request) request.hasChanged = true;
    },
    hasChanged: () => current.getStore()?.hasChanged === true,
    noteLag(seconds) {
      const request = current.getStore();
      if (request) request.lag = Math.max(seconds, request.lag ?? 0);
    },
    lag: () => current.getStore()?.lag,
  };
}
