import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { BILLS, FILTERS, VIEW } from './view.ts';

/** Adds `bill list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('list')
    .description(
      'List bills, newest day first, with their differences: open ones are checked, listed ones need review.',
    );
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl bill list',
    'payctl bill list --pay-way wechat --state missing',
    'payctl bill list --from 2026-11-01 --to 2026-11-30 --all --json',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the bills that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, BILLS, bodyOf(options, FILTERS) as Query, VIEW, options);
}
