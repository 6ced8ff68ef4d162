import { Client } from 'pg';
import { causes, LocalError } from '../errors.ts';

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
export class DatabaseRefused extends LocalError {
  constructor(why: string, hint: string, cause: unknown) {
    super('database_refused', 503, `PostgreSQL refuses the connection: ${why}.`, { cause, hint });
  }
}

/** Nobody answers where the database should be, or nobody who speaks its language (503). */
export class DatabaseUnreachable extends LocalError {
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
