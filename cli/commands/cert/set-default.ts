import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { CERTS, CERT_ID, VIEW } from './view.ts';

/** Adds `cert set-default`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('set-default')
    .description('Make a certificate or key the default of its kind, used to sign and verify from now on.')
    .argument('<id>');
  examples(changes(command), `payctl cert set-default ${CERT_ID}`, `payctl cert set-default ${CERT_ID} -y`).action(
    (id: string, flags: ChangeFlags) => run(context(), id, flags),
  );
}

/** Makes a certificate the default of its kind. */
export async function run({ change, print }: Context, id: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `make certificate ${id} the default of its kind`,
      name: id,
      risk: 'moderate',
      method: 'POST',
      path: `${CERTS}/${segment(id)}/default`,
    },
    flags,
  );
  if (row) await print.item(row, VIEW);
}
