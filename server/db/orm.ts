import { Migrator } from '@mikro-orm/migrations';
import type { MikroORM as PgliteOrm } from '@mikro-orm/pglite';
import { MikroORM as PostgresOrm, type SqlEntityManager } from '@mikro-orm/postgresql';
import { chmodSync, existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { LocalError } from '../errors.ts';
import { type FolderHolder, LOCK_FILE, lockFolder, makeFolder, nameHolder } from '../folder-lock.ts';
import {
  type Bounds,
  READ_BOUNDS,
  boundsOf,
  carriesNames,
  hasBounds,
  refusesBounds,
  roleBounds,
  tryConnection,
} from './connections.ts';
import { ENTITIES } from './entities/index.ts';
import { PARSERS } from './kysely.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { type Connections, createDialect } from './pool.ts';

/** The database to open; `folder` is set for the embedded database. */
export interface DatabaseSettings {
  kind: 'pglite' | 'postgres';
  url: string;
  folder?: string;
  /** A backup of the embedded database, which is loaded into an empty folder. */
  archive?: Blob;
  poolSize?: number;
  /** Timeouts that replace those of the service (ms; 0 = none), for long-running work. */
  timeouts?: Partial<Record<keyof typeof TIMEOUTS, number>>;
  /** Whether connections use prepared statements; `auto` = unless a pooler in transaction mode would lose them. */
  prepared?: 'auto' | 'on' | 'off';
}

/** The MikroORM instance of either driver. */
type Orm = PostgresOrm | PgliteOrm;

/** An open database; `close` also unlocks the folder of an embedded database. */
export interface OpenDatabase {
  orm: Orm;
  kind: DatabaseSettings['kind'];
  em: SqlEntityManager;
  /** Current connection counts (PostgreSQL only). */
  connections?: () => Connections;
  /** Set if the connections go through a pooler. */
  pooler?: Pooler;
  /** Opens the same database again for long-running work (PostgreSQL only). */
  reopen?: () => Promise<OpenDatabase>;
  close(): Promise<void>;
}

/** The effects of a pooler on sessions. */
interface Pooler {
  /** Whether statements are prepared. */
  prepared: boolean;
  /** SQL that would set the missing timeouts for the role; undefined if the role has these timeouts. */
  missing: string | undefined;
}

/** Timeouts that keep an unresponsive database from blocking a request (ms). */
export const TIMEOUTS = {
  connect: 4_000,
  query: 4_000,
  statement: 3_500,
  lock: 2_000,
  idleInTransaction: 10_000,
  /** Total time that one request waits for the database. */
  request: 5_000,
} as const;

const shared = {
  entities: ENTITIES,
  extensions: [Migrator],
  discovery: { warnWhenNoEntities: false },
  migrations: { migrationsList: MIGRATIONS, tableName: 'schema_migrations', snapshot: false, silent: true },
  ignoreUndefinedInQuery: false,
  validateRequired: false,
  forceUtcTimezone: true,
  // MikroORM must not create a missing database: a typo in Database.Url must fail.
  ensureDatabase: false,
  logger: () => {},
};

/** The embedded database exited while it was opened; the thrown value is not an Error (503). */
class CannotOpen extends LocalError {
  constructor(folder: string | undefined, cause: unknown) {
    const { message, status, errno } = cause as Record<string, unknown>;
    const why = String(message ?? `${status === undefined ? `errno ${String(errno)}` : `exit ${String(status)}`}`);
    super('database_unavailable', 503, `The embedded database ${folder} cannot be opened: ${why}.`, {
      cause,
      hint: 'Check the folder and its permissions; restore the last backup if it is damaged.',
    });
  }
}

/** Opens and checks the database; throws FolderHeld if another process uses the embedded one. */
export async function openDatabase(settings: DatabaseSettings): Promise<OpenDatabase> {
  return settings.kind === 'pglite' ? openEmbedded(settings) : openPostgres(settings);
}

/** Sets the timeouts for the session or, behind a pooler, for each transaction. */
async function openPostgres(settings: DatabaseSettings): Promise<OpenDatabase> {
  await tryConnection(settings.url, boundsFor(settings).connect);
  const direct = await connect(settings, 'session').catch((error: unknown) => {
    if (refusesBounds(error)) return undefined;
    throw error;
  });
  if (direct && hasBounds(direct.bounds, boundsFor(settings))) return direct.database;
  await direct?.database.close();
  return (await connect(settings, 'transaction')).database;
}

function boundsFor({ timeouts }: DatabaseSettings): Bounds & Record<keyof typeof TIMEOUTS, number> {
  return { ...TIMEOUTS, ...timeouts };
}

/** Connects with timeouts for the session or for each transaction; also returns the timeouts that the session has. */
async function connect(
  settings: DatabaseSettings,
  scope: 'session' | 'transaction',
): Promise<{ database: OpenDatabase; bounds: Bounds }> {
  const { url, poolSize = 10, prepared = 'auto' } = settings;
  const bounds = boundsFor(settings);
  const ofSession = {
    statement_timeout: bounds.statement,
    lock_timeout: bounds.lock,
    idle_in_transaction_session_timeout: bounds.idleInTransaction,
  };
  const pool = {
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: bounds.connect,
    query_timeout: bounds.query,
    ...(scope === 'session' && ofSession),
    keepAlive: true,
    application_name: 'unified-payment-service',
  };
  const isPooled = scope === 'transaction';
  const keepsPlans = prepared === 'auto' ? !isPooled || (await carriesNames(pool)) : prepared === 'on';
  const { dialect, connections, end } = createDialect(pool, keepsPlans, isPooled ? bounds : undefined);
  const orm = await PostgresOrm.init({ ...shared, clientUrl: url, driverOptions: dialect });
  let found: Bounds;
  // Without this the first statement would connect, on a second connection.
  try {
    await orm.connect();
    found = boundsOf(await orm.em.getConnection().execute(READ_BOUNDS));
  } catch (error) {
    await orm.close(true);
    throw error;
  }
  const missing =
    found.statement > 0 && found.lock > 0 ? undefined : roleBounds(decodeURIComponent(new URL(url).username), bounds);
  const pooler = isPooled ? { pooler: { prepared: keepsPlans, missing } } : {};
  return { database: { orm, kind: 'postgres', em: orm.em, connections, reopen, close, ...pooler }, bounds: found };

  function reopen(): Promise<OpenDatabase> {
    return openPostgres({
      kind: 'postgres',
      url,
      poolSize: 2,
      prepared: keepsPlans ? 'on' : 'off',
      timeouts: { query: 0, statement: 0, idleInTransaction: 0 },
    });
  }

  /** Ends the pool first: Kysely would drop its reference, so a connection in use could not be released and the end would never resolve. */
  async function close(): Promise<void> {
    await end();
    await orm.close(true);
  }
}

const inMemory = { folder: undefined, release: () => {} };

async function openEmbedded(settings: DatabaseSettings): Promise<OpenDatabase> {
  // Loaded only here, because the package contains a whole database.
  const { MikroORM: PgliteOrm } = await import('@mikro-orm/pglite');
  const { folder, release } = settings.folder === undefined ? inMemory : takeFolder(settings.folder);
  try {
    const orm = await PgliteOrm.init({
      ...shared,
      dbName: folder ?? 'memory://',
      // A function, because MikroORM copies plain options and a Blob cannot be copied.
      driverOptions: () => ({ extensions: { hideLock }, loadDataDir: settings.archive, parsers: PARSERS }),
    });
    return { orm, kind: 'pglite', em: orm.em as unknown as SqlEntityManager, close };

    async function close(): Promise<void> {
      await orm.close(true);
      release();
    }
  } catch (error) {
    release();
    throw error instanceof Error ? error : new CannotOpen(folder, error);
  }
}

/** The embedded database is open in another process. */
class FolderHeld extends LocalError {
  constructor(folder: string, holder: Partial<FolderHolder>) {
    super('database_in_use', 503, `The embedded database ${folder} is in use by ${nameHolder(holder)}.`, {
      retryable: true,
      extra: { ...holder },
      hint: 'Stop that process, rerun this command, then start it again.',
    });
  }
}

/**
 * Creates and locks the folder of an embedded database; returns its real path and the release. Throws FolderHeld. The folder and all
 * files that this process writes later are accessible only to its user.
 */
function takeFolder(named: string): { folder: string; release: () => void } {
  process.umask(0o077);
  makeNamed(named);
  const folder = realpathSync(named);
  const release = lockFolder(folder, {
    key: 'Database.Url',
    refuse: (holder) => new FolderHeld(named, holder),
  });
  if ((statSync(folder).mode & 0o077) !== 0) tighten(folder);
  return { folder, release };
}

/** Refuses a broken symbolic link, which is probably an unmounted volume. */
function makeNamed(named: string): void {
  if (!existsSync(named) && isLink(named))
    throw new LocalError('folder_unusable', 503, `${named} is a symbolic link to a folder that does not exist.`, {
      hint: 'Mount or create the target folder, or change Database.Url.',
    });
  makeFolder(named, 'Database.Url');
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Sets mode 0700; a volume that belongs to another user keeps its mode. */
function tighten(folder: string): void {
  try {
    chmodSync(folder, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

interface NodeFiles {
  readdir(node: unknown): string[];
}

/**
 * Hides the lock files from the database in the folder. Otherwise the database would refuse a folder that is not empty, and a backup
 * that reads and closes the lock file would release the lock.
 */
const hideLock = {
  name: 'hide the lock',
  async setup(_database: unknown, options: { preRun?: unknown[] }) {
    const hide = ({ FS }: { FS: { filesystems: { NODEFS: { node_ops: NodeFiles } } } }): void => {
      const files = FS.filesystems.NODEFS.node_ops;
      const { readdir } = files;
      files.readdir = (node) => readdir(node).filter((name) => !name.startsWith(LOCK_FILE));
    };
    return { emscriptenOpts: { ...options, preRun: [...(options.preRun ?? []), hide] } };
  },
};
