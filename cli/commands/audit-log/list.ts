import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { AUDIT_LOG, FILTERS, VIEW } from './view.ts';

/** Adds `audit-log list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List what was changed and by whom, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl audit-log list --since 24h',
    'payctl audit-log list --actor alice --action channel-config.write',
    'payctl audit-log list --target app_7Kd2mQxW9bTzR4vLp1Ns --json',
  ).action((options: Row & ListFlags) => run(context(), options));
}

/** Prints the lines that pass the filters. */
export function run(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, AUDIT_LOG, bodyOf(options, FILTERS) as Query, VIEW, options);
}
