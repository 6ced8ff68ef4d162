import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { readTextFile, reserveFile, type ReservedFile } from '../../files.ts';
import { actor, offlineFlags, prepareDatabase, withOffline, type OfflineFlags } from '../../offline.ts';
import type { BootstrapPlan, BootstrapResult } from '../../offline-port.ts';
import { examples } from '../../options.ts';
import { readSecretText, secretLost } from '../../secrets.ts';
import type { Row } from '../../values.ts';
import { APP } from './view.ts';

/** The flags of `bootstrap apply`. */
export interface ApplyFlags extends OfflineFlags {
  file?: string;
  dryRun?: boolean;
}

/** Adds `bootstrap apply`. */
export function define(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('apply')
      .description(
        'Create the administrator and applications that a TOML file describes. Existing ones are left unchanged; passwords are never reset.',
      ),
    { migrate: true },
  );
  command
    .requiredOption('-f, --file <file>', 'TOML file with the desired state')
    .option('--dry-run', 'show what would be done without writing anything');
  examples(
    command,
    'payctl bootstrap apply -f bootstrap.toml',
    'payctl bootstrap apply -f bootstrap.toml --migrate --json',
  ).action((flags: ApplyFlags) => run(context(), flags));
}

/** Applies the file in one transaction; secrets of new applications go into the files that it names. */
export async function run(context: Context, flags: ApplyFlags): Promise<void> {
  const { terminal, print } = context;
  const file = resolve(terminal.cwd, flags.file ?? '');
  const wanted = await readPlan(file);
  await withOffline(context, flags, async (offline) => {
    await prepareDatabase(context, offline, { ...flags, migrate: flags.migrate && !flags.dryRun });
    if (flags.dryRun)
      return print.list(
        wanted.plan.apps.map((app) => ({ ...app, dryRun: true })),
        APP,
      );
    const existing = new Set((await offline.listApps()).map((app) => app.name));
    const reserved = await reserveAll(wanted, existing, dirname(file));
    try {
      const result = await offline.applyBootstrap({ plan: wanted.plan, actor: actor() });
      if (result.changed) context.known.done = `apply ${flags.file}`;
      await deliver(context, result, wanted.secretFiles, reserved);
    } finally {
      await Promise.all([...reserved.values()].map((place) => place.discard()));
    }
  });
}

/** A place for each secret that will be made, before anything is made. */
async function reserveAll(
  { secretFiles }: Wanted,
  existing: ReadonlySet<string>,
  folder: string,
): Promise<Map<string, ReservedFile>> {
  const reserved = new Map<string, ReservedFile>();
  try {
    for (const [name, path] of secretFiles) {
      if (!existing.has(name)) reserved.set(name, await reserveFile(resolve(folder, path)));
    }
    return reserved;
  } catch (error) {
    await Promise.all([...reserved.values()].map((place) => place.discard()));
    throw error;
  }
}

interface Wanted {
  plan: BootstrapPlan;
  /** New file for the secret of each application, by its name. */
  secretFiles: Map<string, string>;
}

/** Reads and checks the file; passwords come from the files that it names, never from itself. */
export async function readPlan(file: string): Promise<Wanted> {
  const { parse } = await import('smol-toml');
  const text = await readTextFile(file);
  let document: Row;
  try {
    document = parse(text);
  } catch (error) {
    throw new UsageError(
      `${file} is not valid TOML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''}`,
      undefined,
      'file_broken',
    );
  }
  onlyKeys(document, ['admin', 'app'], file);
  const apps = readApps(document['app'], file);
  const admin = await readAdmin(document['admin'], file);
  const secretFiles = new Map(apps.map((app) => [app.name, app.secretFile]));
  return { plan: { ...(admin ? { admin } : {}), apps: apps.map(({ secretFile: _file, ...app }) => app) }, secretFiles };
}

function readApps(value: unknown, file: string) {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new UsageError(`${file}: applications must be written as [[app]].`);
  return (value as Row[]).map((app, index) => {
    const place = `${file}: app ${index + 1}`;
    onlyKeys(app, ['name', 'scopes', 'project', 'trusted', 'secret_file'], place);
    const { name, scopes, project, trusted } = app;
    const secretFile = app['secret_file'];
    if (typeof name !== 'string' || typeof secretFile !== 'string' || !Array.isArray(scopes))
      throw new UsageError(`${place}: name, scopes and secret_file are required.`);
    return {
      name,
      scopes: scopes.map(String),
      secretFile,
      ...(typeof project === 'string' ? { project } : {}),
      ...(typeof trusted === 'boolean' ? { trusted } : {}),
    };
  });
}

async function readAdmin(value: unknown, file: string): Promise<BootstrapPlan['admin']> {
  if (value === undefined) return undefined;
  const admin = value as Row;
  onlyKeys(admin, ['username', 'password_file'], `${file}: admin`);
  const { username, password_file: passwordFile } = admin;
  if (typeof username !== 'string' || typeof passwordFile !== 'string')
    throw new UsageError(`${file}: admin: username and password_file are required.`);
  const path = resolve(dirname(file), passwordFile);
  return { username, password: readSecretText(await readTextFile(path), path) };
}

function onlyKeys(row: Row, known: readonly string[], place: string): void {
  const unknown = Object.keys(row).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new UsageError(`${place}: unknown key "${unknown}".`, `keys: ${known.join(', ')}`);
}

async function deliver(
  { print }: Context,
  result: BootstrapResult,
  secretFiles: Map<string, string>,
  reserved: Map<string, ReservedFile>,
): Promise<void> {
  const rows: Row[] = [];
  const lost: unknown[] = [];
  for (const app of result.apps) {
    const { created } = app;
    // One secret that is lost keeps none of the others.
    if (app.created)
      await reserved
        .get(app.name)
        ?.commit(`${app.client_secret}\n`)
        .catch((error: unknown) => lost.push(secretLost(error, `payctl app rotate-secret ${app.client_id}`)));
    rows.push({
      client_id: app.client_id,
      name: app.name,
      changed: created,
      secretFile: created ? (secretFiles.get(app.name) ?? null) : null,
    });
  }
  if (lost.length > 0) throw lost[0];
  if (print.json) await print.item({ changed: result.changed, admin: result.admin, apps: rows }, APP);
  else await print.list(rows, APP);
  await print.done(result.changed ? 'Applied.' : 'Everything exists already; nothing was changed.');
}
