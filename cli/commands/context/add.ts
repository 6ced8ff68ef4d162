import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT, UsageError } from '../../errors.ts';
import { choice, examples } from '../../options.ts';
import { LABELS, own, type Label } from '../../session.ts';
import { cleanServer, guessLabel, originOf, savedConnection } from '../../settings.ts';
import { VIEW, contextRow } from './view.ts';

/** The flags of `context add`. */
export interface AddFlags {
  label?: Label;
  user?: string;
}

/** Adds `context add`. */
export function define(noun: Command, context: ContextOf): void {
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
  command.action((name: string, flags: AddFlags) => run(context(), name, flags));
}

/** Saves a new context; the first one becomes the current one. */
export async function run(
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
