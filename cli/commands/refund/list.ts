import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { FILTERS, REFUNDS, VIEW } from './view.ts';

/** Adds `refund list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List refunds, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl refund list --status abnormal',
    'payctl refund list --order P202611210558007K2MQX9WBT',
    'payctl refund list --since 7d --all --json',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the refunds that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, REFUNDS, bodyOf(options, FILTERS) as Query, VIEW, options);
}
