import { InvalidArgumentError, type Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { choice, examples, given, integer } from '../../options.ts';
import type { Row } from '../../values.ts';
import { simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';

/** The flags of `simulator faults`. */
export type FaultFlags = Row & SimulatorFlags & { fault?: string; payWay?: string; clear?: boolean };

const VIEW = {
  noun: 'fault',
  id: 'id',
  columns: [
    { field: 'fault', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'call', kind: 'id' },
    { field: 'times' },
    { field: 'probability' },
    { field: 'hits' },
    { field: 'id', kind: 'id' },
  ],
} as const;

/** Adds `simulator faults`. */
export function define(noun: Command, context: ContextOf): void {
  const command = simulatorFlag(
    noun
      .command('faults')
      .description('List the injected faults, inject one with --fault, or remove all with --clear.'),
  );
  command
    .option('--fault <name>', 'fault to inject, e.g. commit-then-timeout')
    .addOption(choice('--pay-way <channel>', 'channel', ['alipay', 'wechat', 'paypal']))
    .option('--call <call>', 'call that fails: create, query, close, capture, refund, notice …')
    .option('--times <n>', 'number of calls that fail', integer(1, 1_000_000))
    .option('--probability <p>', 'probability from 0 to 1', probability)
    .option('--order-no <no>', 'only for this order')
    .option('--clear', 'remove all faults');
  examples(
    command,
    'payctl simulator faults',
    'payctl simulator faults --pay-way alipay --call create --fault commit-then-timeout --times 1',
    'payctl simulator faults --clear',
  ).action((flags: FaultFlags) => run(context(), flags));
}

function probability(text: string): number {
  const value = Number(text);
  if (text === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('Expected a number from 0 to 1.');
  return value;
}

/** Lists, sets or clears faults. */
export async function run(context: Context, flags: FaultFlags): Promise<void> {
  const api = simulatorApi(context, flags);
  if (flags.clear) {
    await api.data({
      method: 'DELETE',
      path: '/sim/faults',
      headers: { 'content-type': 'application/json' },
      anonymous: true,
    });
    return context.print.done('All faults removed.');
  }
  if (flags.fault === undefined)
    return context.print.list(((await api.get('/sim/faults'))['faults'] ?? []) as Row[], VIEW);
  if (flags.payWay === undefined) throw new UsageError('--fault requires --pay-way.', 'add --pay-way alipay');
  const body = given(flags, ['fault', 'payWay', 'call', 'times', 'probability', 'orderNo']);
  await context.print.item(await api.data({ method: 'POST', path: '/sim/faults', body, anonymous: true }), VIEW);
}
