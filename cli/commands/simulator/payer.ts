import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { channelFlag, simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';
import { TRADE, readTrade, shownTrade } from './trade.ts';

/** What a payer can do, with its words in help. */
export const ACTS = {
  scan: 'Scan the QR code, without paying yet.',
  pay: 'Pay.',
  approve: 'Approve the order at PayPal; the service captures it.',
  decline: 'Decline the payment.',
  expire: 'Let the order expire at the channel.',
} as const;
/** One of them. */
export type Act = keyof typeof ACTS;

/** The flags of the payer's verbs. */
export interface PayerFlags extends SimulatorFlags {
  payWay?: string;
}

/** Adds `scan`, `pay`, `approve`, `decline` and `expire`. */
export function define(noun: Command, context: ContextOf): void {
  for (const act of Object.keys(ACTS) as Act[]) {
    const command = channelFlag(
      simulatorFlag(
        noun.command(act).description(`${ACTS[act]} Takes the order number of the service.`).argument('<orderNo>'),
      ),
    );
    examples(
      command,
      `payctl simulator ${act} P202611210558007K2MQX9WBT`,
      `payctl simulator ${act} P202611210558007K2MQX9WBT --json`,
    ).action((orderNo: string, flags: PayerFlags) => run(context(), act, orderNo, flags));
  }
}

/** Does what the payer does, at the simulator. */
export async function run(context: Context, act: Act, orderNo: string, flags: PayerFlags): Promise<void> {
  const body = { orderNo, ...(flags.payWay ? { payWay: flags.payWay } : {}) };
  const request = { method: 'POST', path: `/sim/${act}`, body, anonymous: true } as const;
  const trade = readTrade(await simulatorApi(context, flags).data(request));
  const { print } = context;
  await print.item(print.format === 'table' && !print.fields ? shownTrade(trade) : trade, TRADE);
}
