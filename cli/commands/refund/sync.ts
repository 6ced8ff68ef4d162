import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { ContextOf } from '../index.ts';
import { REFUNDS, VIEW } from './view.ts';

/** Adds `refund sync`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('sync')
    .description('Ask the channel about a refund now, and settle what it says.')
    .argument('<refundNo>');
  examples(
    changes(command),
    'payctl refund sync R202611210601ABCDEFGH12',
    'payctl refund sync R202611210601ABCDEFGH12 --fields status',
  ).action((refundNo: string, flags: ChangeFlags) => run(context(), refundNo, flags));
}

/** Asks the channel. */
export async function run({ change, print }: Context, refundNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    { what: `sync refund ${refundNo}`, name: refundNo, method: 'POST', path: `${REFUNDS}/${segment(refundNo)}/sync` },
    flags,
  );
  if (row) await print.item(row, VIEW);
}
