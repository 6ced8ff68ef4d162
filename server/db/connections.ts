// Connections to PostgreSQL: faults when connecting, what a pooler in between allows, and connections that are given up.

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, type PoolClient, type PoolConfig } from 'pg';
import { LocalError, causes } from '../errors.ts';

/** The server answers, but it has no database of this name (503). */
export class DatabaseMissing extends LocalError {
  constructor(cause: Error) {
    super('database_missing', 503, `${sentence(cause)}.`, {
      cause,
      hint: 'Check Database.Url, or create the database first (createdb).',
    });
  }
}

/** The server answers and lets nobody in, or nobody in this way (503). */
class DatabaseRefused extends LocalError {
  constructor(why: string, hint: string, cause: unknown) {
    super('database_refused', 503, `PostgreSQL refuses the connection: ${why}.`, { cause, hint });
  }
}

/** Nobody answers where the database should be, or nobody who speaks its language (503). */
class DatabaseUnreachable extends LocalError {
  constructor(url: string, why: string, cause: unknown) {
    super('database_unavailable', 503, `PostgreSQL cannot be reached at ${placeOf(url)}: ${why}.`, {
      cause,
      hint: 'Check host and port in Database.Url, and that PostgreSQL runs and listens there.',
    });
  }
}

/** A certificate or key that `Database.Url` names cannot be used (503). */
class FileUnusable extends LocalError {
  constructor(why: string, cause: unknown) {
    super('file_unusable', 503, `A file that Database.Url names cannot be used: ${why}.`, {
      cause,
      hint: 'Check sslcert, sslkey and sslrootcert in Database.Url.',
    });
  }
}

/**
 * Connects once and says what is wrong at once: in a pool, a connection whose login failed on our own side would be waited for until the server
 * gives it up, a minute later. Throws one of the errors above where the fault is a known one.
 */
export async function tryConnection(url: string, timeoutMs: number): Promise<void> {
  const client = clientTo(url, timeoutMs);
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
  } catch (error) {
    // Whoever waits for a farewell waits for the server.
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    throw connectFault(url, error);
  }
}

/** It reads the files that the URL names. */
function clientTo(url: string, timeoutMs: number): Client {
  try {
    return new Client({ connectionString: url, connectionTimeoutMillis: timeoutMs });
  } catch (error) {
    throw connectFault(url, error);
  }
}

const LOGIN = 'Check user and password in Database.Url.';

/** Faults by PostgreSQL's codes, those of TLS and of the network, and by words where there is no code; the first that fits counts. */
const FAULTS: readonly [fits: RegExp, make: (url: string, error: Error) => LocalError][] = [
  [/^(?:ENOENT|EACCES|EPERM|EISDIR|ENOTDIR): /, (_, error) => new FileUnusable(sentence(error), error)],
  [/^ERR_OSSL/, (_, error) => new FileUnusable('a certificate or key is not in PEM format', error)],
  [/^3D000$/, (_, error) => new DatabaseMissing(error)],
  [
    /client password must be a (?:non-empty )?string|empty password/,
    (_, error) =>
      new DatabaseRefused(
        'it wants a password, and there is none',
        'Add the password to Database.Url (postgres://user:password@host/database), or set PGPASSWORD.',
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
    (_, error) => new DatabaseRefused(sentence(error), 'Grant the user of Database.Url the right to connect.', error),
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
      new DatabaseRefused(sentence(error), 'PostgreSQL is starting or stopping: try again in a moment.', error),
  ],
  [
    /does not support SSL/,
    (_, error) =>
      new DatabaseRefused(
        'it offers no TLS, which sslmode in Database.Url demands',
        'Turn TLS on at the server, or change sslmode in Database.Url.',
        error,
      ),
  ],
  [
    /^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/,
    (_, error) =>
      new DatabaseRefused(
        `its certificate cannot be verified (${sentence(error)})`,
        'Name its CA in Database.Url (&sslrootcert=<file>), and the host as in its certificate.',
        error,
      ),
  ],
  [/^ENOTFOUND$|^EAI_AGAIN$/, (url, error) => new DatabaseUnreachable(url, 'the host name cannot be resolved', error)],
  [/^ECONNREFUSED$|^connect ENOENT/, (url, error) => new DatabaseUnreachable(url, 'nothing listens there', error)],
  [
    /timeout (?:expired|exceeded)|connection timeout|^ETIMEDOUT$|^EHOSTUNREACH$|^ENETUNREACH$/,
    (url, error) => new DatabaseUnreachable(url, 'no answer in time', error),
  ],
  [
    /Connection terminated|^ECONNRESET$|^EPIPE$|Received invalid response/,
    (url, error) => new DatabaseUnreachable(url, 'whoever listens there does not answer as PostgreSQL does', error),
  ],
];

/** What an attempt to connect met, with what to do about it; what is not known stays as it is. */
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

/** Host and port, or the folder of a socket; never a password. */
function placeOf(url: string): string {
  const { host, searchParams } = new URL(url);
  return searchParams.get('host') ?? decodeURIComponent(host);
}

/** Limits of PostgreSQL itself for a session or a transaction (ms; 0 = none). */
export interface Bounds {
  statement: number;
  lock: number;
  idleInTransaction: number;
}

/** PostgreSQL's names of the limits, in its own order of words. */
const NAMES = {
  statement_timeout: 'statement',
  lock_timeout: 'lock',
  idle_in_transaction_session_timeout: 'idleInTransaction',
} as const satisfies Record<string, keyof Bounds>;

/** The statement that tells what a session's limits are. */
export const READ_BOUNDS = `select name, setting from pg_settings where name in ('${Object.keys(NAMES).join("', '")}')`;

/** Reads its answer. */
export function boundsOf(rows: readonly { name: string; setting: string }[]): Bounds {
  const found = new Map(rows.map(({ name, setting }) => [name, Number(setting)]));
  const of = (name: keyof typeof NAMES) => found.get(name) ?? 0;
  return {
    statement: of('statement_timeout'),
    lock: of('lock_timeout'),
    idleInTransaction: of('idle_in_transaction_session_timeout'),
  };
}

/** Whether a session has the limits that it was opened with; a pooler that was told to ignore them takes them away in silence. */
export function hasBounds(found: Bounds, wanted: Bounds): boolean {
  return Object.values(NAMES).every((name) => found[name] === wanted[name]);
}

/** Limits of one transaction, behind the statement that begins it and in the same message. */
export function localBounds(bounds: Bounds): string {
  return Object.entries(NAMES)
    .map(([name, of]) => `; set local ${name} = ${bounds[of]}`)
    .join('');
}

/** What gives every session of a role its limits, for the operator. */
export function roleBounds(role: string, bounds: Bounds): string {
  return Object.entries(NAMES)
    .map(([name, of]) => `alter role ${role} set ${name} = ${bounds[of]};`)
    .join(' ');
}

/** Whether an error says that somebody between here and PostgreSQL does not take the limits of a session. */
export function refusesBounds(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/.test(error.message);
}

/** Round trips until a connection is found that another client holds; a pooler gives out the one that was used last. */
const TURNS = 8;
/** A pooler with one connection would keep us waiting for it. */
const PATIENCE_MS = 1_000;

/**
 * Whether a named statement is still there when the pooler serves a client by another connection. False when it cannot be told: names
 * only save time.
 */
export async function carriesNames(config: ClientConfig): Promise<boolean> {
  const [one, holder] = [new Client(config), new Client(config)];
  for (const client of [one, holder]) client.on('error', () => {});
  // A name that no other start has left on a connection of the pooler, where it would be found without being carried.
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

async function pidOf(asked: Promise<{ rows: { pid: number }[] }>): Promise<number | undefined> {
  return (await asked).rows[0]?.pid;
}

/** How often the server is asked while it has not ended all of them (ms). */
const LOOK_MS = 500;

/**
 * How far the age of a backend may be from that of its connection (s): it is there before the connection is, and is asked about
 * a little later. With the number of its process it says which one it is, whatever the clocks say.
 */
const AGE_TOLERANCE = 10;

/**
 * Which of the connections the server still has. One that waits for a statement is ended, as none will come; what still works on one is left
 * alone: to end a commit that waits for a standby would show others what the standby does not have.
 */
const STILL_THERE = `
  select pid, state like 'idle%' and pg_terminate_backend(pid) as told
  from pg_stat_activity join unnest($1::int[], $2::float8[]) as asked (pid, age) using (pid)
  where abs(extract(epoch from clock_timestamp() - backend_start) - age) < ${AGE_TOLERANCE}`;

/** A connection that was given up, while the server may still be at work on it. */
interface Abandoned {
  pid: number;
  connectedAt: number;
  release: () => void;
}

/** Connections that were given up, each until the server is known to have ended it. */
export interface AbandonedConnections {
  /** Notes one; `release` is called when the server has it no more, or nothing is waited for any more. */
  add(client: PoolClient, connectedAt: number, release: () => void): void;
  /** Waits for none any more. */
  end(): void;
}

/**
 * A server notices only at the end of a statement that its client has gone. Until then the connection holds a place there, so it keeps
 * its place in the pool here: otherwise a server that ends nothing is given one connection after the other, until it has no more.
 */
export function watchAbandoned(options: PoolConfig): AbandonedConnections {
  const abandoned = new Set<Abandoned>();
  /** The request that gives a connection up has no part in what is asked about it. */
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
      // One may have come after the last look.
      if (abandoned.size > 0) begin();
    });
  }

  function forget(one: Abandoned): void {
    if (abandoned.delete(one)) one.release();
  }

  async function look(): Promise<void> {
    while (abandoned.size > 0) {
      // A server that cannot be asked has ended none, as far as anybody knows.
      await releaseEnded().catch(() => {});
      if (abandoned.size > 0) await delay(LOOK_MS, undefined, { ref: false });
    }
  }

  async function releaseEnded(): Promise<void> {
    const all = [...abandoned];
    const there = await stillThere(all);
    for (const one of all) if (!there.has(one.pid)) forget(one);
  }

  /** On a connection beside the pool, which may be full of them. */
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
