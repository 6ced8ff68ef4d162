import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, duration, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { rotate } from '../../rotation.ts';
import type { Change, ChangeFlags } from '../../safety.ts';
import { durationText, type View } from '../../values.ts';
import { app } from './resource.ts';

/** The flags of `app rotate-secret`. */
export interface RotateFlags extends ChangeFlags {
  grace?: number;
  revokeTokens?: boolean;
  secretFile?: string;
}

const VIEW: View = {
  ...app.view,
  columns: [
    { field: 'client_id', kind: 'id' },
    { field: 'previousSecretExpiresAt', kind: 'time' },
  ],
};

/** Adds `app rotate-secret`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('rotate-secret')
    .description(
      'Issue a new secret. Without --grace, the old secret and all tokens are revoked immediately; type the client_id to confirm.',
    )
    .argument('<client_id>')
    .option('--grace <duration>', 'how long the old secret stays valid, e.g. 15m or 24h; at most 7d', duration)
    .option('--revoke-tokens', 'revoke all live tokens now, even with --grace')
    .option('--secret-file <file>', 'write the secret to a new file');
  examples(
    changes(command),
    'payctl app rotate-secret app_7Kd2mQxW9bTzR4vLp1Ns --grace 24h --secret-file shop.secret',
    'payctl app rotate-secret app_7Kd2mQxW9bTzR4vLp1Ns --confirm app_7Kd2mQxW9bTzR4vLp1Ns -o json',
  ).action((id: string, flags: RotateFlags) => run(context(), id, flags));
}

/** Rotates the secret and delivers the new one. */
export async function run(context: Context, id: string, options: RotateFlags): Promise<void> {
  const { print } = context;
  const { grace, revokeTokens } = options;
  const request: Change = {
    what: `rotate the secret of app ${id} (${consequence(options)})`,
    name: id,
    risk: grace ? 'moderate' : 'severe',
    method: 'POST',
    path: `${app.path}/${segment(id)}/rotate-secret`,
    body: {
      ...(grace === undefined ? {} : { graceSeconds: grace }),
      ...(revokeTokens === undefined ? {} : { revokeTokens }),
    },
  };
  const again = `payctl app rotate-secret ${id}`;
  if (
    !(await rotate(context, request, options, { field: 'client_secret', view: VIEW, again, more: { client_id: id } }))
  )
    return;
  await print.done(
    grace
      ? `The old secret stays valid for ${durationText(grace)}.${revokeTokens ? ' All live tokens were revoked.' : ''}`
      : 'The old secret and all live tokens were revoked.',
  );
}

/** What becomes of the old secret and of the live tokens. */
function consequence({ grace, revokeTokens }: RotateFlags): string {
  if (!grace) return 'the old secret and all live tokens end now';
  return `the old secret stays valid for ${durationText(grace)}${revokeTokens ? ', all live tokens end now' : ''}`;
}
