import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { examples } from '../../options.ts';
import { VIEW, contextRow } from './view.ts';

/** Adds `context show`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('show').description('Show a context, the current one by default.').argument('[name]');
  examples(command, 'payctl context show', 'payctl context show prod --json').action((name: string | undefined) =>
    run(context(), name),
  );
}

/** Prints one context. */
export async function run({ sessions, target, print }: Context, name: string | undefined): Promise<void> {
  const shown = name ?? (await target()).context;
  if (shown === null) throw new UsageError('There is no current context.', 'payctl context list', 'context_unknown');
  await print.item(await contextRow(await sessions.contexts(), shown, sessions), VIEW);
}
