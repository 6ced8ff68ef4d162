import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { amount, choice, examples, given } from '../../options.ts';
import type { Row } from '../../values.ts';
import { channelFlag, simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';

/** What can happen to a disputed payment. */
export const ACTS = ['open', 'escalate', 'ask', 'review', 'lose', 'win', 'cancel', 'appeal'] as const;

/** The flags of `simulator dispute`. */
export type DisputeFlags = Row & SimulatorFlags;

const VIEW = {
  noun: 'dispute',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'stage' },
    { field: 'minor' },
    { field: 'outcome' },
    { field: 'reason' },
  ],
} as const;

/** Adds `simulator dispute`. */
export function define(noun: Command, context: ContextOf): void {
  const command = channelFlag(
    simulatorFlag(
      noun
        .command('dispute')
        .description('Dispute a payment as the payer, or decide the dispute as the channel. Takes the order number.')
        .argument('<orderNo>'),
    ),
  );
  command
    .addOption(choice('--act <act>', 'what happens; the default is open', ACTS))
    .option('--amount <amount>', 'disputed amount, in major units; all if omitted', amount)
    .option('--reason <reason>', 'reason in the word of the channel')
    .addOption(choice('--refund <how>', 'how a loss shows at the channel', ['told', 'untold', 'payout']));
  examples(
    command,
    'payctl simulator dispute P202611210558007K2MQX9WBT',
    'payctl simulator dispute P202611210558007K2MQX9WBT --act escalate',
    'payctl simulator dispute P202611210558007K2MQX9WBT --act lose --json',
  ).action((orderNo: string, flags: DisputeFlags) => run(context(), orderNo, flags));
}

/** Does it at the simulator. */
export async function run(context: Context, orderNo: string, flags: DisputeFlags): Promise<void> {
  const body = { orderNo, act: 'open', ...given(flags, ['act', 'amount', 'reason', 'refund', 'payWay']) };
  await context.print.item(
    await simulatorApi(context, flags).data({ method: 'POST', path: '/sim/dispute', body, anonymous: true }),
    VIEW,
  );
}
