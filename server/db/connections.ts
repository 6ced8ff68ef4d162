// Connections to PostgreSQL: connection errors, the features of a connection pooler, and abandoned connections.

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, type PoolClient, type PoolConfig } from 'pg';
import { LocalError, causes } from '../errors.ts';

/** The server responds, but it has no database of this name (503). */
export class DatabaseMissing extends LocalError {
  constructor(cause: Error) {
    super('database_missing', 503, `${sentence(cause)}.`, {
      cause,
      hint: 'Check Database.Url, or create the database first (createdb).',
    });
  }
}

class DatabaseRefused extends LocalError {
  constructor(why: string, hint: string, cause: unknown) {
    super('database_refused', 503, `PostgreSQL refuses the connection: ${why}.`, { cause, hint });
  }
}

/** No server responds at the address, or it is not PostgreSQL (503). */
class DatabaseUnreachable extends LocalError {
  constructor(url: string, why: string, cause: unknown) {
    super('database_unavailable', 503, `PostgreSQL cannot be reached at ${placeOf(url)}: ${why}.`, {
      cause,
      hint: 'Check host and port in Database.Url, and whether PostgreSQL is running and listens at this address.',
    });
  }
}

class FileUnusable extends LocalError {
  constructor(why: string, cause: unknown) {
    super('file_unusable', 503, `A file that Database.Url names cannot be used: ${why}.`, {
      cause,
      hint: 'Check sslcert, sslkey and sslrootcert in Database.Url.',
    });
  }
}

/**
 * Opens one connection to report connection errors immediately. A pool would wait about a minute for a connection whose
 * login failed on the client side. Throws one of the error classes above if the cause is known.
 */
export async function tryConnection(url: string, timeoutMs: number): Promise<void> {
  const client = clientTo(url, timeoutMs);
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
  } catch (error) {
    // The socket is destroyed, because a normal close would wait for the server.
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    throw connectFault(url, error);
  }
}

/** Creating a client can fail, because it reads the certificate files that the URL names. */
function clientTo(url: string, timeoutMs: number): Client {
  try {
    return new Client({ connectionString: url, connectionTimeoutMillis: timeoutMs });
  } catch (error) {
    throw connectFault(url, error);
  }
}

const LOGIN = 'Check user and password in Database.Url.';

/**
 * Maps connection errors to error classes. Each pattern is compared with the error code (of PostgreSQL, TLS or the
 * network) and with the error message. The first pattern that matches is used.
 */
const FAULTS: readonly [fits: RegExp, make: (url: string, error: Error) => LocalError][] = [
  [/^(?:ENOENT|EACCES|EPERM|EISDIR|ENOTDIR): /, (_, error) => new FileUnusable(sentence(error), error)],
  [/^ERR_OSSL/, (_, error) => new FileUnusable('a certificate or key is not in PEM format', error)],
  [/^3D000$/, (_, error) => new DatabaseMissing(error)],
  [
    /client password must be a (?:non-empty )?string|empty password/,
    (_, error) =>
      new DatabaseRefused(
        'the server requires a password, and none is set',
        'Add the password to Database.Url (postgres://user:password@host/database), or set the variable PGPASSWORD.',
        error,
      ),
  ],
  [/^28P01$/, (_, error) => new DatabaseRefused(sentence(error), LOGIN, error)],
  [
    /pg_hba\.conf/,
    (_, error) =>
      new DatabaseRefused(
        sentence(error),
        'Allow this host and user in pg_hba.conf, or check user and sslmode in Database.Url.',
        error,
      ),
  ],
  [/^28/, (_, error) => new DatabaseRefused(sentence(error), LOGIN, error)],
  [
    /^42501$/,
    (_, error) => new DatabaseRefused(sentence(error), 'Grant the user in Database.Url the right to connect.', error),
  ],
  [
    /^53300$/,
    (_, error) =>
      new DatabaseRefused(
        sentence(error),
        'Lower Database.PoolSize or Server.Workers, or raise max_connections of PostgreSQL.',
        error,
      ),
  ],
  [
    /^57P0[1-3]$/,
    (_, error) =>
      new DatabaseRefused(sentence(error), 'PostgreSQL is starting or stopping. Try again in a few seconds.', error),
  ],
  [
    /does not support SSL/,
    (_, error) =>
      new DatabaseRefused(
        'the server offers no TLS, but sslmode in Database.Url requires TLS',
        'Enable TLS on the server, or change sslmode in Database.Url.',
        error,
      ),
  ],
  [
    /^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/,
    (_, error) =>
      new DatabaseRefused(
        `the server's certificate cannot be verified (${sentence(error)})`,
        'Add the CA to Database.Url (&sslrootcert=<file>), and use the host name in the certificate.',
        error,
      ),
  ],
  [/^ENOTFOUND$|^EAI_AGAIN$/, (url, error) => new DatabaseUnreachable(url, 'the host name cannot be resolved', error)],
  [/^ECONNREFUSED$|^connect ENOENT/, (url, error) => new DatabaseUnreachable(url, 'nothing listens there', error)],
  [
    /timeout (?:expired|exceeded)|connection timeout|^ETIMEDOUT$|^EHOSTUNREACH$|^ENETUNREACH$/,
    (url, error) => new DatabaseUnreachable(url, 'the server did not respond in time', error),
  ],
  [
    /Connection terminated|^ECONNRESET$|^EPIPE$|Received invalid response/,
    (url, error) => new DatabaseUnreachable(url, 'the server there does not respond like PostgreSQL', error),
  ],
];

/** Converts a connection error into an error with a hint. An unknown error is returned unchanged. */
function connectFault(url: string, error: unknown): unknown {
  if (error instanceof LocalError) return error;
  for (const one of causes(error)) {
    const { code = '', message = '' } = one as { code?: unknown; message?: string };
    const known = FAULTS.find(([fits]) => fits.test(String(code)) || fits.test(message));
    if (known && one instanceof Error) return known[1](url, one);
  }
  return error;
}

function sentence({ message }: Error): string {
  return message.split('\n')[0]!.replace(/\.$/, '');
}

/** Returns host and port of the URL, or its socket folder; never a password. */
export function placeOf(url: string): string {
  const { host, searchParams } = new URL(url);
  return searchParams.get('host') ?? decodeURIComponent(host);
}

/** Timeouts of PostgreSQL for a session or a transaction (ms; 0 = none). */
export interface Bounds {
  statement: number;
  lock: number;
  idleInTransaction: number;
}

const NAMES = {
  statement_timeout: 'statement',
  lock_timeout: 'lock',
  idle_in_transaction_session_timeout: 'idleInTransaction',
} as const satisfies Record<string, keyof Bounds>;

export const READ_BOUNDS = `select name, setting from pg_settings where name in ('${Object.keys(NAMES).join("', '")}')`;

/** Reads the timeouts from the result of the query `READ_BOUNDS`. */
export function boundsOf(rows: readonly { name: string; setting: string }[]): Bounds {
  const found = new Map(rows.map(({ name, setting }) => [name, Number(setting)]));
  const of = (name: keyof typeof NAMES) => found.get(name) ?? 0;
  return {
    statement: of('statement_timeout'),
    lock: of('lock_timeout'),
    idleInTransaction: of('idle_in_transaction_session_timeout'),
  };
}

/** Whether a session has the requested timeouts; a pooler may be configured to ignore them silently. */
export function hasBounds(found: Bounds, wanted: Bounds): boolean {
  return Object.values(NAMES).every((name) => found[name] === wanted[name]);
}

/** SQL that sets the timeouts of a transaction, to append to its begin statement. */
export function localBounds(bounds: Bounds): string {
  return Object.entries(NAMES)
    .map(([name, of]) => `; set local ${name} = ${bounds[of]}`)
    .join('');
}

/** The SQL with which an operator sets the timeouts for a database role. */
export function roleBounds(role: string, bounds: Bounds): string {
  return Object.entries(NAMES)
    .map(([name, of]) => `alter role ${role} set ${name} = ${bounds[of]};`)
    .join(' ');
}

/** Whether an error means that a pooler rejects session timeouts. */
export function refusesBounds(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/.test(error.message);
}

/**
 * The maximum number of attempts to move a client to another server connection of the pooler. In each attempt a second
 * client tries to get the server connection that the first client has just used. This is likely to succeed, because a
 * pooler usually assigns the most recently used connection first.
 */
const TURNS = 8;
/** Timeout of each probe query (ms); with a pooler of one connection the probe would otherwise wait forever. */
const PATIENCE_MS = 1_000;

/**
 * Tests whether prepared statements still work after a connection pooler has moved a client to another server
 * connection. Returns false if the test has no result. This is safe, because the service also works without prepared
 * statements, only more slowly.
 */
export async function carriesNames(config: ClientConfig): Promise<boolean> {
  const [one, holder] = [new Client(config), new Client(config)];
  for (const client of [one, holder]) client.on('error', () => {});
  // The name is random. With a fixed name, the pooler's connection could still have the statement of an earlier start,
  // and the test would wrongly succeed.
  const name = `pay_probe_${randomUUID()}`;
  const ask = (turn: number) => ({
    name,
    text: 'select pg_backend_pid() as pid, cast($1 as int) as turn',
    values: [turn],
    query_timeout: PATIENCE_MS,
  });
  try {
    await Promise.all([one.connect(), holder.connect()]);
    for (let turn = 0; turn < TURNS; turn += 1) {
      const first = await pidOf(one.query(ask(turn)));
      await holder.query('begin');
      const held = await pidOf(holder.query('select pg_backend_pid() as pid'));
      if (held === first) return (await pidOf(one.query(ask(turn)))) !== first;
      await holder.query('rollback');
    }
    return false;
  } catch {
    return false;
  } finally {
    await Promise.all([one.end(), holder.end()].map((ended) => ended.catch(() => {})));
  }
}

async function pidOf(result: Promise<{ rows: { pid: number }[] }>): Promise<number | undefined> {
  return (await result).rows[0]?.pid;
}

/** The interval (ms) at which the server is asked which abandoned connections it still has. */
const LOOK_MS = 500;

/**
 * A connection and a server process belong together if their process ids are equal and their ages are about equal. This
 * is the allowed difference of the ages (s). Ages are compared instead of times, because the clocks of the two machines
 * may differ.
 */
const AGE_TOLERANCE = 10;

/**
 * Selects the abandoned connections that the server still has, and terminates the idle ones. Connections that run a
 * statement are not terminated: terminating a commit that waits for a standby would make data visible that the standby
 * does not have.
 */
const STILL_THERE = `
  select pid, state like 'idle%' and pg_terminate_backend(pid) as terminated
  from pg_stat_activity join unnest($1::int[], $2::float8[]) as abandoned (pid, age) using (pid)
  where abs(extract(epoch from clock_timestamp() - backend_start) - age) < ${AGE_TOLERANCE}`;

/** A connection whose statement timed out; the server may still run the statement. */
interface Abandoned {
  pid: number;
  connectedAt: number;
  release: () => void;
}

export interface AbandonedConnections {
  /** Adds a connection; `release` is called when the server has closed the connection, or when `end` is called. */
  add(client: PoolClient, connectedAt: number, release: () => void): void;
  /** Stops watching the connections and releases all of them. */
  end(): void;
}

/**
 * Watches abandoned connections, that is, connections whose statement timed out. PostgreSQL closes such a connection
 * only when the statement has ended. Until then the connection still counts towards the size of the pool. Otherwise the
 * pool would open more and more connections, up to the limit of the server.
 */
export function watchAbandoned(options: PoolConfig): AbandonedConnections {
  const abandoned = new Set<Abandoned>();
  /** Runs the queries outside the context of the request that abandoned the connection. */
  const outside = AsyncLocalStorage.snapshot();
  let isOver = false;
  let looking: Promise<void> | undefined;
  return {
    add(client, connectedAt, release) {
      const { processID: pid } = client as { processID?: number | null };
      if (isOver || !pid) return release();
      abandoned.add({ pid, connectedAt, release });
      begin();
    },
    end() {
      isOver = true;
      for (const one of abandoned) forget(one);
    },
  };

  function begin(): void {
    looking ??= outside(look).finally(() => {
      looking = undefined;
      // A connection may have been added after `look` decided to stop. In this case `look` is started again.
      if (abandoned.size > 0) begin();
    });
  }

  function forget(one: Abandoned): void {
    if (abandoned.delete(one)) one.release();
  }

  async function look(): Promise<void> {
    while (abandoned.size > 0) {
      // If the query fails, all connections are still treated as open.
      await releaseEnded().catch(() => {});
      if (abandoned.size > 0) await delay(LOOK_MS, undefined, { ref: false });
    }
  }

  async function releaseEnded(): Promise<void> {
    const all = [...abandoned];
    const there = await stillThere(all);
    for (const one of all) if (!there.has(one.pid)) forget(one);
  }

  /** Uses a connection outside the pool, because the pool may be full. */
  async function stillThere(all: readonly Abandoned[]): Promise<Set<number>> {
    const client = new Client(options);
    client.on('error', () => {});
    try {
      await client.connect();
      const ages = all.map(({ connectedAt }) => (performance.now() - connectedAt) / 1000);
      const { rows } = await client.query<{ pid: number }>(STILL_THERE, [all.map(({ pid }) => pid), ages]);
      return new Set(rows.map(({ pid }) => pid));
    } finally {
      void client.end().catch(() => {});
    }
  }
}
