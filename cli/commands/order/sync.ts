import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { ORDERS, VIEW } from './view.ts';

/** Adds `order sync`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('sync')
    .description('Query the channel about an order now and apply the result.')
    .argument('<orderNo>');
  examples(
    changes(command),
    'payctl order sync P202611210558007K2MQX9WBT',
    'payctl order sync P202611210558007K2MQX9WBT --fields status',
  ).action((orderNo: string, flags: ChangeFlags) => run(context(), orderNo, flags));
}

/** Asks the channel. */
export async function run({ change, print }: Context, orderNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    { what: `sync order ${orderNo}`, name: orderNo, method: 'POST', path: `${ORDERS}/${segment(orderNo)}/sync` },
    flags,
  );
  if (row) await print.item(row, VIEW);
}
