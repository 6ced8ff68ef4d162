import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { Change, ChangeFlags } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { DELIVERY, EVENTS, EVENT_ID } from './view.ts';

/** Adds `event resend`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resend')
    .description("Redeliver an event to the application's webhook, with the same event id.")
    .argument('<id>');
  examples(changes(command), `payctl event resend ${EVENT_ID}`, `payctl event resend ${EVENT_ID} --json`).action(
    (id: string, flags: ChangeFlags) => run(context(), id, flags),
  );
}

/** Queues the delivery. */
export async function run(context: Context, id: string, flags: ChangeFlags): Promise<void> {
  const row = await resendEvent(context, id, flags, { what: `resend event ${id}`, name: id });
  if (!row) return;
  await context.print.item(row, DELIVERY);
  await context.print.done(`Event ${id} is queued for redelivery.`);
}

/** Queues the delivery of one event, and gives it; undefined after --dry-run. */
export function resendEvent(
  { change }: Context,
  id: string,
  flags: ChangeFlags,
  asked: Pick<Change, 'what' | 'name' | 'risk' | 'isPart'>,
): Promise<Row | undefined> {
  return change({ ...asked, method: 'POST', path: `${EVENTS}/${segment(id)}/resend` }, flags);
}
