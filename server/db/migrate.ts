import { LocalError, causes } from '../errors.ts';
import type { ApiAppRow } from './entities/identity.ts';
import { ORIGIN } from './migrations/0001-initial.ts';
import { keepMonths } from './months.ts';
import { type OpenDatabase, TIMEOUTS } from './orm.ts';
import type { Store, Tx } from './store.ts';

/** What the schema needs: names of migrations that are known here but not run there, and how many ran. */
export interface SchemaStatus {
  version: string | null;
  pending: string[];
}

/**
 * Which migrations have run. In an empty database the table that says so is made. Throws `UnreleasedSchema` for a database that
 * another first migration made.
 */
export function schemaStatus({ em, orm: { migrator } }: OpenDatabase): Promise<SchemaStatus> {
  return permitted(async () => {
    const pending = (await migrator.getPending()).map(({ name }) => name);
    const done = (await migrator.getExecuted()).map(({ name }) => name);
    if (done.length > 0) await requireOrigin(em);
    return { version: done.at(-1) ?? null, pending };
  });
}

/** A build before 0.1.0 made the database, whose schema no migration leads on from (503). */
class UnreleasedSchema extends LocalError {
  constructor() {
    super('schema_unreleased', 503, 'An unreleased build made this database, and no release can bring it up to date.', {
      hint: 'Delete the folder of the embedded database (./data), or dump the rows and load them by hand into a new database.',
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

/**
 * Brings the schema up to date, and makes the tables of the months that come. Safe when several replicas start at once: one
 * migrates, the others wait.
 */
export async function migrate(database: OpenDatabase): Promise<SchemaStatus> {
  let status = await schemaStatus(database);
  if (status.pending.length > 0) {
    if (database.kind === 'pglite') await up(database);
    else await permitted(() => withoutBounds(database, underLock));
    status = await schemaStatus(database);
  }
  // A job does it again and tells what it could not; nothing here needs it.
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

/** The schema is behind, and the user of the database may not change it (503). */
class SchemaDenied extends LocalError {
  constructor(why: string, hint: string, cause: unknown) {
    super('database_denied', 503, `The database schema cannot be brought up to date: ${why}.`, { cause, hint });
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
      return new SchemaDenied(why, 'Database.Url leads to a server that only reads; it must be the primary.', error);
  }
  return undefined;
}

/** A table of millions of rows takes longer to change than a request may; only waiting for locks stays bounded. */
async function withoutBounds(database: OpenDatabase, work: (own: OpenDatabase) => Promise<void>): Promise<void> {
  const own = (await database.reopen?.()) ?? database;
  try {
    await work(own);
  } finally {
    if (own !== database) await own.close();
  }
}

/** The lock lives on a connection of its own, in a transaction that does nothing else. */
async function underLock(database: OpenDatabase): Promise<void> {
  await database.em.fork().transactional(async (holder) => {
    await holder.execute('set local lock_timeout = 0');
    await waitForLock(() => holder.execute('select pg_try_advisory_xact_lock(7240917001) as taken'));
    await up(database);
  });
}

async function up({ em, orm }: OpenDatabase): Promise<void> {
  // What the migrator asks once, on a connection of its own: inside the transaction there is none left.
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

/** The rows that the service begins with; identity makes them, so that hashes and defaults have one source. */
interface SeedRows {
  consoleApp(project: string, at: Date): ApiAppRow;
  /** The test applications of Debug. */
  testApps(at: Date): ApiAppRow[];
}

/**
 * Makes sure that the project `default` and its console application are there, and with `debug` the test applications
 * with their fixed secrets. Safe when several replicas start at once, and on every start.
 */
export function seed(store: Store, rows: SeedRows, { debug, now }: { debug: boolean; now: () => Date }): Promise<void> {
  return store.transaction(async (tx) => {
    const at = now();
    const project = { code: 'default', name: 'Default', enabled: true, remark: null, createdAt: at, updatedAt: at };
    await tx.projects.insertIfNew(project);
    await tx.apps.insertIfNew(rows.consoleApp('default', at));
    if (debug) for (const app of rows.testApps(at)) await restore(tx, app);
  });
}

/** A test application that was changed gets its fixed secret, scopes and switch back. */
async function restore(tx: Tx, app: ApiAppRow): Promise<void> {
  if (await tx.apps.insertIfNew(app)) return;
  const { clientId, secretHash, secretHint, scopes, trusted, enabled } = app;
  await tx.apps.update(
    { clientId, kind: 'test' },
    { secretHash, secretHint, previousSecretHash: null, previousSecretExpiresAt: null, scopes, trusted, enabled },
  );
}
