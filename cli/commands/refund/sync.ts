import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { REFUNDS, VIEW } from './view.ts';

/** Adds `refund sync`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('sync')
    .description('Query the channel about a refund now and apply the result.')
    .argument('<refundNo>');
  examples(
    changes(command),
    'payctl refund sync R20261121060100D4N8ZR3VHC',
    'payctl refund sync R20261121060100D4N8ZR3VHC --fields status',
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
