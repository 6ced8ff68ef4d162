import { accessSync, constants, readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import type { Context } from './context.ts';
import type { ConfigFault } from '../config/faults.ts';
import { CliError, EXIT, exitCodeFor, type FieldProblem } from './errors.ts';
import type { DatabaseDescription, Offline, OfflineActor, OfflineInput } from '../server/offline/port.ts';
import { textFrom } from './files.ts';
import { command } from './hints.ts';
import { asService, isServiceUser, lineOfService, quoted } from './installation.ts';
import { type Text, english, say } from './language.ts';
import { type ChangeFlags, confirmChange } from './safety.ts';
import { type Terminal, startProgress } from './terminal.ts';
import type { Row, View } from './values.ts';

export interface OfflineFlags {
  config?: string;
  migrate?: boolean;
}

/** Adds --config. Commands that may create the database schema also get --migrate. */
export function offlineFlags(command: Command, kind: { migrate?: boolean } = {}): Command {
  command.option('--config <file>', 'configuration file of the server (TOML)');
  if (kind.migrate) command.option('--migrate', 'apply pending database migrations first');
  return command;
}

/** Opens the database, runs the work and closes the database. Errors of the server's code become CliErrors. */
export async function withOffline<T>(
  context: Context,
  flags: OfflineFlags,
  work: (offline: Offline) => Promise<T>,
  kind: Pick<OfflineInput, 'mustExist' | 'restored'> = {},
): Promise<T> {
  let offline: Offline | undefined;
  try {
    const open = context.openOffline ?? (await import('../server/offline/open.ts')).openOffline;
    const { env, cwd } = context.terminal;
    const { installation } = context;
    const input = { env, cwd, installation, ...(flags.config ? { config: flags.config } : {}), ...kind };
    offline = await underProgress(context, 'preparing the database', () => open(input));
    return await work(offline);
  } catch (error) {
    throw translate(error, context);
  } finally {
    await offline?.close();
  }
}

/** Starts a progress line on stderr, unless -q or JSON output is asked for. Returns the function that removes it. */
export function showProgress({ terminal, print, flags }: Context, text: string): () => void {
  return flags.quiet || print.json ? () => {} : startProgress(terminal.err, text);
}

async function underProgress<T>(context: Context, text: string, work: () => Promise<T>): Promise<T> {
  const remove = showProgress(context, text);
  try {
    return await work();
  } finally {
    remove();
  }
}

/** Applies the pending migrations, under a progress line. */
export function migrateDatabase(context: Context, offline: Offline): ReturnType<Offline['migrate']> {
  return underProgress(context, 'migrating the database', () => offline.migrate());
}

/**
 * Prints which database is used. An outdated schema is migrated after --migrate or a prompt; without either, throws.
 */
export async function prepareDatabase(
  context: Context,
  offline: Offline,
  flags: OfflineFlags,
): Promise<DatabaseDescription> {
  const { terminal, print, prompts } = context;
  const found = await offline.describeDatabase();
  await print.note(databaseLine(terminal, found));
  if (found.schema.pending === 0) return found;
  const state = found.schema.version === null ? 'empty' : `${found.schema.pending} migrations behind`;
  const allowed =
    flags.migrate ||
    (prompts.possible &&
      (await prompts.yes({
        message: `The database schema is not up to date (${state}). Migrate it now?`,
        flag: '--migrate',
      })));
  if (!allowed)
    throw new CliError(
      'schema_outdated',
      EXIT.usage,
      `The database schema is not up to date (${state}); nothing was written.`,
      {
        hint: 'add --migrate',
      },
    );
  await migrateDatabase(context, offline);
  return offline.describeDatabase();
}

/** Changes the database after a confirmation. --dry-run prints `planned` and returns undefined. */
export async function changeDatabase<T>(
  context: Context,
  flags: OfflineFlags & ChangeFlags,
  change: { what: string; name?: string },
  planned: { row: (database: DatabaseDescription) => Row; view: View },
  work: (offline: Offline, actor: OfflineActor) => Promise<T>,
): Promise<T | undefined> {
  return withOffline(context, flags, async (offline) => {
    const database = await prepareDatabase(context, offline, flags);
    if (flags.dryRun) {
      await context.print.item({ dryRun: true, ...planned.row(database) }, planned.view);
      return undefined;
    }
    await confirmChange(context.prompts, { name: database.name, risk: 'moderate', ...change }, flags, database.place);
    const result = await work(offline, actor());
    context.run.completedChange = change.what;
    return result;
  });
}

/** Describes the database in one line: embedded or PostgreSQL, folder or host, name, schema version, administrators. */
export function databaseLine({ err }: Terminal, found: DatabaseDescription): string {
  const schema = found.schema.version === null ? 'empty' : `schema ${found.schema.version}`;
  const people =
    found.administrators === null
      ? ''
      : `, ${found.administrators} administrator${found.administrators === 1 ? '' : 's'}`;
  return `${err.style('bold', 'database')}  ${found.kind}  ${found.place}  ${found.name}  (${schema}${people})`;
}

/** The operating system user, who is recorded in the audit log. */
export function actor(): OfflineActor {
  return { osUser: userInfo().username, host: hostname() };
}

const CODES: Readonly<Record<string, number>> = {
  database_in_use: EXIT.tryAgain,
  database_unavailable: EXIT.tryAgain,
  already_bootstrapped: EXIT.conflict,
  already_exists: EXIT.conflict,
  master_key_wrong: EXIT.usage,
  schema_outdated: EXIT.failed,
  schema_unreleased: EXIT.failed,
  invalid_request: EXIT.failed,
};

/** Codes of network errors, and of PostgreSQL errors that mean a refused connection, e.g. 28P01 (wrong password). */
const UNREACHABLE =
  /^(E(CONNREFUSED|CONNRESET|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH)|08\d\d\d|28\w{3}|3D000|53300|57P03)$/;

/** PostgreSQL error code of a full disk. */
const NO_ROOM = '53100';
/** PostgreSQL error codes of exhausted resources, memory, and a limit of its configuration such as temp_file_limit. */
const NO_RESOURCES = /^53(000|200|400)$/;

interface ServerError extends Error {
  code?: unknown;
  status?: unknown;
  options?: { hint?: string; errors?: FieldProblem[]; extra?: Row };
}

/** Converts an error of the server's code to a CliError. */
export function translate(error: unknown, run?: Pick<Context, 'argv' | 'installation' | 'terminal'>): unknown {
  if (error instanceof CliError || !(error instanceof Error)) return error;
  if (error.name === 'ConfigFaults') return invalidConfig(error, run);
  if (error.name === 'DatabaseNotNamed')
    return new CliError(DATABASE_NOT_NAMED, EXIT.usage, error.message, {
      cause: error,
      ...(run && { hint: asService(run.argv, run.installation, run.terminal.cwd) }),
    });
  const { code, status, options = {} } = error as ServerError;
  if (typeof code !== 'string') return error;
  if (UNREACHABLE.test(code))
    return new CliError('database_unavailable', EXIT.tryAgain, `Cannot reach the database: ${error.message}.`, {
      cause: error,
      hint: 'check Database.Url',
    });
  if (NO_RESOURCES.test(code))
    return new CliError('database_busy', EXIT.tryAgain, `The database lacks resources: ${error.message}.`, {
      cause: error,
      hint: 'raise the limit that PostgreSQL names, or rerun this command when the database has less load',
    });
  if (code === NO_ROOM)
    return new CliError('database_full', EXIT.tryAgain, `The disk of the database is full: ${error.message}.`, {
      cause: error,
      hint: 'free space on the disk of the database, then rerun this command',
    });
  if (code === 'EADDRINUSE')
    return new CliError('address_in_use', EXIT.conflict, `The listen address is already in use (${error.message}).`, {
      cause: error,
      hint: 'stop the other process, or choose another address (--listen)',
    });
  const known = CODES[code] ?? (typeof status === 'number' ? exitCodeFor(status) : undefined);
  if (known === undefined) return error;
  if (code === 'database_in_use') return inUse(error, options.extra ?? {});
  const { hint, errors: fields } = options;
  return new CliError(code, known, error.message, {
    cause: error,
    ...(hint ? { hint } : {}),
    ...(fields ? { fields } : {}),
  });
}

/** Error code: beside an installed service, nothing names the database that the command would use. */
export const DATABASE_NOT_NAMED = 'database_not_named';

type Run = Pick<Context, 'argv' | 'installation' | 'terminal'>;

function invalidConfig(error: Error & { faults?: readonly ConfigFault[] }, run: Run | undefined): CliError {
  const [fix] = (error.faults ?? []).flatMap((fault) => fileFix(fault, run) ?? []);
  return new CliError('config_invalid', EXIT.usage, error.message, {
    cause: error,
    ...(fix === undefined ? {} : { hint: english(fix) }),
  });
}

/** The fix for a file that the service cannot read; undefined if the fault is none of a missing or closed file. */
export function fileFix({ key, file }: ConfigFault, run: Run | undefined): Text | undefined {
  if (file === undefined) return undefined;
  const path = quoted(file.path);
  if (file.code === 'EACCES') {
    // Another user than that of the service must not get the access for itself.
    if (run && !isServiceUser(run.installation)) return lineOfService(run.argv, run.installation, run.terminal.cwd);
    const closed = closedFolder(file.path);
    if (closed === undefined) return `chgrp ${group()} ${path} && chmod g+r ${path}`;
    if (/^\/etc\/pay(\/|$)/.test(closed)) return `chgrp ${group()} ${quoted(closed)} && chmod g+rx ${quoted(closed)}`;
    return say`${closed} is closed to the user of the service: move the file, for example to /etc/pay/secrets`;
  }
  if (file.code !== 'ENOENT') return undefined;
  if (key === '(file)') return say`correct --config or PAY_CONFIG`;
  if (file.path.startsWith('/run/')) return say`check what mounts ${file.path}, for example LoadCredential of the unit`;
  return command(
    `install -o root -g ${group()} -m 640 COPY ${path}`,
    AFTER_LOSS[key] ?? say`COPY is the file that you kept.`,
  );
}

const AFTER_LOSS: Readonly<Record<string, Text>> = {
  'Security.MasterKey': say`The file is missing. COPY is the key that you kept: a new key makes the stored channel secrets unreadable.`,
  'JWT.SecretKey': say`The file is missing. COPY is the secret that you kept: a new secret ends all logins.`,
};

/** The outermost folder of a path that this process may not enter. */
function closedFolder(path: string): string | undefined {
  const folder = dirname(path);
  if (folder === path) return undefined;
  const above = closedFolder(folder);
  if (above !== undefined) return above;
  try {
    accessSync(folder, constants.X_OK);
    return undefined;
  } catch {
    return folder;
  }
}

/** The name of the group of this process; that of the guide for root, whose own group is not the service's. */
function group(): string {
  const id = process.getgid?.() ?? 0;
  try {
    const [, name] =
      id === 0
        ? []
        : (new RegExp(`^([^:]+):[^:]*:${id}:`, 'm').exec(textFrom(readFileSync('/etc/group'), '/etc/group')) ?? []);
    return name ?? 'pay';
  } catch {
    return 'pay';
  }
}

function inUse(error: Error, { pid, host, since }: Row): CliError {
  return new CliError('database_in_use', EXIT.tryAgain, error.message, {
    cause: error,
    hint: 'stop the server, rerun this command, then start the server',
    extra: { pid: pid ?? null, host: host ?? null, since: since ?? null },
  });
}
