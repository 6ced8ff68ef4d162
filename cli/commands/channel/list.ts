import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { printList } from '../../listing.ts';
import { examples } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import { channel } from './view.ts';

/** Adds `channel list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun.command('list').description('List the channel configurations of a project; secrets are never shown.'),
  );
  examples(command, 'payctl channel list', 'payctl channel list --project shop-eu --json').action(
    (flags: { project?: string }) => run(context(), flags),
  );
}

/** Prints the configurations. */
export function run(context: Context, { project }: { project?: string }): Promise<void> {
  return printList(context, `${channel.path}/list`, { project }, channel.view, {});
}
