import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags, watchList } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { watchFlags, type WatchFlags } from '../../watch.ts';
import { FILTERS, ORDERS, VIEW } from './view.ts';

/** Adds `order list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List orders, newest first; with --watch as they come and change.');
  addFields(command, FILTERS);
  examples(
    watchFlags(paged(command)),
    'payctl order list --status paid --pay-way alipay --limit 20',
    'payctl order list --channel-trade-no 2026112122001400001 --json',
    'payctl order list --since 2026-11-01 --all --fields orderNo,amount,currency > november.tsv',
    'payctl order list --status pending --watch --count 1',
  ).action((options: Row & ListFlags & WatchFlags) => run(context(), options));
}

/** Prints the orders that pass the filters, once or as they come. */
export function run(context: Context, options: Row & ListFlags & WatchFlags): Promise<void> {
  const query = bodyOf(options, FILTERS) as Query;
  return (options.watch ? watchList : printList)(context, ORDERS, query, VIEW, options);
}
