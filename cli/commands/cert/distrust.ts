import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import { run, type TrustFlags } from './trust.ts';
import { CERT_ID } from './view.ts';

/** Adds `cert distrust`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('distrust')
      .description(
        'Verify nothing with a certificate or key from now on, on every instance. Always possible, also while orders are in flight.',
      )
      .argument('<id>'),
  );
  examples(changes(command), `payctl cert distrust ${CERT_ID}`, `payctl cert distrust ${CERT_ID} -y`).action(
    (id: string, flags: TrustFlags) => run(context(), id, flags, 'distrust'),
  );
}
