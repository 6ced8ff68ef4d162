import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { ContextOf } from '../index.ts';
import { ORDERS, VIEW } from './view.ts';

/** Adds `order sync`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('sync')
    .description('Ask the channel about an order now, and settle what it says.')
    .argument('<orderNo>');
  examples(
    changes(command),
    'payctl order sync P202611210558ABCDEFGH12',
    'payctl order sync P202611210558ABCDEFGH12 --fields status',
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
