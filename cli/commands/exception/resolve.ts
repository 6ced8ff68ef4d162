import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changes, choice, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { ContextOf } from '../index.ts';
import { EXCEPTIONS, VIEW } from './view.ts';

/** What a person may decide. */
export const ACTIONS = ['acknowledge', 'refund', 'accept'] as const;

/** The flags of `exception resolve`. */
export interface ResolveFlags extends ChangeFlags {
  action?: string;
  reason?: string;
}

const FIELDS: readonly Field[] = [
  { name: 'action', value: 'action', help: 'what to do', choices: ACTIONS, required: true },
  { name: 'reason', value: 'text', help: 'why; kept with your name', required: true },
];

/** Adds `exception resolve`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resolve')
    .description('Decide an exception: acknowledge it, or for a wrong amount refund or accept the money.')
    .argument('<id>');
  command
    .addOption(choice('--action <action>', 'what to do', ACTIONS))
    .option('--reason <text>', 'why; kept with your name');
  examples(
    changes(command),
    'payctl exception resolve 42 --action acknowledge --reason "agreed with the merchant"',
    'payctl exception resolve 42 --action refund --reason "paid twice" --confirm 42',
  ).action((id: string, flags: ResolveFlags) => run(context(), id, flags));
}

/** Decides an exception; always wants its id, because money may move. */
export async function run(context: Context, id: string, flags: ResolveFlags): Promise<void> {
  const { action, reason } = flags;
  const body = await complete(context, FIELDS, { ...(action ? { action } : {}), ...(reason ? { reason } : {}) });
  const row = await context.change(
    {
      what: `resolve exception ${id} by ${String(body['action'])}`,
      name: id,
      risk: 'severe',
      method: 'POST',
      path: `${EXCEPTIONS}/${segment(id)}/resolve`,
      body,
    },
    flags,
  );
  if (!row) return;
  await context.print.item(row, VIEW);
  await context.print.done(`Resolved exception ${id}.`);
}
