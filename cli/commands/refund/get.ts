import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ContextOf } from '../index.ts';
import { REFUNDS, VIEW } from './view.ts';

/** Adds `refund get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('get').description('Show one refund.').argument('<refundNo>');
  examples(
    command,
    'payctl refund get R202611210601ABCDEFGH12',
    'payctl refund get R202611210601ABCDEFGH12 --fields status',
  ).action((refundNo: string) => run(context(), refundNo));
}

/** Prints one refund. */
export async function run({ api, print }: Context, refundNo: string): Promise<void> {
  await print.item(await api.get(`${REFUNDS}/${segment(refundNo)}`), VIEW);
}
