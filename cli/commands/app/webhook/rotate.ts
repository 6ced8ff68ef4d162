import type { Command } from 'commander';
import type { Context, ContextOf } from '../../../context.ts';
import { changes, duration, examples } from '../../../options.ts';
import { rotate } from '../../../rotation.ts';
import type { Change, ChangeFlags } from '../../../safety.ts';
import { durationText } from '../../../values.ts';
import { CLIENT_ID, VIEW, webhookOf } from './view.ts';

/** The flags of `app webhook rotate`. */
export interface RotateFlags extends ChangeFlags {
  grace?: number;
  secretFile?: string;
}

/** Adds `app webhook rotate`. */
export function define(webhook: Command, context: ContextOf): void {
  const command = webhook
    .command('rotate')
    .description(
      'Issue a new signing secret. With --grace, messages are signed with the old one, too, for as long; without it the old one ends now, and the client_id is typed to confirm.',
    )
    .argument('<client_id>')
    .option('--grace <duration>', 'how long the old secret signs, too, e.g. 15m or 24h; at most 7d', duration)
    .option('--secret-file <file>', 'write the secret to a new file');
  examples(
    changes(command),
    `payctl app webhook rotate ${CLIENT_ID} --grace 24h --secret-file hook.secret`,
    `payctl app webhook rotate ${CLIENT_ID} --confirm ${CLIENT_ID} -o json`,
  ).action((clientId: string, flags: RotateFlags) => run(context(), clientId, flags));
}

/** Rotates the secret and delivers the new one. */
export async function run(context: Context, clientId: string, options: RotateFlags): Promise<void> {
  const { print } = context;
  const { grace } = options;
  const lasts = grace ? `the old one signs, too, for ${durationText(grace)}` : 'the old one ends now';
  const request: Change = {
    what: `rotate the signing secret of app ${clientId} (${lasts})`,
    name: clientId,
    risk: grace ? 'moderate' : 'severe',
    method: 'POST',
    path: `${webhookOf(clientId)}/rotate-secret`,
    body: grace === undefined ? {} : { graceSeconds: grace },
  };
  const again = `payctl app webhook rotate ${clientId}`;
  if (!(await rotate(context, request, options, { field: 'secret', view: VIEW, again }))) return;
  await print.done(grace ? `The old secret signs, too, for ${durationText(grace)}.` : 'The old secret signs no more.');
}
