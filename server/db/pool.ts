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
 * A dialect for MikroORM over a pool of `pg`. With `prepared` every connection keeps the plans of statements with bound
 * values: PostgreSQL then parses and plans each of them once for a connection, and not once for a call. Without it
 * nothing is left on a connection after a transaction, so that a pooler may hand it to somebody else. `local` are limits that
 * every transaction sets for itself, where a session cannot have them.
 */
export function createDialect(
  options: PoolConfig,
  prepared: boolean,
  local?: Bounds,
): { dialect: PostgresDialect; connections: () => Connections; end: () => Promise<void> } {
  const pool = new Pool({ ...options, types: typeParsers() });
  // A connection that the server ends is an event first; without a listener it would end the process. The statement on it fails by itself.
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', () => {});
  const abandoned = watchAbandoned(options);
  let ended: Promise<void> | undefined;
  /** Resolves when every connection was given back and closed. */
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

/** How many connections there are, and how many wait for one. */
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
  // Behind a pooler nothing is left on a connection, and the beginning of a transaction says more.
  const holds = prepared && begins === undefined;
  const health: Health = { turn: 0, lostAt: 0 };
  const clients = new WeakMap<PoolClient, WatchedClient>();
  // Behind a pooler its limits count, and processes have no numbers.
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

/** A connection, or what the pool itself says when it takes too long; one that comes later goes back. */
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

/** When a connection was last lost: all that have not answered since may be dead without having been told. */
interface Health {
  /** Counts answers and losses. */
  turn: number;
  lostAt: number;
}

/** A connection of the pool that knows when it last answered. */
interface WatchedClient extends PostgresPoolClient {
  answeredAt: number;
}

type NameOf = (text: string) => string | undefined;

interface Wrapping {
  nameOf: NameOf;
  health: Health;
  /** Milliseconds after which pg gives a statement up by itself. */
  own: number;
  /** What follows the statement that begins a transaction. */
  begins: string | undefined;
  /** Whether statements that begin something wait for the next one. */
  holds: boolean;
  /** Where connections go that were given up while the server was at work. */
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
      // A statement for which no time is left is not sent, so it says nothing about the connection.
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
      // PostgreSQL's own errors are answers, too.
      if (error instanceof DatabaseError) watched.answeredAt = health.turn += 1;
      else health.lostAt = health.turn += 1;
      // The statement that nobody waits for any more still holds the connection: the next one must not queue behind it.
      if (error instanceof Error && error.message === 'Query read timeout') {
        isAbandoned = true;
        void client.end();
      }
      // Somebody has taken the connection's plans away, and pg does not know.
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

/** Gives a statement the time that it has, where that is less than the pool's own limit (0 = none). */
function limit(statement: Statement, ms: number, own: number): void {
  if (ms <= 0) throw new Error('Query read timeout');
  // Timers of one length are kept in one list: another length for each statement costs a list each.
  if (ms < (own || Number.POSITIVE_INFINITY)) statement.query_timeout = Math.ceil(ms);
}

/** Statements that get a name; what comes after them, or is as long as one that writes many rows, is planned every time. */
const MOST_NAMES = 300;
const LONGEST_NAMED = 8_000;

/** A name says what the statement is: nobody who shares a connection can take it for another. */
function createNames(): NameOf {
  const names = new Map<string, string>();
  return (text) => {
    let name = names.get(text);
    if (name === undefined && names.size < MOST_NAMES && text.length <= LONGEST_NAMED)
      names.set(text, (name = `pay_${hash('sha256', text, 'base64url').slice(0, 22)}`));
    return name;
  };
}

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
interface HeldStatements {
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
function holdStatements(client: PoolClient): HeldStatements {
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

/** A transaction is ended whatever is left: otherwise nobody knows how it ended. */
const ENDING_MS = 500;

/**
 * How long one request may still wait for the database, all its statements and connections together: two time-outs in a row
 * are no longer than one. What it waits for channels is not counted, nor what goes on when it was answered.
 */
export class RequestTime {
  /** Whether the request has committed anything. */
  hasChanged = false;
  /** How old what it read elsewhere than at the primary is at most, in seconds. */
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

  /** Milliseconds for a statement. */
  leftFor(text: string): number {
    const left = this.left();
    return left < ENDING_MS && /^(commit|rollback)\b/i.test(text) ? ENDING_MS : left;
  }

  left(): number {
    if (this.#isOver) return Number.POSITIVE_INFINITY;
    const current = this.#waiting > 0 ? this.#now() - this.#since : 0;
    return Math.max(0, this.#total - this.#spent - current);
  }

  /** Counts from here until `stopWaiting`; what is waited for side by side counts once. */
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

/** Has everything that the work asks of the database share one time. */
export function withinRequestTime<T>(time: RequestTime, work: () => Promise<T>): Promise<T> {
  return current.run(time, work).finally(() => time.end());
}

/** For what a request only sets going, and for work that takes as long as what it is given. */
export function outsideRequestTime<T>(work: () => T): T {
  return current.exit(work);
}

/** The time of the request that this is a part of. */
export function requestTime(): RequestTime | undefined {
  return current.getStore();
}

/** What the database knows of the requests that it serves. */
export interface Requests {
  /** Runs one request; it has a time of its own. */
  run<T>(request: () => Promise<T>): Promise<T>;
  /** The request that this is a part of has committed something. */
  noteChange(): void;
  /** Whether the request that asks has committed anything: a later failure must not say that it has not. */
  hasChanged(): boolean;
  /** The request that this is a part of was shown something that may be so old. */
  noteLag(seconds: number): void;
  /** How old what the request was shown is at most; undefined when everything is of the primary. */
  lag(): number | undefined;
}

/** Gives each request `totalMs` for all that it waits for the database. */
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
