import type { Command } from 'commander';
import { randomBytes } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { type ReservedFile, readTextFile, reserveFile } from '../files.ts';
import type { BootstrapPlan, BootstrapResult, Offline } from '../../server/offline/port.ts';
import { asInstalled } from '../installation.ts';
import { type OfflineFlags, actor, offlineFlags, prepareDatabase, withOffline } from '../offline.ts';
import { examples, passwordFlags } from '../options.ts';
import { addFields, bodyOf, complete } from '../resource.ts';
import {
  type PasswordFlags,
  type SecretSink,
  openSecretSink,
  readSecretText,
  secretLost,
  takePassword,
} from '../secrets.ts';
import type { Row, View } from '../values.ts';
import { SCOPES, app } from './app-resource.ts';

const DATABASE: View = {
  noun: 'database',
  id: 'place',
  columns: [
    { field: 'kind' },
    { field: 'place' },
    { field: 'name' },
    { field: 'schemaVersion' },
    { field: 'pendingMigrations' },
    { field: 'administrators' },
    { field: 'bootstrapped', kind: 'yesno' },
  ],
};

const ADMIN: View = {
  noun: 'admin',
  id: 'username',
  columns: [{ field: 'username' }, { field: 'role' }, { field: 'id', kind: 'id' }, { field: 'changed', kind: 'yesno' }],
};

const APP: View = {
  noun: 'app',
  id: 'client_id',
  columns: [
    { field: 'client_id', kind: 'id' },
    { field: 'name' },
    { field: 'project' },
    { field: 'scopes' },
    { field: 'changed', kind: 'yesno' },
  ],
};

/** If the object exists already, the command fails, or with --if-none prints `{ "changed": false }`. */
async function ignoreExisting(
  { print }: Context,
  ifNone: boolean | undefined,
  view: View,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isExisting =
      error instanceof Error &&
      'code' in error &&
      (error.code === 'already_bootstrapped' || error.code === 'already_exists');
    if (!ifNone || !isExisting) throw error;
    await print.item({ changed: false }, { ...view, id: 'changed', columns: [{ field: 'changed', kind: 'yesno' }] });
    await print.done('It exists already; nothing was changed.');
  }
}

function defineStatus(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('status')
      .description('Show which database the service uses, and whether an administrator exists. Read-only.'),
  );
  examples(command, 'payctl bootstrap status', 'payctl bootstrap status --json').action((flags: OfflineFlags) =>
    runStatus(context(), flags),
  );
}

async function runStatus(context: Context, flags: OfflineFlags): Promise<void> {
  await withOffline(context, flags, async (offline) => {
    const { kind, place, name, schema, administrators } = await offline.describeDatabase();
    const bootstrapped = administrators !== null && administrators > 0;
    await context.print.item(
      {
        kind,
        place,
        name,
        schemaVersion: schema.version,
        pendingMigrations: schema.pending,
        administrators,
        bootstrapped,
      },
      DATABASE,
    );
    if (bootstrapped) return;
    await context.print.done(asInstalled('Next: payctl bootstrap admin --username NAME', context.installation));
  });
}

interface AdminFlags extends OfflineFlags, PasswordFlags {
  username?: string;
  merchantName?: string;
  generate?: boolean;
  secretFile?: string;
  ifNone?: boolean;
  dryRun?: boolean;
}

function defineAdmin(noun: Command, context: ContextOf): void {
  const command = noun
    .command('admin')
    .description('Create the first administrator. Exits with 6 if one exists already, unless --if-none is given.')
    .option('-u, --username <name>', 'login name')
    .option('--merchant-name <name>', 'name of the project "default", which payers see on the payment page');
  passwordFlags(offlineFlags(command, { migrate: true }))
    .option('--generate', 'generate a password; it is shown only once')
    .option('--secret-file <file>', 'write the generated password to a new file')
    .option('--if-none', 'succeed without changes if an administrator exists')
    .option('--dry-run', 'show what would be done without writing anything');
  examples(
    command,
    'payctl bootstrap admin --username alice',
    'payctl bootstrap admin --username alice --password-file alice.password --migrate --if-none',
    'payctl bootstrap admin --username alice --generate --secret-file alice.password --migrate',
    'payctl bootstrap admin --username alice --password-file alice.password --merchant-name "Blue Door"',
  ).action((flags: AdminFlags) => runAdmin(context(), flags));
}

/**
 * Creates the first administrator in one transaction. payctl prints a generated password only after the committed row
 * was read back and its password hash verified.
 */
async function runAdmin(context: Context, flags: AdminFlags): Promise<void> {
  const { print, prompts } = context;
  if (flags.generate && (flags.passwordStdin || flags.passwordFile))
    throw new UsageError('--generate cannot be combined with --password-stdin or --password-file.');
  const username =
    flags.username ??
    (await prompts.text({
      message: 'Username of the first administrator',
      flag: '--username',
      validate: (text) => text !== '' || 'A name is required.',
    }));
  await withOffline(context, flags, async (offline) => {
    const database = await prepareDatabase(context, offline, { ...flags, migrate: flags.migrate && !flags.dryRun });
    await ignoreExisting(context, flags.ifNone, ADMIN, async () => {
      if ((database.administrators ?? 0) > 0)
        throw new CliError(
          'already_bootstrapped',
          EXIT.conflict,
          'An administrator exists already; nothing was changed.',
          { hint: 'payctl login\nIf the password is lost: payctl admin reset-password NAME --offline' },
        );
      const named = await merchantName(context, offline, flags);
      if (flags.dryRun) return print.item({ dryRun: true, username, role: 'admin', ...named }, ADMIN);
      const sink = flags.generate
        ? await openSecretSink({ ...context, quiet: context.flags.quiet === true }, flags, 'password')
        : undefined;
      try {
        await createAdmin(context, username, flags, sink, async (password) => ({
          ...(await offline.createFirstAdmin({ username, password, ...named, actor: actor() })),
          ...named,
        }));
      } finally {
        await sink?.discard();
      }
    });
  });
}

/**
 * The name that payers see, from the flag or a prompt; `{}` leaves it unset. Only a run that prompts for the username or
 * the password prompts for the name, so that a pasted line is never taken for an answer.
 */
async function merchantName(
  { prompts }: Context,
  offline: Offline,
  flags: AdminFlags,
): Promise<{ merchantName?: string }> {
  if (flags.merchantName !== undefined) {
    const fault = offline.nameFault(flags.merchantName);
    if (fault !== undefined) throw new UsageError(`--merchant-name ${fault}.`);
    return { merchantName: flags.merchantName };
  }
  const isScripted = flags.generate || flags.passwordStdin || flags.passwordFile;
  if (!prompts.possible || (isScripted && flags.username !== undefined)) return {};
  const { name, proposed } = await offline.merchant();
  if (name !== null) return {};
  const answer = await prompts.text({
    message: `Name that payers see on the payment page${proposed === undefined ? ' (may be empty)' : ''}`,
    flag: '--merchant-name',
    default: proposed,
    validate: (text) => {
      const fault = text.trim() === '' ? undefined : offline.nameFault(text);
      return fault === undefined || `The name ${fault}.`;
    },
  });
  return answer.trim() === '' ? {} : { merchantName: answer };
}

async function createAdmin(
  context: Context,
  username: string,
  flags: AdminFlags,
  sink: SecretSink | undefined,
  write: (password: string) => Promise<object>,
): Promise<void> {
  const { terminal, prompts, print } = context;
  const password = sink
    ? randomBytes(24).toString('base64url')
    : await takePassword(terminal, prompts, flags, { message: `Password for ${username}`, isNew: true });
  const row = { ...(await write(password)), changed: true };
  context.run.completedChange = `create administrator ${username}`;
  const again = `payctl admin reset-password ${username} --offline`;
  await (sink ? sink.deliver({ ...row, password }, ADMIN, again) : print.item(row, ADMIN));
  await print.done(
    `Created administrator ${username}. Next: start the service, then log in: payctl login -u ${username}`,
  );
}

type AppFlags = Row & OfflineFlags & { secretFile?: string; ifNone?: boolean; dryRun?: boolean };

const APP_FIELDS = [...app.fields, ...(app.createOnly ?? [])]
  .filter(({ name }) => ['name', 'scopes', 'project', 'trusted', 'remark'].includes(name))
  .map((field) => ({ ...field, required: field.name === 'name' }));

function defineApp(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun.command('app').description('Create an API application. Its secret is shown only once.'),
    {
      migrate: true,
    },
  );
  addFields(command, APP_FIELDS);
  command
    .option('--secret-file <file>', 'write the secret to a new file')
    .option('--if-none', 'succeed without changes if an application of this name exists')
    .option('--dry-run', 'show what would be done without writing anything');
  examples(
    command,
    'payctl bootstrap app --name shop --scope payment:write,payment:read --secret-file shop.secret',
    'payctl bootstrap app --name shop --scope payment:write,payment:read --if-none -o json',
    'payctl bootstrap app --name shop --scope payment:write -o env > shop.env',
  ).action((flags: AppFlags) => runApp(context(), flags));
}

/** Checks before the change that the new secret can be written to the file or stdout. */
async function runApp(context: Context, flags: AppFlags): Promise<void> {
  const { print, prompts } = context;
  const fields = await complete(context, APP_FIELDS, bodyOf(flags, APP_FIELDS));
  const scopes =
    fields['scopes'] ??
    (await prompts.chooseMany(
      { message: 'Scopes', flag: '--scope' },
      SCOPES.map((value) => ({ value, checked: value.startsWith('payment:') })),
    ));
  const input = { ...fields, name: String(fields['name']), scopes: scopes as string[] };
  await withOffline(context, flags, async (offline) => {
    const sink = flags.dryRun
      ? undefined
      : await openSecretSink({ ...context, quiet: context.flags.quiet === true }, flags, 'client_secret');
    try {
      await prepareDatabase(context, offline, { ...flags, migrate: flags.migrate && !flags.dryRun });
      if (!sink) return await print.item({ dryRun: true, ...input }, APP);
      await ignoreExisting(context, flags.ifNone, APP, async () => {
        const row = { ...(await offline.createApp({ ...input, actor: actor() })), changed: true };
        context.run.completedChange = `create app ${input.name}`;
        await sink.deliver(row, APP, `payctl app rotate-secret ${row.client_id}`);
        await print.done(
          asInstalled(
            'Next: POST /oauth/token with these credentials, as soon as the service runs: payctl server start',
            context.installation,
          ),
        );
      });
    } finally {
      await sink?.discard();
    }
  });
}

interface ApplyFlags extends OfflineFlags {
  file?: string;
  dryRun?: boolean;
}

function defineApply(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun
      .command('apply')
      .description(
        'Create the administrator, projects and applications that a TOML file describes. Existing ones are left unchanged; passwords are never reset. The project "default" gets the name that payers see, unless it has one.',
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
  ).action((flags: ApplyFlags) => runApply(context(), flags));
}

/** The plan file is applied in one transaction. Secrets of new applications go to the files that it names. */
async function runApply(context: Context, flags: ApplyFlags): Promise<void> {
  const { terminal, print } = context;
  const file = resolve(terminal.cwd, flags.file ?? '');
  const parsed = await readPlan(file);
  await withOffline(context, flags, async (offline) => {
    await prepareDatabase(context, offline, { ...flags, migrate: flags.migrate && !flags.dryRun });
    if (flags.dryRun)
      return print.list(
        parsed.plan.apps.map((app) => ({ ...app, dryRun: true })),
        APP,
      );
    const existing = new Set((await offline.listApps()).map(keyOf));
    const reserved = await reserveAll(parsed, existing, dirname(file));
    try {
      const result = await offline.applyBootstrap({ plan: parsed.plan, actor: actor() });
      if (result.changed) context.run.completedChange = `apply ${flags.file}`;
      await deliverSecrets(context, result, parsed, reserved);
    } finally {
      await Promise.all([...reserved.values()].map((place) => place.discard()));
    }
  });
}

/** Reserves disk space for the file of each new secret, before the change. */
async function reserveAll(
  { secretFiles }: ParsedPlan,
  existing: ReadonlySet<string>,
  folder: string,
): Promise<Map<string, ReservedFile>> {
  const reserved = new Map<string, ReservedFile>();
  try {
    for (const [key, path] of secretFiles) {
      if (!existing.has(key)) reserved.set(key, await reserveFile(resolve(folder, path)));
    }
    return reserved;
  } catch (error) {
    await Promise.all([...reserved.values()].map((place) => place.discard()));
    throw error;
  }
}

/** The key of an application in a plan: its name is unique only in its project. */
function keyOf({ name, project = 'default' }: { name: string; project?: string }): string {
  return JSON.stringify([project, name]);
}

interface ParsedPlan {
  plan: BootstrapPlan;
  /** For each application (its `keyOf`): the path of the file for the new secret. */
  secretFiles: Map<string, string>;
}

/** Passwords are read from the files that the plan file names. */
async function readPlan(file: string): Promise<ParsedPlan> {
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
  onlyKeys(document, ['admin', 'project', 'app'], file);
  const projects = readProjects(document['project'], file);
  const apps = readApps(document['app'], file);
  const admin = await readAdmin(document['admin'], file);
  const secretFiles = new Map(apps.map((app) => [keyOf(app), app.secretFile]));
  return {
    plan: { ...(admin ? { admin } : {}), projects, apps: apps.map(({ secretFile: _file, ...app }) => app) },
    secretFiles,
  };
}

function readProjects(value: unknown, file: string): BootstrapPlan['projects'] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new UsageError(`${file}: projects must be written as [[project]].`);
  return (value as Row[]).map((project, index) => {
    const place = `${file}: project ${index + 1}`;
    onlyKeys(project, ['code', 'name'], place);
    const { code, name } = project;
    if (typeof code !== 'string' || typeof name !== 'string')
      throw new UsageError(`${place}: code and name are required.`);
    return { code, name };
  });
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

async function deliverSecrets(
  { print }: Context,
  result: BootstrapResult,
  { plan, secretFiles }: ParsedPlan,
  reserved: Map<string, ReservedFile>,
): Promise<void> {
  const rows: Row[] = [];
  const lost: unknown[] = [];
  for (const [index, app] of result.apps.entries()) {
    const { created } = app;
    const key = keyOf(plan.apps[index]!);
    // A failed write for one application must not prevent writing the secrets of the remaining applications.
    if (app.created)
      await reserved
        .get(key)
        ?.commit(`${app.client_secret}\n`)
        .catch((error: unknown) => lost.push(secretLost(error, `payctl app rotate-secret ${app.client_id}`)));
    rows.push({
      client_id: app.client_id,
      name: app.name,
      changed: created,
      secretFile: created ? (secretFiles.get(key) ?? null) : null,
    });
  }
  if (lost.length > 0) throw lost[0];
  const { changed, admin, projects } = result;
  if (print.json) await print.item({ changed, admin, projects, apps: rows }, APP);
  else await print.list(rows, APP);
  await print.done(changed ? 'Applied.' : 'Everything exists already; nothing was changed.');
}

/** Adds the subcommands of `payctl bootstrap`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Create the first administrator and the first API application directly in the database. See payctl help bootstrap.',
  );
  for (const addVerb of [defineStatus, defineAdmin, defineApp, defineApply]) addVerb(noun, context);
}
