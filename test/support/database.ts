import { MetadataDiscovery, MetadataStorage, Platform } from '@mikro-orm/core';
import type { ExecutionContext } from 'ava';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, openAsBlob, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Expression } from 'kysely';
import { ENTITIES } from '../../server/db/entities/index.ts';
import { migrate } from '../../server/db/migrate.ts';
import { MIGRATIONS } from '../../server/db/migrations/index.ts';
import { openDatabase, type OpenDatabase } from '../../server/db/orm.ts';
import { createStore, type Store, type ReadTx } from '../../server/db/store.ts';
import { backup } from '../../server/offline/copy.ts';
import { databaseTag } from '../runner/cost-of-file.ts';
import { keptFolder } from './kept.ts';
import { throughPooler } from './pgbouncer.ts';
import { testPostgresUrl } from './postgres.ts';
import { currentFile } from '../runner/together.ts';
import type { Patience } from '../../server/payments/ports.ts';

/** A loaded machine makes a test slow but not red: only tests of a failing database use the service's own limits. */
export const PATIENT = {
  connect: 60_000,
  query: 60_000,
  statement: 58_000,
  lock: 50_000,
  idleInTransaction: 120_000,
  request: 600_000,
};

/** Patient limits, so that a slow machine does not look like a silent channel or upstream. */
export const PATIENT_CALLERS: Patience = { query: 60_000, page: 60_000, agentCode: 60_000, work: 60_000 };

readEntitiesOnce();

/** Caches MikroORM's metadata: services of one process have the same entities, and reading them takes 100 ms per opening. */
function readEntitiesOnce(): void {
  const { discover } = MetadataDiscovery.prototype;
  const { init } = Platform.prototype;
  const { decorate } = MetadataStorage.prototype;
  const read = new Map<unknown, Promise<MetadataStorage>>();
  const decorated = new WeakSet<MetadataStorage>();
  let kind: unknown;
  Platform.prototype.init = function (orm) {
    kind = this.constructor;
    init.call(this, orm);
  };
  // MikroORM calls it in the same turn in which it initialises the platform.
  MetadataDiscovery.prototype.discover = function (...given) {
    const found = read.get(kind) ?? discover.apply(this, given);
    read.set(kind, found);
    return found;
  };
  MetadataStorage.prototype.decorate = function (em) {
    if (!decorated.has(this)) decorate.call(this, em);
    decorated.add(this);
  };
}

/** A migrated database for one test. */
export interface TestDatabase {
  url: string;
  database: OpenDatabase;
  store: Store;
}

/** A fresh migrated database on the real PostgreSQL of the run; dropped when the test ends. */
export async function postgresDatabase(
  t: Pick<ExecutionContext, 'teardown'>,
  poolSize = 10,
  { direct = false } = {},
): Promise<TestDatabase> {
  const { url, drop } = await createDatabase({ direct });
  const database = await openDatabase({ kind: 'postgres', url, poolSize, timeouts: PATIENT });
  t.teardown(async () => {
    await database.close();
    await drop();
  });
  return { url, database, store: createStore(database, async () => {}) };
}

/** A fresh migrated embedded database in memory. */
export async function embeddedDatabase(t: Pick<ExecutionContext, 'teardown'>): Promise<TestDatabase> {
  const database = await openDatabase({ kind: 'pglite', url: 'memory://', archive: await migratedArchive() });
  t.teardown(() => database.close());
  return { url: 'memory://', database, store: createStore(database, async () => {}) };
}

/** An embedded database with its tables, which take four seconds of a processor to create. */
export async function migratedArchive(): Promise<Blob> {
  return openAsBlob(await migratedFile());
}

/** The same as a file: a backup, for tests that run a separate process. */
export async function migratedFile(): Promise<string> {
  const folder = await keptFolder('embedded', async (made) => {
    const database = await openDatabase({ kind: 'pglite', url: 'memory://' });
    await migrate(database);
    await backup(database, join(made, 'data.tar.gz'));
    await database.close();
  });
  return join(folder, 'data.tar.gz');
}

/** Unpacks it into a new folder, as a backup is restored. */
export async function layMigrated(folder: string): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  execFileSync('tar', ['-xzf', await migratedFile(), '-C', folder]);
}

/** Runs one statement and returns its rows. */
type Run = <Row extends object>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

const lastLooks: { file: string | undefined; look: (run: Run) => Promise<void> }[] = [];

/** Runs a check on every database of the declaring test file before it is dropped. */
export function lookBeforeDrop(look: (run: Run) => Promise<void>): void {
  lastLooks.push({ file: currentFile(), look });
}

async function takeLastLooks(file: string | undefined, url: string): Promise<void> {
  const own = lastLooks.filter((each) => each.file === file);
  if (own.length > 0)
    await withAdmin(url, async (run) => {
      for (const { look } of own) await look(run);
    });
}

/** A database name that contains its test file. */
function freeName(): string {
  return `t_${databaseTag(currentFile() ?? process.env.PAY_TEST_FILE ?? '')}_${randomBytes(8).toString('hex')}`;
}

/**
 * Creates a migrated database without connections, and returns how to drop it; `direct` = never through a pooler, which only
 * knows one role, `empty` = without tables.
 */
export async function createDatabase({ direct = false, empty = false } = {}): Promise<{
  url: string;
  drop: () => Promise<void>;
}> {
  const admin = await testPostgresUrl();
  const name = freeName();
  // After the end of the test its file is no longer known.
  const file = currentFile();
  // Copying files takes half the time of writing their pages to the log.
  const made = empty ? '' : `template ${await ensureTemplate(admin)} strategy file_copy`;
  await administer(admin, `create database ${name} ${made}`);
  return {
    url: direct ? at(admin, name) : await throughPooler(at(admin, name)),
    drop: async () => {
      await takeLastLooks(file, at(admin, name));
      await administer(admin, `drop database if exists ${name} with (force)`);
    },
  };
}

/** Copies a database without connections, as a restored backup is one; dropped when the test ends. */
export async function copyOf(t: Pick<ExecutionContext, 'teardown'>, url: string): Promise<string> {
  const admin = await testPostgresUrl();
  const name = freeName();
  await administer(admin, `create database ${name} template ${new URL(url).pathname.slice(1)}`);
  t.teardown(() => administer(admin, `drop database if exists ${name} with (force)`));
  return at(admin, name);
}

/** Creating and dropping a test's databases has no limit but the run's, however slow the machine is. */
const UNBOUNDED = { connect: 0, query: 0, statement: 0, lock: 0, idleInTransaction: 0 } as const;

let template: Promise<string> | undefined;

function ensureTemplate(admin: string): Promise<string> {
  template ??= makeTemplate(admin);
  return template;
}

/** One template per migration state; if several test processes need it at once, one creates it. */
async function makeTemplate(admin: string): Promise<string> {
  const name = `template_${migrationsHash()}`;
  await withAdmin(admin, async (run) => {
    // The lock belongs to this connection and is released with it.
    await run('select pg_advisory_lock(77)');
    const found = await run('select 1 from pg_database where datname = $1', [name]);
    if (found.length > 0) return;
    const building = `${name}_${randomBytes(4).toString('hex')}`;
    await run(`create database ${building}`);
    const url = at(admin, building);
    const database = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: UNBOUNDED });
    await migrate(database);
    await database.close();
    await run(`alter database ${building} rename to ${name}`);
  });
  return name;
}

function migrationsHash(): string {
  const hash = createHash('sha256').update(String(ENTITIES.length));
  for (const { name } of MIGRATIONS)
    hash.update(readFileSync(new URL(`../../server/db/migrations/${name}.ts`, import.meta.url)));
  return hash.digest('hex').slice(0, 12);
}

/** @types/pg lacks two of its methods. */
type Administrator = pg.Client & Record<'ref' | 'unref', () => void>;

let administrator: Promise<Administrator> | undefined;
let asked = 0;
let last: Promise<unknown> = Promise.resolve();

/** Runs statements in sequence over one connection of the process: opening one takes the server 5 ms, creating a database 22. */
async function administer(url: string, sql: string): Promise<void> {
  const client = await (administrator ??= connectAdministrator(url));
  if (asked++ === 0) client.ref();
  const done = last.then(() => client.query(sql));
  last = done.catch(() => {});
  // Between statements it does not keep the process alive.
  await done.finally(() => --asked || client.unref());
}

async function connectAdministrator(url: string): Promise<Administrator> {
  const client = new pg.Client({ connectionString: url }) as Administrator;
  const forget = () => void (administrator = undefined);
  client.on('error', forget).on('end', forget);
  await client.connect().catch((error: unknown) => {
    forget();
    throw error;
  });
  return client;
}

/** A plain connection: one of the service takes a tenth of a second to open, and tests open thousands. */
async function withAdmin<T>(url: string, work: (run: Run) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(async (sql, values = []) => (await client.query(sql, [...values])).rows);
  } finally {
    await client.end();
  }
}

function at(admin: string, name: string): string {
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return url.href;
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

/** Returns the scans of a statement and the rows that they touched, discarded ones included. */
export async function explain(store: Store, statement: (tx: ReadTx) => Expression<unknown>) {
  const [row] = await store.read(
    (tx) => tx.sql<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>`explain (analyze, format json) ${statement(tx)}`,
  );
  const scans: { type: string; relation: string; rows: number }[] = [];
  const walk = (node: PlanNode) => {
    const rows =
      node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    const touched = rows * node['Actual Loops'];
    if (node['Relation Name']) scans.push({ type: node['Node Type'], relation: node['Relation Name'], rows: touched });
    node.Plans?.forEach(walk);
  };
  walk(row!['QUERY PLAN'][0].Plan);
  return { scans, rows: scans.reduce((sum, { rows }) => sum + rows, 0) };
}
