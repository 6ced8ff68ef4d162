import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
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
export async function run({ change, print }: Context, id: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    { what: `resend event ${id}`, name: id, method: 'POST', path: `${EVENTS}/${segment(id)}/resend` },
    flags,
  );
  if (!row) return;
  await print.item(row, DELIVERY);
  await print.done(`Event ${id} is queued for redelivery.`);
}
