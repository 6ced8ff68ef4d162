import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { DISPUTE_NO, DISPUTES, VIEW } from './view.ts';

/** Adds `dispute get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun.command('get').description('Show one dispute.').argument('<disputeNo>');
  examples(
    command,
    `payctl dispute get ${DISPUTE_NO}`,
    `payctl dispute get ${DISPUTE_NO} --fields status,dueAt`,
  ).action((disputeNo: string) => run(context(), disputeNo));
}

/** Prints one dispute. */
export async function run({ api, print }: Context, disputeNo: string): Promise<void> {
  await print.item(await api.get(`${DISPUTES}/${segment(disputeNo)}`), VIEW);
}
