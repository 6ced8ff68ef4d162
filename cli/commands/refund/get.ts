import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { REFUNDS, VIEW } from './view.ts';

/** Adds `refund get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('get').description('Show one refund.').argument('<refundNo>');
  examples(
    command,
    'payctl refund get R20261121060100D4N8ZR3VHC',
    'payctl refund get R20261121060100D4N8ZR3VHC --fields status',
  ).action((refundNo: string) => run(context(), refundNo));
}

/** Prints one refund. */
export async function run({ api, print }: Context, refundNo: string): Promise<void> {
  await print.item(await api.get(`${REFUNDS}/${segment(refundNo)}`), VIEW);
}
