import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { choice, examples, given } from '../../options.ts';
import type { Row } from '../../values.ts';
import { simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';

/** The flags of `simulator ledger`. */
export type LedgerFlags = Row & SimulatorFlags & { sums?: boolean };

const ENTRY = {
  noun: 'entry',
  id: 'number',
  columns: [
    { field: 'at', kind: 'time' },
    { field: 'type' },
    { field: 'orderNo', kind: 'id' },
    { field: 'minor' },
    { field: 'payWay', kind: 'id' },
    { field: 'number' },
  ],
} as const;
const SUMS = {
  noun: 'order',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'amount' },
    { field: 'paid' },
    { field: 'refunded' },
    { field: 'currency', kind: 'id' },
  ],
} as const;

/** Adds `simulator ledger`. */
export function define(noun: Command, context: ContextOf): void {
  const command = simulatorFlag(
    noun
      .command('ledger')
      .description('Show the ledger of the simulated channels: every order, payment and refund, in minor units.'),
  );
  command
    .addOption(choice('--pay-way <channel>', 'filter by channel', ['alipay', 'wechat', 'paypal']))
    .option('--order-no <no>', 'filter by order')
    .option('--sums', 'one row per order');
  examples(
    command,
    'payctl simulator ledger',
    'payctl simulator ledger --sums --json',
    'payctl simulator ledger --order-no P202611210558007K2MQX9WBT',
  ).action((flags: LedgerFlags) => run(context(), flags));
}

/** Prints the entries, or the sums by order. */
export async function run(context: Context, flags: LedgerFlags): Promise<void> {
  const query = given(flags, ['payWay', 'orderNo']) as Query;
  const { entries, orders } = (await simulatorApi(context, flags).get('/sim/ledger', query)) as {
    entries?: Row[];
    orders?: unknown;
  };
  if (!flags.sums) return context.print.list(entries ?? [], ENTRY);
  await context.print.list(Object.values(orders ?? {}) as Row[], SUMS);
}
