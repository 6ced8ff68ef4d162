import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { sessionsOf, VIEW, type WhoseFlags } from './view.ts';

/** Adds `session list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('list')
    .description('List your sessions, or those of another administrator, newest first.')
    .option('--admin <username>', 'sessions of this administrator');
  examples(
    paged(command),
    'payctl session list',
    'payctl session list --json',
    'payctl session list --admin bob',
  ).action((options: ListFlags & WhoseFlags) => run(context(), options));
}

/** Prints the sessions of an account. */
export async function run(context: Context, options: ListFlags & WhoseFlags): Promise<void> {
  return printList(context, await sessionsOf(context, options), {}, VIEW, options);
}
