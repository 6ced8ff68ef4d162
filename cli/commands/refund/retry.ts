import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { REFUNDS, VIEW } from './view.ts';

/** Adds `refund retry`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('retry')
    .description(
      'Retry a failed, overdue or abnormal refund under the same refund number. WeChat Pay pays an abnormal one to the bank account of the merchant, who then has to pay the payer.',
    )
    .argument('<refundNo>');
  examples(
    changes(command),
    'payctl refund retry R20261121060100D4N8ZR3VHC',
    'payctl refund retry R20261121060100D4N8ZR3VHC -y --json',
  ).action((refundNo: string, flags: ChangeFlags) => run(context(), refundNo, flags));
}

/** Retries a refund. */
export async function run({ change, print }: Context, refundNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `retry refund ${refundNo}`,
      name: refundNo,
      risk: 'moderate',
      method: 'POST',
      path: `${REFUNDS}/${segment(refundNo)}/retry`,
    },
    flags,
  );
  if (row) await print.item(row, VIEW);
}
