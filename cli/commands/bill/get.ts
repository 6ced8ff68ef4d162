import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { showBill } from './show.ts';
import { BILL_NO, BILLS } from './view.ts';

/** Adds `bill get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('get')
    .description('Show one bill, its sums and how many differences it has.')
    .argument('<billNo>');
  examples(command, `payctl bill get ${BILL_NO}`, `payctl bill get ${BILL_NO} --fields state,lines,fault`).action(
    (billNo: string) => run(context(), billNo),
  );
}

/** Prints one bill. */
export async function run(context: Context, billNo: string): Promise<void> {
  await showBill(context, await context.api.get(`${BILLS}/${segment(billNo)}`));
}
