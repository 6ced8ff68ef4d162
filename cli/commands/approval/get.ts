import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { APPROVALS, REFUND_NO, VIEW } from './view.ts';

/** Adds `approval get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('get')
    .description('Show one approval, by the number of its refund or dispute, or the id of its exception.')
    .argument('<refundNo>');
  examples(command, `payctl approval get ${REFUND_NO}`, `payctl approval get ${REFUND_NO} --json`).action(
    (refundNo: string) => run(context(), refundNo),
  );
}

/** Prints one approval. */
export async function run({ api, print }: Context, refundNo: string): Promise<void> {
  await print.item(await api.get(`${APPROVALS}/${segment(refundNo)}`), VIEW);
}
