import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { printList, type ListFlags } from '../../listing.ts';
import { examples, paged } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ContextOf } from '../index.ts';
import { ORDERS, TIMELINE } from './view.ts';

/** Adds `order timeline`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('timeline')
    .description('Show what happened to an order: requests, channel messages, moves, deliveries.')
    .argument('<orderNo>');
  examples(
    paged(command),
    'payctl order timeline P202611210558ABCDEFGH12',
    'payctl order timeline P202611210558ABCDEFGH12 --all -o jsonl',
  ).action((orderNo: string, flags: ListFlags) => run(context(), orderNo, flags));
}

/** Prints the steps, oldest first. */
export function run(context: Context, orderNo: string, flags: ListFlags): Promise<void> {
  return printList(context, `${ORDERS}/${segment(orderNo)}/timeline`, {}, TIMELINE, flags);
}
