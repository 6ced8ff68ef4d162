import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { DISPUTES, FILTERS, VIEW } from './view.ts';

/** Adds `dispute list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List disputes, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl dispute list --status needs_answer',
    'payctl dispute list --order P202611210558007K2MQX9WBT',
    'payctl dispute list --pay-way paypal --all --json',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the disputes that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, DISPUTES, bodyOf(options, FILTERS) as Query, VIEW, options);
}
