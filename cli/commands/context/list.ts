import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { VIEW, contextRow } from './view.ts';

/** Adds `context list`. */
export function define(noun: Command, context: ContextOf): void {
  examples(
    noun.command('list').description('List the contexts.'),
    'payctl context list',
    'payctl context list --json',
  ).action(() => run(context()));
}

/** Prints every context. */
export async function run({ sessions, print }: Context): Promise<void> {
  const contexts = await sessions.contexts();
  const names = Object.keys(contexts.contexts).toSorted();
  await print.list(await Promise.all(names.map((name) => contextRow(contexts, name, sessions))), VIEW);
  if (names.length === 0) await print.done('No contexts yet. Next: payctl login --server URL -u NAME');
}
