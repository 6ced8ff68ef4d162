import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, choice, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { REFUNDS, VIEW } from './view.ts';

/** How a refund that needs a person can be resolved. */
export const ACTIONS = ['paid_elsewhere', 'release', 'failed_at_channel'] as const;

/** The flags of `refund resolve`. */
export interface ResolveFlags extends ChangeFlags {
  action?: string;
  reason?: string;
}

const FIELDS: readonly Field[] = [
  { name: 'action', value: 'action', help: 'resolution', choices: ACTIONS, required: true },
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** Adds `refund resolve`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resolve')
    .description(
      'Resolve an abnormal or overdue refund manually: it was paid by other means, or its amount is free again.',
    )
    .argument('<refundNo>');
  command
    .addOption(choice('--action <action>', 'resolution', ACTIONS))
    .option('--reason <text>', 'reason, recorded with your name');
  examples(
    changes(command),
    'payctl refund resolve R20261121060100D4N8ZR3VHC --action paid_elsewhere --reason "bank transfer 4711"',
    'payctl refund resolve R20261121060100D4N8ZR3VHC --action release --reason "payer agreed" --confirm R20261121060100D4N8ZR3VHC',
  ).action((refundNo: string, flags: ResolveFlags) => run(context(), refundNo, flags));
}

/** Resolves a refund; always confirmed with its number, because balances change. */
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
