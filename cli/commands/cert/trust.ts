import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag, segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { plain } from '../../values.ts';
import { findCert } from './list.ts';
import { CERTS, CERT_ID, VIEW } from './view.ts';

/** The flags of `cert trust` and `cert distrust`. */
export interface TrustFlags extends ChangeFlags {
  project?: string;
}

/** Adds `cert trust`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('trust')
      .description(
        "Trust a certificate or key to verify the messages of its channel. Compare its fingerprint with the channel's console first: whoever has the private key can say that orders are paid.",
      )
      .argument('<id>'),
  );
  examples(changes(command), `payctl cert trust ${CERT_ID}`, `payctl cert trust ${CERT_ID} -y`).action(
    (id: string, flags: TrustFlags) => run(context(), id, flags, 'trust'),
  );
}

/** Shows what is to be trusted, or trusted no more, and changes it once that is confirmed. */
export async function run(context: Context, id: string, flags: TrustFlags, verb: 'trust' | 'distrust'): Promise<void> {
  const found = await findCert(context, id, flags);
  const fingerprint = plain(found['fingerprint']);
  await context.print.note(
    [
      plain(found['kind']),
      plain(found['subject']),
      `uploaded by ${plain(found['createdBy'])}`,
      `SHA-256 ${fingerprint}`,
    ]
      .filter((part) => part !== '')
      .join('  '),
  );
  const row = await context.change(
    {
      what: `${verb} the ${plain(found['kind'])} with the fingerprint ${fingerprint}`,
      name: id,
      risk: 'moderate',
      method: 'POST',
      path: `${CERTS}/${segment(id)}/${verb}`,
    },
    flags,
  );
  if (row) await context.print.item(row, VIEW);
}
