import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changes, choice, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { ContextOf } from '../index.ts';
import { REFUNDS, VIEW } from './view.ts';

/** How a person may settle an abnormal refund. */
export const ACTIONS = ['paid_elsewhere', 'release'] as const;

/** The flags of `refund resolve`. */
export interface ResolveFlags extends ChangeFlags {
  action?: string;
  reason?: string;
}

const FIELDS: readonly Field[] = [
  { name: 'action', value: 'action', help: 'what happened', choices: ACTIONS, required: true },
  { name: 'reason', value: 'text', help: 'why; kept with your name', required: true },
];

/** Adds `refund resolve`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resolve')
    .description('Settle an abnormal refund by hand: the money was paid elsewhere, or it is released.')
    .argument('<refundNo>');
  command
    .addOption(choice('--action <action>', 'what happened', ACTIONS))
    .option('--reason <text>', 'why; kept with your name');
  examples(
    changes(command),
    'payctl refund resolve R202611210601ABCDEFGH12 --action paid_elsewhere --reason "bank transfer 4711"',
    'payctl refund resolve R202611210601ABCDEFGH12 --action release --reason "payer agreed" --confirm R202611210601ABCDEFGH12',
  ).action((refundNo: string, flags: ResolveFlags) => run(context(), refundNo, flags));
}

/** Settles a refund by hand; always wants its number, because books are changed. */
export async function run(context: Context, refundNo: string, flags: ResolveFlags): Promise<void> {
  const { action, reason } = flags;
  const body = await complete(context, FIELDS, { ...(action ? { action } : {}), ...(reason ? { reason } : {}) });
  const row = await context.change(
    {
      what: `resolve refund ${refundNo} as ${String(body['action'])}`,
      name: refundNo,
      risk: 'severe',
      method: 'POST',
      path: `${REFUNDS}/${segment(refundNo)}/resolve`,
      body,
    },
    flags,
  );
  if (row) await context.print.item(row, VIEW);
}
