import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { ORDERS, VIEW } from './view.ts';

/** Adds `order get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('get').description('Show one order.').argument('<orderNo>');
  examples(
    command,
    'payctl order get P202611210558007K2MQX9WBT',
    'payctl order get P202611210558007K2MQX9WBT --fields status',
  ).action((orderNo: string) => run(context(), orderNo));
}

/** Prints one order. */
export async function run({ api, print }: Context, orderNo: string): Promise<void> {
  await print.item(await api.get(`${ORDERS}/${segment(orderNo)}`), VIEW);
}
