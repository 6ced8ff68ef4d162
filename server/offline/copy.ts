// Copies of the database: a backup is written as a copy, and a restored copy is opened for a check.
import { randomBytes } from 'node:crypto';
import { existsSync, openAsBlob, realpathSync, statSync } from 'node:fs';
import { link, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CopyInput } from './port.ts';
import type { Config, DatabaseTarget, LoadedConfig } from '../../config/config.ts';
import { readKeptSecrets } from '../../config/embedded-secrets.ts';
import { ConfigFaults } from '../../config/faults.ts';
import { PERCENT_ENCODING, databaseUrl } from '../../config/values.ts';
import { type OpenDatabase, openDatabase } from '../db/orm.ts';
import { runningDatabase } from '../db/queries/restored.ts';
import { createStore } from '../db/store.ts';
import { LocalError } from '../errors.ts';

export interface OpenCopy {
  config: Config;
  database: OpenDatabase;
}

/** The user named the configured database itself, which a running service may be using (409). */
class CopyIsLive extends LocalError {
  constructor() {
    super('copy_is_live', 409, 'This is the configured database itself, not a copy of it.', {
      hint: 'Restore the backup to another place and pass that place to the command. To check the live database, add --live.',
    });
  }
}

/** The copy does not exist, is not a database, or is damaged (422). */
class CopyUnreadable extends LocalError {
  constructor(message: string, cause?: unknown) {
    super('copy_unreadable', 422, message, { cause });
  }
}

/** The check reads large tables completely, so queries have no timeouts. */
const UNBOUNDED = { query: 0, statement: 0, idleInTransaction: 0 } as const;

/**
 * Opens a restored copy: a PostgreSQL URL, the folder of an embedded database, or its backup file. Throws
 * `copy_is_live` for the configured database, and `copy_unreadable` if the copy cannot be opened.
 */
export async function openCopy(loaded: LoadedConfig, cwd: string, { place, secrets }: CopyInput): Promise<OpenCopy> {
  const target = targetOf(place, cwd);
  if (isSamePlace(target, loaded.database)) throw new CopyIsLive();
  const config = await withSecrets(loaded, target, secrets && resolve(cwd, secrets));
  const database = await openTarget(target);
  try {
    if (await isSameServer(database, loaded.database)) throw new CopyIsLive();
  } catch (error) {
    await database.close();
    throw error;
  }
  return { config, database };
}

/** Opens the configured database itself, without timeouts for statements. */
export function openLive({ database }: Config): Promise<OpenDatabase> {
  return openDatabase({ ...database, poolSize: 2, timeouts: UNBOUNDED });
}

type Target = DatabaseTarget & { archive?: string };

function targetOf(place: string, cwd: string): Target {
  if (/^postgres(ql)?:/.test(place)) {
    const url = databaseUrl.safeParse(place);
    if (!url.success)
      throw new CopyUnreadable(`The URL of the copy must have the form postgres://…/<database>; ${PERCENT_ENCODING}.`);
    return { kind: 'postgres', url: url.data };
  }
  const path = resolve(cwd, place.replace(/^pglite:\/\//, ''));
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new CopyUnreadable(`${path} does not exist.`);
  if (found.isFile()) return { kind: 'pglite', url: `pglite://${path}`, folder: path, archive: path };
  if (!existsSync(join(path, 'PG_VERSION')))
    throw new CopyUnreadable(`${path} is not the folder of an embedded database.`);
  return { kind: 'pglite', url: `pglite://${path}`, folder: path };
}

async function openTarget({ archive, ...target }: Target): Promise<OpenDatabase> {
  if (target.kind === 'postgres') return openDatabase({ ...target, poolSize: 2, timeouts: UNBOUNDED });
  try {
    return await opened(archive === undefined ? openDatabase(target) : unpack(archive));
  } catch (error) {
    if (error instanceof LocalError) throw error;
    throw new CopyUnreadable(`${target.folder} cannot be opened: it is damaged, or it is not a backup.`, error);
  }
}

/** Runs one SQL statement after opening, because only then a damaged database reports an error. */
async function opened(opening: Promise<OpenDatabase>): Promise<OpenDatabase> {
  const database = await opening;
  try {
    await database.em.fork().execute('select 1');
    return database;
  } catch (error) {
    await database.close().catch(() => {});
    throw error;
  }
}

async function unpack(archive: string): Promise<OpenDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'pay-restore-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const blob = await openAsBlob(archive);
    const database = await openDatabase({ kind: 'pglite', url: `pglite://${folder}`, folder, archive: blob });
    return { ...database, close: () => database.close().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

function isSamePlace(copy: Target, live: DatabaseTarget): boolean {
  if (copy.kind === 'pglite') return live.kind === 'pglite' && real(copy.folder) === real(live.folder);
  return live.kind === 'postgres' && serverOf(copy.url) === serverOf(live.url);
}

function real(folder: string): string {
  return existsSync(folder) ? realpathSync(folder) : folder;
}

function serverOf(text: string): string {
  const { hostname, port, pathname, searchParams } = new URL(text);
  const at = (name: string, otherwise: string) => searchParams.getAll(name).at(-1) || otherwise;
  return [at('host', hostname).toLowerCase(), at('port', port || '5432'), pathname].join(' ');
}

/** Whether both databases are the same one on the same server. Returns false if the live database cannot be reached. */
async function isSameServer(copy: OpenDatabase, live: DatabaseTarget): Promise<boolean> {
  if (copy.kind !== 'postgres' || live.kind !== 'postgres') return false;
  const other = await openDatabase({ ...live, poolSize: 1 }).catch(() => undefined);
  if (!other) return false;
  const name = (database: OpenDatabase) => createStore(database, () => {}).read(runningDatabase);
  try {
    return (await name(copy)) === (await name(other));
  } finally {
    await other.close();
  }
}

/**
 * Missing secrets are read from the folder that `--secrets` names, or else from the folder beside the copy or the live
 * database. No new secret is generated, because it could not decrypt the copy's data.
 */
async function withSecrets(loaded: LoadedConfig, target: Target, named: string | undefined): Promise<Config> {
  const beside = [target, loaded.database].flatMap(({ folder }) => (folder === undefined ? [] : [`${folder}-secrets`]));
  let { secretKey } = loaded.jwt;
  let { masterKeys } = loaded.security;
  for (const folder of named === undefined ? beside : [named]) {
    const kept = await readKeptSecrets(folder);
    secretKey ??= kept.secretKey;
    if (masterKeys.length === 0 && kept.masterKey) masterKeys = [kept.masterKey];
  }
  const from = named ?? `the configuration, or in a folder beside the database (${beside.join(', ')})`;
  const fix = 'set PAY_SECURITY_MASTER_KEY_FILE, or name the folder of the secrets with --secrets';
  if (masterKeys.length === 0)
    throw new ConfigFaults([{ key: 'Security.MasterKey', message: `is not in ${from}; ${fix}` }]);
  const database = { ...loaded.database, ...target, migrate: false } as Config['database'];
  const security = { ...loaded.security, masterKeys };
  return { ...loaded, database, jwt: { ...loaded.jwt, secretKey: secretKey ?? '' }, security };
}

/** Writes a backup that is complete or absent: a temporary file is linked to the target, which must not exist. */
export async function backup(database: OpenDatabase, target: string): Promise<{ bytes: number }> {
  if (database.kind !== 'pglite')
    throw new LocalError(
      'backup_not_embedded',
      409,
      'This command backs up only the embedded database. For PostgreSQL, use pg_dump.',
    );
  const connection = database.orm.em.getConnection() as unknown as {
    getNativeClient(): Promise<{ dumpDataDir(compression: 'gzip'): Promise<Blob> }>;
  };
  const dump = await (await connection.getNativeClient()).dumpDataDir('gzip');
  const bytes = Buffer.from(await dump.arrayBuffer());
  const draft = `${target}.${randomBytes(4).toString('hex')}.part`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
    await link(draft, target);
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return { bytes: bytes.length };
}
