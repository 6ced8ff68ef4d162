import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { examples } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import { findCerts } from './list.ts';
import { CERT_ID, VIEW } from './view.ts';

/** Adds `cert get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(noun.command('get').description('Show one certificate.').argument('<id>'));
  examples(command, `payctl cert get ${CERT_ID}`, `payctl cert get ${CERT_ID} --json`).action(
    (id: string, flags: { project?: string }) => run(context(), id, flags),
  );
}

/** Prints one certificate. */
export async function run(context: Context, id: string, flags: { project?: string }): Promise<void> {
  const row = (await findCerts(context, flags)).find((cert) => cert['id'] === id);
  if (!row)
    throw new CliError('not_found', EXIT.notFound, `Certificate ${id} not found.`, { hint: 'payctl cert list' });
  await context.print.item(row, VIEW);
}
