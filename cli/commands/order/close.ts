import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { ORDERS, VIEW } from './view.ts';

/** Adds `order close`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('close')
    .description('Close an unpaid order, including at the channel. Exits with 6 if it is already paid.')
    .argument('<orderNo>');
  examples(
    changes(command, { money: true }),
    'payctl order close P202611210558007K2MQX9WBT',
    'payctl order close P202611210558007K2MQX9WBT -y --json',
  ).action((orderNo: string, flags: ChangeFlags) => run(context(), orderNo, flags));
}

/** Closes an order. */
export async function run({ change, print }: Context, orderNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `close order ${orderNo}`,
      name: orderNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${ORDERS}/${segment(orderNo)}/close`,
    },
    flags,
  );
  if (!row) return;
  await print.item(row, VIEW);
  await print.done(
    row['status'] === 'closing'
      ? `The channel has not confirmed the close yet. Next: payctl order get ${orderNo}`
      : `Closed order ${orderNo}.`,
  );
}
