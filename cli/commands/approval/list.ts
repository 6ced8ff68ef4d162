import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf, type Field } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { APPROVALS, VIEW } from './view.ts';

const FILTERS: readonly Field[] = [
  { name: 'state', value: 'state', help: 'filter by state', choices: ['waiting', 'approved', 'rejected'] },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'project', value: 'code', help: 'filter by project' },
];

/** Adds `approval list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('list')
    .description('List what waits, or waited, for approval, newest first: refunds, disputes and exceptions.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl approval list --state waiting',
    'payctl approval list --order P202611210558007K2MQX9WBT --json',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the approvals that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, APPROVALS, bodyOf(options, FILTERS) as Query, VIEW, options);
}
