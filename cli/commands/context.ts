import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { changes, choice, examples } from '../options.ts';
import { type ChangeFlags, confirmChange } from '../safety.ts';
import { type Contexts, LABELS, type Label, type SessionStore, own } from '../session.ts';
import { cleanServer, guessLabel, originOf, savedConnection } from '../settings.ts';
import type { Row, View } from '../values.ts';

const VIEW: View = {
  noun: 'context',
  id: 'name',
  columns: [
    { field: 'name', kind: 'id' },
    { field: 'current', kind: 'yesno' },
    { field: 'label', kind: 'status' },
    { field: 'server' },
    { field: 'user' },
    { field: 'loginExpiresAt', title: 'LOGIN', kind: 'time' },
    { field: 'loginRenews', title: 'RENEWS', kind: 'yesno' },
  ],
};

/** The output row of a saved context does not contain the token. */
async function contextRow(contexts: Contexts, name: string, sessions: SessionStore): Promise<Row> {
  const saved = own(contexts.contexts, name);
  if (!saved) throw new UsageError(`Context "${name}" not found.`, 'payctl context list', 'context_unknown');
  const session = await sessions.session(name);
  return {
    name,
    current: contexts.current === name,
    label: saved.label,
    server: saved.server,
    user: saved.clientId ?? saved.user ?? null,
    caFile: saved.caFile ?? null,
    allowHttp: saved.allowHttp === true,
    loginExpiresAt: session?.expiresAt ?? null,
    // payctl renews the token of an application with the stored secret.
    loginRenews: session ? session.app !== undefined : null,
  };
}

function defineList(noun: Command, context: ContextOf): void {
  examples(
    noun.command('list').description('List the contexts.'),
    'payctl context list',
    'payctl context list --json',
  ).action(() => runList(context()));
}

async function runList({ sessions, print }: Context): Promise<void> {
  const contexts = await sessions.contexts();
  const names = Object.keys(contexts.contexts).toSorted();
  await print.list(await Promise.all(names.map((name) => contextRow(contexts, name, sessions))), VIEW);
  if (names.length === 0) await print.done('No contexts yet. Next: payctl login --server URL -u NAME');
}

function defineShow(noun: Command, context: ContextOf): void {
  const command = noun.command('show').description('Show a context, the current one by default.').argument('[name]');
  examples(command, 'payctl context show', 'payctl context show prod --json').action((name: string | undefined) =>
    runShow(context(), name),
  );
}

async function runShow({ sessions, target, print }: Context, name: string | undefined): Promise<void> {
  const shown = name ?? (await target()).context;
  if (shown === null) throw new UsageError('There is no current context.', 'payctl context list', 'context_unknown');
  await print.item(await contextRow(await sessions.contexts(), shown, sessions), VIEW);
}

interface AddFlags {
  label?: Label;
  user?: string;
}

function defineAdd(noun: Command, context: ContextOf): void {
  const command = noun
    .command('add')
    .description('Save a server under a name. Its address is given with --server.')
    .argument('<name>');
  command
    .addOption(choice('--label <label>', 'environment; prod asks for stronger confirmation', LABELS))
    .option('--user <name>', 'administrator to log in as');
  examples(
    command,
    'payctl context add prod --server https://pay.example.com --label prod --user alice',
    'payctl context add dev --server http://127.0.0.1:8080',
  );
  command.action((name: string, flags: AddFlags) => runAdd(context(), name, flags));
}

async function runAdd(
  { flags: global, sessions, print, terminal }: Context,
  name: string,
  flags: AddFlags,
): Promise<void> {
  if (!/^[\w][\w.-]{0,63}$/.test(name))
    throw new UsageError(`"${name}" is not a valid context name.`, 'use letters, digits, dots and dashes');
  if (global.server === undefined)
    throw new UsageError('--server is required.', `payctl context add ${name} --server URL`);
  const server = cleanServer(global.server);
  const saved = {
    server,
    ...(flags.label ? { label: flags.label } : { label: guessLabel(originOf(server)), isGuess: true as const }),
    ...(flags.user ? { user: flags.user } : {}),
    ...savedConnection(global, originOf(server), terminal.cwd),
  };
  await sessions.changeContexts((contexts) => {
    if (own(contexts.contexts, name))
      throw new CliError('context_exists', EXIT.conflict, `Context "${name}" already exists.`, {
        hint: `payctl context remove ${name}`,
      });
    contexts.contexts[name] = saved;
    contexts.current ??= name;
  });
  await print.item(await contextRow(await sessions.contexts(), name, sessions), VIEW);
  await print.done(`Added. Next: payctl login -C ${name}`);
}

function defineUse(noun: Command, context: ContextOf): void {
  const command = noun.command('use').description('Make a context the current one.').argument('<name>');
  examples(command, 'payctl context use prod', 'payctl context use dev -q').action((name: string) =>
    runUse(context(), name),
  );
}

async function runUse({ sessions, print }: Context, name: string): Promise<void> {
  await contextRow(await sessions.contexts(), name, sessions);
  await sessions.changeContexts((contexts) => void (contexts.current = name));
  await print.item(await contextRow(await sessions.contexts(), name, sessions), VIEW);
}

function defineRemove(noun: Command, context: ContextOf): void {
  const command = noun
    .command('remove')
    .description('Remove a context and its saved login. Nothing changes on the server.')
    .argument('<name>');
  examples(changes(command), 'payctl context remove dev', 'payctl context remove dev -y').action(
    (name: string, flags: ChangeFlags) => runRemove(context(), name, flags),
  );
}

async function runRemove({ sessions, prompts, print }: Context, name: string, flags: ChangeFlags): Promise<void> {
  const row = await contextRow(await sessions.contexts(), name, sessions);
  if (flags.dryRun) return print.item({ ...row, dryRun: true }, VIEW);
  await confirmChange(prompts, { what: `remove context ${name}`, risk: 'moderate', name }, flags, 'this machine');
  await sessions.removeSession(name);
  await sessions.changeContexts((contexts) => {
    delete contexts.contexts[name];
    if (contexts.current === name) contexts.current = null;
  });
  if (print.json) await print.item({ name, deleted: true }, VIEW);
  await print.done(`Removed context ${name}.`);
}

/** Adds the subcommands of `payctl context`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage named servers and choose the current one.');
  for (const addVerb of [defineList, defineShow, defineAdd, defineUse, defineRemove]) addVerb(noun, context);
}
