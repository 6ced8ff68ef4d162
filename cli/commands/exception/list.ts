import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf, type Field } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { EXCEPTIONS, VIEW } from './view.ts';

const FILTERS: readonly Field[] = [
  { name: 'state', value: 'state', help: 'filter by state', choices: ['open', 'resolved'] },
  {
    name: 'kind',
    value: 'kind',
    help: 'filter by kind: late_paid, amount_mismatch, refund_overrun, refund_abnormal, …',
  },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'project', value: 'code', help: 'filter by project' },
];

/** Adds `exception list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List exceptions, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl exception list --state open',
    'payctl exception list --kind amount_mismatch --json',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the exceptions that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, EXCEPTIONS, bodyOf(options, FILTERS) as Query, VIEW, options);
}
