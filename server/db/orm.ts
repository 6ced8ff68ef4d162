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

/** Which database to open; `folder` is set for the embedded one. */
export interface DatabaseSettings {
  kind: 'pglite' | 'postgres';
  url: string;
  folder?: string;
  /** A backup of the embedded database, with which an empty folder begins. */
  archive?: Blob;
  poolSize?: number;
  /** Other bounds than the service's own (ms; 0 = none), for work that may take its time. */
  timeouts?: Partial<Record<keyof typeof TIMEOUTS, number>>;
  /** Whether connections keep the plans of statements; `auto` = unless a pooler hands them out per transaction and loses them. */
  prepared?: 'auto' | 'on' | 'off';
}

/** The little of MikroORM that this folder shares between both drivers. */
type Orm = PostgresOrm | PgliteOrm;

/** An open database; `close` also gives the folder of the embedded one free. */
export interface OpenDatabase {
  orm: Orm;
  kind: DatabaseSettings['kind'];
  em: SqlEntityManager;
  /** Of PostgreSQL, as they are now. */
  connections?: () => Connections;
  /** Set where a pooler stands before PostgreSQL. */
  pooler?: Pooler;
  /** The same database once more, for work that may take its time (PostgreSQL only). */
  reopen?: () => Promise<OpenDatabase>;
  close(): Promise<void>;
}

/** What a pooler makes of sessions. */
interface Pooler {
  /** Whether plans are kept under names. */
  prepared: boolean;
  /** What would bound the statements that stand alone, too; undefined when the role has limits. */
  missing: string | undefined;
}

/** Bounds that keep a sick database from hanging a request: nothing waits for longer than these (ms). */
export const TIMEOUTS = {
  connect: 4_000,
  query: 4_000,
  statement: 3_500,
  lock: 2_000,
  idleInTransaction: 10_000,
  /** All that one request waits for the database. */
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
  // A database is never made by looking for it: a typo in Database.Url must be told.
  ensureDatabase: false,
  logger: () => {},
};

/** The embedded database ended while it was opened; what it throws is no error and says little (503). */
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

/** Opens the database and checks that it answers; throws FolderHeld when another process has the embedded one. */
export async function openDatabase(settings: DatabaseSettings): Promise<OpenDatabase> {
  return settings.kind === 'pglite' ? openEmbedded(settings) : openPostgres(settings);
}

/** With the limits as those of the session, or, where a pooler stands before PostgreSQL, of each transaction. */
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

/** Connects with limits of a session or of each transaction; tells which ones a session has. */
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
  // Otherwise the first statement would do it, on a connection of its own beside the one that it has.
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

  /** Kysely forgets the pool before it ends it: a connection in use could then not be given back, and the end would wait for ever. */
  async function close(): Promise<void> {
    await end();
    await orm.close(true);
  }
}

const inMemory = { folder: undefined, release: () => {} };

async function openEmbedded(settings: DatabaseSettings): Promise<OpenDatabase> {
  // A service on PostgreSQL never needs the whole database that this brings.
  const { MikroORM: PgliteOrm } = await import('@mikro-orm/pglite');
  const { folder, release } = settings.folder === undefined ? inMemory : takeFolder(settings.folder);
  try {
    const orm = await PgliteOrm.init({
      ...shared,
      dbName: folder ?? 'memory://',
      // A function, because what stands in the options is copied, and a Blob cannot be.
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
 * Takes the folder of an embedded database, made if it is not there; gives its real path, which the database needs, and its
 * release. Throws FolderHeld. The folder and whatever this process writes from now on are for its own user only.
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

/** A link that leads nowhere is a volume that is not mounted rather than a place for a new database. */
function makeNamed(named: string): void {
  if (!existsSync(named) && isLink(named))
    throw new LocalError('folder_unusable', 503, `${named} is a symbolic link to a folder that does not exist.`, {
      hint: 'Mount or make the folder that it leads to, or change Database.Url.',
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

/** A volume may belong to somebody else, who has decided on its mode. */
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
 * Keeps the lock's files from the database inside the folder. It would find the folder not empty and refuse to begin, and
 * a backup that reads the lock's file would give the lock free by closing it.
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
