import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { examples } from '../../options.ts';
import type { ContextOf } from '../index.ts';
import { TRADE, channelFlag, simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';

/** What a payer can do, with its words in help. */
export const ACTS = {
  scan: 'Scan the QR code, without paying yet.',
  pay: 'Pay.',
  approve: 'Approve at PayPal; the capture is left to the service.',
  decline: 'Decline the payment.',
  expire: 'Let the time for paying run out.',
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
        noun.command(act).description(`${ACTS[act]} The number is the orderNo of the service.`).argument('<orderNo>'),
      ),
    );
    examples(
      command,
      `payctl simulator ${act} P202611210558ABCDEFGH12`,
      `payctl simulator ${act} P202611210558ABCDEFGH12 --json`,
    ).action((orderNo: string, flags: PayerFlags) => run(context(), act, orderNo, flags));
  }
}

/** Does what the payer does, at the simulator. */
export async function run(context: Context, act: Act, orderNo: string, flags: PayerFlags): Promise<void> {
  const body = { orderNo, ...(flags.payWay ? { payWay: flags.payWay } : {}) };
  await context.print.item(
    await simulatorApi(context, flags).data({ method: 'POST', path: `/sim/${act}`, body, anonymous: true }),
    TRADE,
  );
}
