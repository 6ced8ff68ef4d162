import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import { findCert } from './list.ts';
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
  await context.print.item(await findCert(context, id, flags), VIEW);
}
