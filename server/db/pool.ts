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
import { ENDED } from '../errors.ts';
import { type AbandonedConnections, type Bounds, localBounds, watchAbandoned } from './connections.ts';
import { PARSERS } from './kysely.ts';

/**
 * Creates a Kysely dialect for MikroORM over a `pg` pool. With `prepared`, PostgreSQL parses and plans each statement
 * with bound values once per connection. Without `prepared`, a connection keeps no state after a transaction, so a
 * pooler can assign it to another client. `local` contains the timeouts that every transaction sets for itself. `local`
 * is needed behind a pooler that does not allow timeouts for a whole session.
 */
export function createDialect(
  options: PoolConfig,
  prepared: boolean,
  local?: Bounds,
): { dialect: PostgresDialect; connections: () => Connections; end: () => Promise<void> } {
  const pool = new Pool({ ...options, types: typeParsers() });
  // When the server closes a connection, pg emits an error event, which would end the process if there were no
  // listener. The running statement fails anyway.
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', () => {});
  const abandoned = watchAbandoned(options);
  let ended: Promise<void> | undefined;
  /** Closes the pool. Resolves when every connection was released and closed. */
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

/** The number of connections, and of requests that wait for a connection. */
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
  // Whether a begin or savepoint statement is held back and sent together with the next statement. This needs prepared
  // statements. It is not done if the begin statement also sets timeouts, as it does behind a pooler.
  const holds = prepared && begins === undefined;
  const health: Health = { turn: 0, lostAt: 0 };
  const clients = new WeakMap<PoolClient, WatchedClient>();
  // Behind a pooler, abandoned connections (whose statement timed out) are not watched. The pooler limits the
  // connections itself, and the process ids that it reports are not those of PostgreSQL.
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

/** Opens a connection within `ms`, or throws the pool's timeout error; a connection that opens later is released. */
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

/**
 * `lostAt` is the value of `turn` when a connection was last lost. Connections without a later response may be broken.
 */
interface Health {
  /** A counter that increases with every response and every lost connection. A higher value means a later event. */
  turn: number;
  lostAt: number;
}

/** `answeredAt` is the value of the counter `turn` of `Health` at the connection's last response. */
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
  /** Whether begin and savepoint statements are sent only together with the next statement. */
  holds: boolean;
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
      // If no time is left, the statement is not sent, so that the connection stays usable.
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
      // The server still runs the statement that timed out. So the connection is not used for other statements.
      if (error instanceof Error && error.message === TIMED_OUT) {
        isAbandoned = true;
        void client.end();
      }
      // The server closes the connection, so it is not used again, even if its end was not noticed yet.
      if (ENDED.test(String((error as { code?: unknown }).code))) void client.end();
      // The connection has lost its prepared statements. pg does not notice this, so the connection is closed.
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

/** The message of the error that pg throws if a statement exceeds its time. */
export const TIMED_OUT = 'Query read timeout';

/** PostgreSQL's invalid_sql_statement_name. */
const NO_SUCH_STATEMENT = '26000';

const IS_BEGIN = /^(?:start transaction|begin)\b/i;

interface Statement extends QueryConfig {
  query_timeout?: number;
}

/** `own` is the pool's timeout; 0 = the pool has no timeout. Throws if no time is left. */
function limit(statement: Statement, ms: number, own: number): void {
  if (ms <= 0) throw new Error(TIMED_OUT);
  // A timeout is set only if necessary: Node keeps timers of equal length in one list, so a different length for each
  // statement is expensive.
  if (ms < (own || Number.POSITIVE_INFINITY)) statement.query_timeout = Math.ceil(ms);
}

/** The maximum number of prepared statements per pool; additional and long statements are planned for each call. */
const MOST_NAMES = 300;
const LONGEST_NAMED = 8_000;

/** Statements are named by their hash, so that clients of one pooler never use one name for two statements. */
function createNames(): NameOf {
  const names = new Map<string, string>();
  return (text) => {
    let name = names.get(text);
    if (name === undefined && names.size < MOST_NAMES && text.length <= LONGEST_NAMED)
      names.set(text, (name = `pay_${hash('sha256', text, 'base64url').slice(0, 22)}`));
    return name;
  };
}

/**
 * Statements that begin a transaction, or begin or end a savepoint, with their prepared names. Their response is not
 * needed before the next statement, so they can be sent together with it.
 */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['start transaction isolation level read committed', 'pay_begin'],
  ['savepoint part', 'pay_savepoint'],
  ['release savepoint part', 'pay_release'],
]);
const [BEGIN, SAVEPOINT, RELEASE] = [...NAMES.keys()] as [string, string, string];
const END = /^(?:commit|rollback)\b(?! to)/i;
const BACK = /^rollback to /i;

interface HeldStatements {
  /** `prepare` is called right before a message is sent, and may throw. */
  run(statement: QueryConfig, prepare: () => void): Promise<Pick<QueryResult, 'command' | 'rowCount' | 'rows'>>;
}

const NOTHING = { command: '', rowCount: null as unknown as number, rows: [] as never[] };

/**
 * Sends the statements of one connection. A statement that begins a transaction or a savepoint is held back and sent in
 * one message with the next statement, which saves a round trip. If a statement of a message fails, PostgreSQL skips
 * the rest of the message, so no statement runs outside its transaction. After such a failure, this function rejects
 * all statements until the transaction or the savepoint is rolled back.
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
      // Begin and end of an empty savepoint are not sent.
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
  if (statement.name === undefined && (statement.values ?? []).length === 0)
    return client.query({ ...statement, text: [...before, statement.text].join('; ') }).then(lastOf);
  const names = before.map((text) => NAMES.get(text)!);
  return new Promise((resolve, reject) => {
    const query = new Following(statement, names, (error, result) => (error ? reject(error) : resolve(result)));
    client.query(query as never);
  });
}

/** Returns the last result, because pg returns a list of results if one text contains several statements. */
function lastOf(results: QueryResult | QueryResult[]): QueryResult {
  return Array.isArray(results) ? results.at(-1)! : results;
}

/**
 * The two methods of pg's internal connection that execute a prepared statement. They are used to send several
 * statements in one message.
 */
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

/** A statement that is sent in the same message as the prepared statements before it. */
class Following extends Query {
  /** The timeout that pg reads from the query object (ms). */
  readonly query_timeout: number | undefined;
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

/** Time reserved for commit or rollback (ms); after a timeout of the commit its outcome would be unknown. */
export const ENDING_MS = 500;

/**
 * The time that one request may still wait for the database. All statements and connections of the request share this
 * time, so the request as a whole never waits longer. Time in which the request waits for a channel is not counted.
 * Work after the response is not counted either.
 */
export class RequestTime {
  hasChanged = false;
  /** Maximum age (s) of the data that was read from the read replica; undefined = nothing was read from it. */
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

  /** Whether at most a tenth of the time is used. */
  isFresh(): boolean {
    return !this.#isOver && this.left() >= 0.9 * this.#total;
  }

  left(): number {
    if (this.#isOver) return Number.POSITIVE_INFINITY;
    const current = this.#waiting > 0 ? this.#now() - this.#since : 0;
    return Math.max(0, this.#total - this.#spent - current);
  }

  /** Starts to count time, until `stopWaiting` is called. Parallel waits are counted once. */
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

/** Runs the work of a request. All its database calls share one time limit. */
export function withinRequestTime<T>(time: RequestTime, work: () => Promise<T>): Promise<T> {
  return current.run(time, work).finally(() => time.end());
}

/** Runs work without the request's time limit: background work, and work whose duration depends on its input. */
export function outsideRequestTime<T>(work: () => T): T {
  return current.exit(work);
}

/** The time limit of the current request; undefined outside a request. */
export function requestTime(): RequestTime | undefined {
  return current.getStore();
}

export interface Requests {
  /** Runs one request with its own time limit. */
  run<T>(request: () => Promise<T>): Promise<T>;
  noteChange(): void;
  /**
   * Whether the current request has committed a change. The error of such a request must not say that nothing was
   * changed.
   */
  hasChanged(): boolean;
  /** Records that the current request has read data from the read replica that may be `seconds` old. */
  noteLag(seconds: number): void;
  /** Maximum age (s) of the data that the request has read; undefined = all data is from the primary. */
  lag(): number | undefined;
}

/** Creates the functions that run requests; each request may wait `totalMs` (ms) for the database. */
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
