import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { addFields, bodyOf, segment, type Field } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { BILL_NO, BILLS, DIFFERENCES, DIFFERENCE_STATES, KINDS } from './view.ts';

const FILTERS: readonly Field[] = [
  {
    name: 'state',
    value: 'state',
    help: 'filter by state: open (the channel is being asked), healed, listed (needs review), ended',
    choices: DIFFERENCE_STATES,
  },
  {
    name: 'kind',
    value: 'kind',
    help: 'filter by kind; order_not_ours lists the lines of other systems, which are only counted otherwise',
    choices: KINDS,
  },
];

const MOST_FIXES = 3;

/** Adds `bill differences`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('differences')
    .description('List how a bill and the orders differ, and the command that ends each difference.')
    .argument('<billNo>');
  addFields(command, FILTERS);
  examples(
    paged(command),
    `payctl bill differences ${BILL_NO}`,
    `payctl bill differences ${BILL_NO} --state listed --fields orderNo,kind,fix`,
    `payctl bill differences ${BILL_NO} --kind order_not_ours --all --json`,
  ).action((billNo: string, options: Row & ListFlags) => run(context(), billNo, options));
}

/** Prints the differences that pass the filters; on a terminal, the next steps below them. */
export async function run(context: Context, billNo: string, options: Row & ListFlags): Promise<void> {
  const path = `${BILLS}/${segment(billNo)}/differences`;
  const fixes = new Set<string>();
  await printList(context, path, bodyOf(options, FILTERS) as Query, DIFFERENCES, options, (rows) => {
    for (const { fix } of rows) if (typeof fix === 'string') fixes.add(fix);
  });
  const { print } = context;
  if (print.format !== 'table' || print.linewise) return;
  for (const fix of [...fixes].slice(0, MOST_FIXES)) await print.done(`Next: ${fix}`);
  if (fixes.size > MOST_FIXES) await print.done(`${fixes.size - MOST_FIXES} more: add --fields orderNo,kind,fix`);
}
