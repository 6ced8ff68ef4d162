import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { ContextOf } from '../index.ts';
import { DELIVERY, EVENTS } from './view.ts';

/** Adds `event resend`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resend')
    .description("Deliver an event to the application's webhook again, with the same id.")
    .argument('<id>');
  examples(changes(command), 'payctl event resend evt_1', 'payctl event resend evt_1 --json').action(
    (id: string, flags: ChangeFlags) => run(context(), id, flags),
  );
}

/** Queues the delivery. */
export async function run({ change, print }: Context, id: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    { what: `send event ${id} again`, name: id, method: 'POST', path: `${EVENTS}/${segment(id)}/resend` },
    flags,
  );
  if (!row) return;
  await print.item(row, DELIVERY);
  await print.done(`Event ${id} is on its way again.`);
}
