import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, choice, examples } from '../../options.ts';
import { complete, segment, type Field } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { tellWaiting } from '../approval/view.ts';
import { EXCEPTIONS, EXCEPTION_ID, VIEW } from './view.ts';

/** How an exception can be resolved. */
export const ACTIONS = ['acknowledge', 'refund', 'accept', 'close', 'retry'] as const;

/** The flags of `exception resolve`. */
export interface ResolveFlags extends ChangeFlags {
  action?: string;
  reason?: string;
}

const FIELDS: readonly Field[] = [
  { name: 'action', value: 'action', help: 'resolution', choices: ACTIONS, required: true },
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** Adds `exception resolve`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resolve')
    .description(
      'Resolve an exception: acknowledge it, refund a second payment, refund or accept an amount mismatch, close an overdue order, or retry an action that failed.',
    )
    .argument('<id>');
  command
    .addOption(choice('--action <action>', 'resolution', ACTIONS))
    .option('--reason <text>', 'reason, recorded with your name');
  examples(
    changes(command),
    `payctl exception resolve ${EXCEPTION_ID} --action acknowledge --reason "agreed with the merchant"`,
    `payctl exception resolve ${EXCEPTION_ID} --action refund --reason "paid twice" --confirm ${EXCEPTION_ID}`,
  ).action((id: string, flags: ResolveFlags) => run(context(), id, flags));
}

/** Resolves an exception; always confirmed with its id, because money may move. */
export async function run(context: Context, id: string, flags: ResolveFlags): Promise<void> {
  const { action, reason } = flags;
  const body = await complete(context, FIELDS, { ...(action ? { action } : {}), ...(reason ? { reason } : {}) });
  const row = await context.change(
    {
      what: `resolve exception ${id} (${String(body['action'])})`,
      name: id,
      risk: 'severe',
      method: 'POST',
      path: `${EXCEPTIONS}/${segment(id)}/resolve`,
      body,
    },
    flags,
  );
  if (!row) return;
  if (row['askedBy'] !== undefined) return tellWaiting(context, row);
  await context.print.item(row, VIEW);
  if (row['state'] === 'open') await context.print.done(`Exception ${id} is still open: the action failed again.`);
  else await context.print.done(`Resolved exception ${id}.`);
}
