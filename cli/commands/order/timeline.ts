import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { printList } from '../../listing.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { ORDERS, TIMELINE } from './view.ts';

/** Adds `order timeline`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('timeline')
    .description(
      'Show the history of an order: state changes, channel messages, exceptions, events and webhook deliveries.',
    )
    .argument('<orderNo>');
  examples(
    command,
    'payctl order timeline P202611210558007K2MQX9WBT',
    'payctl order timeline P202611210558007K2MQX9WBT -o jsonl',
  ).action((orderNo: string) => run(context(), orderNo));
}

/** Prints the steps, oldest first. */
export function run(context: Context, orderNo: string): Promise<void> {
  return printList(context, `${ORDERS}/${segment(orderNo)}/timeline`, {}, TIMELINE, {});
}
