import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { printList } from '../../listing.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ContextOf } from '../index.ts';
import { ORDERS, TIMELINE } from './view.ts';

/** Adds `order timeline`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('timeline')
    .description('Show what happened to an order: moves, channel messages, exceptions, events, deliveries.')
    .argument('<orderNo>');
  examples(
    command,
    'payctl order timeline P202611210558ABCDEFGH12',
    'payctl order timeline P202611210558ABCDEFGH12 -o jsonl',
  ).action((orderNo: string) => run(context(), orderNo));
}

/** Prints the steps, oldest first. */
export function run(context: Context, orderNo: string): Promise<void> {
  return printList(context, `${ORDERS}/${segment(orderNo)}/timeline`, {}, TIMELINE, {});
}
