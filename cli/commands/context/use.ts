import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { VIEW, contextRow } from './view.ts';

/** Adds `context use`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('use').description('Make a context the current one.').argument('<name>');
  examples(command, 'payctl context use prod', 'payctl context use dev -q').action((name: string) =>
    run(context(), name),
  );
}

/** Changes the current context. */
export async function run({ sessions, print }: Context, name: string): Promise<void> {
  await contextRow(await sessions.contexts(), name, sessions);
  await sessions.changeContexts((contexts) => void (contexts.current = name));
  await print.item(await contextRow(await sessions.contexts(), name, sessions), VIEW);
}
