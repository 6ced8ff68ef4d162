import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { CERTS, CERT_ID, VIEW } from './view.ts';

/** Adds `cert delete`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('delete')
    .description(
      'Delete a certificate or key. What signs must be neither the default nor in use; what verifies can always be deleted.',
    )
    .argument('<id>');
  examples(
    changes(command),
    `payctl cert delete ${CERT_ID}`,
    `payctl cert delete ${CERT_ID} --confirm ${CERT_ID}`,
  ).action((id: string, flags: ChangeFlags) => run(context(), id, flags));
}

/** Deletes a certificate. */
export async function run({ change, print }: Context, id: string, flags: ChangeFlags): Promise<void> {
  const answer = await change(
    {
      what: `delete certificate ${id}`,
      name: id,
      risk: 'severe',
      method: 'POST',
      path: `${CERTS}/${segment(id)}/delete`,
    },
    flags,
  );
  if (!answer) return;
  if (print.json) await print.item({ id, deleted: true }, VIEW);
  await print.done(`Deleted certificate ${id}.`);
}
