import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { VIEW } from './view.ts';

/** Adds `order capture`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('capture')
    .description('Take the money of a PayPal order that its payer has approved, without waiting for the notification.')
    .argument('<orderNo>');
  examples(
    changes(command, { money: true }),
    'payctl order capture P202611210558007K2MQX9WBT',
    'payctl order capture P202611210558007K2MQX9WBT -y --json',
  ).action((orderNo: string, flags: ChangeFlags) => run(context(), orderNo, flags));
}

/** Captures an order. */
export async function run({ change, print }: Context, orderNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `capture order ${orderNo}`,
      name: orderNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `/api/v1/console/payment/capture/${segment(orderNo)}`,
    },
    flags,
  );
  if (!row) return;
  await print.item(row, VIEW);
  await print.done(
    row['status'] === 'paid'
      ? `Captured order ${orderNo}.`
      : `The order is ${String(row['status'])}. Next: payctl explain ${orderNo}`,
  );
}
