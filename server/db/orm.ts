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

/** Which database to open; `folder` is set for the embedded database. */
export interface DatabaseSettings {
  kind: 'pglite' | 'postgres';
  url: string;
  folder?: string;
  /** A backup of the embedded database. It is loaded if the folder is empty. */
  archive?: Blob;
  poolSize?: number;
  /** Timeouts for long-running work (ms; 0 = none), which replace the values of `TIMEOUTS`. */
  timeouts?: Partial<Record<keyof typeof TIMEOUTS, number>>;
  /** Whether connections use prepared statements; `auto` = yes, unless a pooler in transaction mode would lose them. */
  prepared?: 'auto' | 'on' | 'off';
}

type Orm = PostgresOrm | PgliteOrm;

/** An open database; `close` also unlocks the folder of an embedded database. */
export interface OpenDatabase {
  orm: Orm;
  kind: DatabaseSettings['kind'];
  em: SqlEntityManager;
  /** Current connection counts (PostgreSQL only). */
  connections?: () => Connections;
  pooler?: Pooler;
  /** Opens a second pool for long-running work, without statement timeouts (PostgreSQL only). */
  reopen?: () => Promise<OpenDatabase>;
  close(): Promise<void>;
}

interface Pooler {
  prepared: boolean;
  /** The SQL that sets the missing timeouts for the database role; undefined if the role has them. */
  missing: string | undefined;
}

/** Timeouts (ms), so that a database that does not respond cannot block a request. */
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
  // MikroORM must not create a missing database, because a wrong name in Database.Url must cause an error.
  ensureDatabase: false,
  logger: () => {},
};

/** The embedded database exited while it was opened (503); `cause` is an exit status or error number, not an Error. */
class CannotOpen extends LocalError {
  constructor(folder: string | undefined, cause: unknown) {
    const { message, status, errno } = cause as Record<string, unknown>;
    const why = String(message ?? `${status === undefined ? `errno ${String(errno)}` : `exit ${String(status)}`}`);
    super('database_unavailable', 503, `The embedded database ${folder} cannot be opened: ${why}.`, {
      cause,
      hint: 'Check the permissions of the database folder. If the database is damaged, restore the last backup.',
    });
  }
}

/** Opens and checks the database. Throws FolderHeld if another process uses the embedded database. */
export async function openDatabase(settings: DatabaseSettings): Promise<OpenDatabase> {
  return settings.kind === 'pglite' ? openEmbedded(settings) : openPostgres(settings);
}

/** Opens PostgreSQL. The timeouts are set for the session or, behind a pooler, for each transaction. */
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

/**
 * Connects with timeouts for the session or for each transaction. Also returns the timeouts that the session really
 * has.
 */
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
  // Connects now, because otherwise the first statement would open a second connection.
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

  /**
   * Closes the pool first. Kysely would drop its reference to the pool; a connection in use could then not be released,
   * and closing would never finish.
   */
  async function close(): Promise<void> {
    await end();
    await orm.close(true);
  }
}

const inMemory = { folder: undefined, release: () => {} };

async function openEmbedded(settings: DatabaseSettings): Promise<OpenDatabase> {
  // The package is loaded only when needed, because it contains a whole database.
  const { MikroORM: PgliteOrm } = await import('@mikro-orm/pglite');
  const { folder, release } = settings.folder === undefined ? inMemory : takeFolder(settings.folder);
  try {
    const orm = await PgliteOrm.init({
      ...shared,
      dbName: folder ?? 'memory://',
      // The options are returned by a function, because MikroORM copies plain options and a Blob cannot be copied.
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

/** The embedded database is in use by another process. */
class FolderHeld extends LocalError {
  constructor(folder: string, holder: Partial<FolderHolder>) {
    super('database_in_use', 503, `The embedded database ${folder} is in use by ${nameHolder(holder)}.`, {
      retryable: true,
      extra: { ...holder },
      hint: 'Stop the process that uses the database, repeat this command, then start the process again.',
    });
  }
}

/**
 * Creates and locks the folder of an embedded database. Returns the real path and a function that unlocks the folder.
 * Only the user of this process can access the folder and the files that the process writes later. Throws FolderHeld.
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

/** Creates the folder. Throws if the path is a broken symbolic link, which is probably an unmounted volume. */
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

/**
 * Restricts the access to a folder to its owner (mode 0700). If the folder belongs to another user, as a mounted volume
 * may, its access rights stay unchanged.
 */
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
 * Hides the lock files in the folder from the embedded database. The database accepts a new folder only if the folder
 * is empty. A backup must not read the lock file either, because closing the file would release the lock.
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
