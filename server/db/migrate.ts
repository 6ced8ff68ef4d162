import { FIRST_PROJECT } from '../domain.ts';
import { LocalError, causes } from '../errors.ts';
import type { ApiAppRow } from './entities/identity.ts';
import { ORIGIN } from './migrations/0001-initial.ts';
import { keepMonths } from './months.ts';
import { type OpenDatabase, TIMEOUTS } from './orm.ts';
import type { Store, Tx } from './store.ts';

/** The last migration that has run, and the names of the pending migrations. */
export interface SchemaStatus {
  version: string | null;
  pending: string[];
}

/**
 * Reads which migrations have run. In an empty database the table of migrations is created. Throws `UnreleasedSchema`
 * if the database was created by a build before 0.1.0.
 */
export function schemaStatus({ em, orm: { migrator } }: OpenDatabase): Promise<SchemaStatus> {
  return permitted(async () => {
    const pending = (await migrator.getPending()).map(({ name }) => name);
    const done = (await migrator.getExecuted()).map(({ name }) => name);
    if (done.length > 0) await requireOrigin(em);
    return { version: done.at(-1) ?? null, pending };
  });
}

/** The database was created by a build before 0.1.0 and cannot be migrated (503). */
class UnreleasedSchema extends LocalError {
  constructor() {
    super('schema_unreleased', 503, 'This database was created by an unreleased build; no release can migrate it.', {
      hint: 'Delete the folder of the embedded database (./data), or dump the rows and load them into a new database.',
    });
  }
}

async function requireOrigin(em: OpenDatabase['em']): Promise<void> {
  const [table] = (await em.execute(`select to_regclass('schema_origin') is not null as there`)) as {
    there: boolean;
  }[];
  const [origin] = table?.there ? ((await em.execute('select first_migration from schema_origin')) as object[]) : [];
  if ((origin as { first_migration?: string } | undefined)?.first_migration !== ORIGIN) throw new UnreleasedSchema();
}

/** Migrates the schema and creates the coming months' partitions; one replica migrates, the others wait. */
export async function migrate(database: OpenDatabase): Promise<SchemaStatus> {
  let status = await schemaStatus(database);
  if (status.pending.length > 0) {
    if (database.kind === 'pglite') await up(database);
    else await permitted(() => withoutBounds(database, underLock));
    status = await schemaStatus(database);
  }
  // Failures are ignored, because a job creates the partitions later and logs its failures.
  await keepMonths(database, new Date()).catch(() => {});
  return status;
}

async function permitted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw deniedBy(error) ?? error;
  }
}

/** Migrations are pending, but the database role may not change the schema (503). */
class SchemaDenied extends LocalError {
  constructor(why: string, hint: string, cause: unknown) {
    super('database_denied', 503, `The database schema cannot be migrated: ${why}.`, { cause, hint });
  }
}

function deniedBy(error: unknown): SchemaDenied | undefined {
  for (const { code, message = '' } of causes(error) as Iterable<{ code?: unknown; message?: string }>) {
    const why = message
      .split('\n')
      .at(-1)!
      .replace(/^.* - /, '');
    if (code === '42501')
      return new SchemaDenied(
        why,
        'Run payctl server migrate as the owner of the database, with Database.Migrate = false here.',
        error,
      );
    if (code === '25006')
      return new SchemaDenied(why, 'Database.Url points to a read-only server; it must be the primary.', error);
  }
  return undefined;
}

/** Changes of large tables take long, so the work has no statement timeouts; the timeout for locks still applies. */
async function withoutBounds(database: OpenDatabase, work: (own: OpenDatabase) => Promise<void>): Promise<void> {
  const own = (await database.reopen?.()) ?? database;
  try {
    await work(own);
  } finally {
    if (own !== database) await own.close();
  }
}

/** Migrates while a separate transaction on its own connection holds the migration lock. */
async function underLock(database: OpenDatabase): Promise<void> {
  await database.em.fork().transactional(async (holder) => {
    await holder.execute('set local lock_timeout = 0');
    await waitForLock(() => holder.execute('select pg_try_advisory_xact_lock(7240917001) as taken'));
    await up(database);
  });
}

async function up({ em, orm }: OpenDatabase): Promise<void> {
  // The first call of `getPending` opens a connection. During the transaction the pool would have none left for it.
  await orm.migrator.getPending();
  await em.fork().transactional(async (own) => {
    await orm.migrator.up({ transaction: own.getTransactionContext() });
  });
}

async function waitForLock(attempt: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const [row] = (await attempt()) as { taken: boolean }[];
    if (row?.taken) return;
    await new Promise((resolve) => setTimeout(resolve, TIMEOUTS.lock / 20));
  }
}

/**
 * Functions that build the rows of `seed`. The module `identity` provides them, because it defines hashes and defaults.
 */
interface SeedRows {
  consoleApp(project: string, at: Date): ApiAppRow;
  /** The test applications that exist while the setting Debug is on. */
  testApps(at: Date): ApiAppRow[];
}

/**
 * Ensures that the project `default` and its console application exist. With `debug`, the test applications with their
 * fixed secrets are also inserted. Several replicas may run this on every start at the same time.
 */
export function seed(store: Store, rows: SeedRows, { debug, now }: { debug: boolean; now: () => Date }): Promise<void> {
  return store.transaction(async (tx) => {
    const at = now();
    const project = { ...FIRST_PROJECT, enabled: true, remark: null, createdAt: at, updatedAt: at };
    await tx.projects.insertIfNew(project);
    await tx.apps.insertIfNew(rows.consoleApp('default', at));
    if (debug) for (const app of rows.testApps(at)) await restore(tx, app);
  });
}

/** Inserts a test application. If the application exists, its fixed secret, scopes and enabled flag are reset. */
async function restore(tx: Tx, app: ApiAppRow): Promise<void> {
  if (await tx.apps.insertIfNew(app)) return;
  const { clientId, secretHash, secretHint, scopes, trusted, enabled } = app;
  await tx.apps.update(
    { clientId, kind: 'test' },
    { secretHash, secretHint, previousSecretHash: null, previousSecretExpiresAt: null, scopes, trusted, enabled },
  );
}
