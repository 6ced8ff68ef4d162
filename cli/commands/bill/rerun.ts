import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { finish, waitFlags, type WaitFlags } from './follow.ts';
import { BILL_NO, BILLS } from './view.ts';

/** Adds `bill rerun`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('rerun')
    .description('Compare a bill that was read with the orders again, and wait for the result.')
    .argument('<billNo>');
  examples(
    changes(waitFlags(command)),
    `payctl bill rerun ${BILL_NO}`,
    `payctl bill rerun ${BILL_NO} --no-wait --json`,
  ).action((billNo: string, flags: ChangeFlags & WaitFlags) => run(context(), billNo, flags));
}

/** Has the bill compared again. */
export async function run(context: Context, billNo: string, flags: ChangeFlags & WaitFlags): Promise<void> {
  const begun = await context.change(
    { what: `compare bill ${billNo}`, name: billNo, method: 'POST', path: `${BILLS}/${segment(billNo)}/rerun` },
    flags,
  );
  if (begun) await finish(context, begun, flags);
}
