import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { SESSIONS, VIEW } from './view.ts';

/** Adds `session list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List your sessions, newest first.');
  examples(paged(command), 'payctl session list', 'payctl session list --json').action((options: ListFlags) =>
    run(context(), options),
  );
}

/** Prints the sessions of the own account. */
export function run(context: Context, options: ListFlags): Promise<void> {
  return printList(context, SESSIONS, {}, VIEW, options);
}
