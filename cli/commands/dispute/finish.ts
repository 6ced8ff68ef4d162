import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { DISPUTE_NO, DISPUTES, VIEW } from './view.ts';

/** Adds `dispute finish`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('finish')
    .description('Say that a complaint of WeChat Pay has been dealt with. The other channels decide by themselves.')
    .argument('<disputeNo>');
  examples(
    changes(command, { money: true }),
    `payctl dispute finish ${DISPUTE_NO}`,
    `payctl dispute finish ${DISPUTE_NO} -y --json`,
  ).action((disputeNo: string, flags: ChangeFlags) => run(context(), disputeNo, flags));
}

/** Tells the channel; no money moves. */
export async function run(context: Context, disputeNo: string, flags: ChangeFlags): Promise<void> {
  const row = await context.change(
    {
      what: `finish dispute ${disputeNo}`,
      name: disputeNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${DISPUTES}/${segment(disputeNo)}/finish`,
    },
    flags,
  );
  if (!row) return;
  await context.print.item(row, VIEW);
  await context.print.done(`Finished dispute ${disputeNo}.`);
}
