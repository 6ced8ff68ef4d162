import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { confirmChange, type ChangeFlags } from '../../safety.ts';
import { VIEW, contextRow } from './view.ts';

/** Adds `context remove`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('remove')
    .description('Remove a context and its saved login. Nothing changes on the server.')
    .argument('<name>');
  examples(changes(command), 'payctl context remove dev', 'payctl context remove dev -y').action(
    (name: string, flags: ChangeFlags) => run(context(), name, flags),
  );
}

/** Removes a context and its saved token. */
export async function run({ sessions, prompts, print }: Context, name: string, flags: ChangeFlags): Promise<void> {
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
