import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, instant, list, paged } from '../../options.ts';
import { addFields, bodyOf, type Field } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { EVENTS, VIEW } from './view.ts';

const FILTERS: readonly Field[] = [
  { name: 'types', value: 'a,b', help: 'filter by type, e.g. order.paid', read: list },
  { name: 'after', value: 'cursor', help: 'start after this cursor' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  { name: 'project', value: 'code', help: 'filter by project' },
  { name: 'objectNo', flag: 'about', value: 'no', help: 'filter by order or refund number' },
  { name: 'since', value: 'time', help: 'since this time, e.g. 2026-01-31, or 2h for two hours ago', read: instant },
];

/** Adds `event list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List events, oldest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl event list --types order.paid',
    'payctl event list --about P202611210558007K2MQX9WBT',
    'payctl event list --app app_7Kd2mQxW9bTzR4vLp1Ns --all -o jsonl',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the events that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, EVENTS, bodyOf(options, FILTERS) as Query, VIEW, options);
}
