import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples, integer } from '../../options.ts';
import { channelFlag, simulatorApi, simulatorFlag } from './control.ts';
import type { PayerFlags } from './payer.ts';

/** The flags of `simulator notify`. */
export interface NotifyFlags extends PayerFlags {
  times?: number;
  kind?: string;
}

/** Adds `simulator notify`. */
export function define(noun: Command, context: ContextOf): void {
  const command = channelFlag(
    simulatorFlag(
      noun.command('notify').description('Resend the last notification of an order.').argument('<orderNo>'),
    ),
  );
  command
    .option('--times <n>', 'how many times, sent concurrently', integer(1, 1000))
    .option('--kind <kind>', 'kind of notification, e.g. refund');
  examples(
    command,
    'payctl simulator notify P202611210558007K2MQX9WBT',
    'payctl simulator notify P202611210558007K2MQX9WBT --times 50',
  ).action((orderNo: string, flags: NotifyFlags) => run(context(), orderNo, flags));
}

/** Sends the notice again. */
export async function run(
  context: Context,
  orderNo: string,
  { times, kind, payWay, ...flags }: NotifyFlags,
): Promise<void> {
  const body = { orderNo, ...(times ? { times } : {}), ...(kind ? { kind } : {}), ...(payWay ? { payWay } : {}) };
  const { sent } = await simulatorApi(context, flags).data({
    method: 'POST',
    path: '/sim/notify',
    body,
    anonymous: true,
  });
  await context.print.item(
    { orderNo, sent },
    { noun: 'notice', id: 'orderNo', columns: [{ field: 'orderNo' }, { field: 'sent' }] },
  );
}
