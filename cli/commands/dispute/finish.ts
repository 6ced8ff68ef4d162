import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, choice, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { DISPUTE_NO, DISPUTES, VIEW } from './view.ts';

/** What can be said of a complaint that has been dealt with. */
const RESULTS = ['agreed', 'refunded', 'corrected', 'proven', 'other'] as const;

/** The flags of `dispute finish`. */
export interface FinishFlags extends ChangeFlags {
  result?: string;
}

/** Adds `dispute finish`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('finish')
    .description('Say that a complaint of Alipay or WeChat Pay has been dealt with. PayPal decides by itself.')
    .argument('<disputeNo>')
    .addOption(choice('--result <result>', 'what became of it, for Alipay; the default is other', RESULTS));
  examples(
    changes(command, { money: true }),
    `payctl dispute finish ${DISPUTE_NO}`,
    `payctl dispute finish ${DISPUTE_NO} --result refunded -y --json`,
  ).action((disputeNo: string, flags: FinishFlags) => run(context(), disputeNo, flags));
}

/** Tells the channel; no money moves. */
export async function run(context: Context, disputeNo: string, flags: FinishFlags): Promise<void> {
  const row = await context.change(
    {
      what: `finish dispute ${disputeNo}`,
      name: disputeNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${DISPUTES}/${segment(disputeNo)}/finish`,
      ...(flags.result === undefined ? {} : { body: { result: flags.result } }),
    },
    flags,
  );
  if (!row) return;
  await context.print.item(row, VIEW);
  await context.print.done(`Finished dispute ${disputeNo}.`);
}
