import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { FILTERS, ORDERS, VIEW } from './view.ts';

/** Adds `order list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List orders, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl order list --since 24h',
    'payctl order list --status paid --pay-way alipay --limit 20',
    'payctl order list --channel-trade-no 2026112122001400001 --json',
    'payctl order list --since 2026-11-01 --all --fields orderNo,amount,currency > november.tsv',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the orders that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, ORDERS, bodyOf(options, FILTERS) as Query, VIEW, options);
}
