import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { changes, duration, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { Change, ChangeFlags } from '../../safety.ts';
import { openSecretSink } from '../../secrets.ts';
import type { ContextOf } from '../index.ts';
import { app } from './resource.ts';

/** The flags of `app rotate-secret`. */
export interface RotateFlags extends ChangeFlags {
  grace?: number;
  revokeTokens?: boolean;
  secretFile?: string;
}

/** Adds `app rotate-secret`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('rotate-secret')
    .description(
      'Make a new secret. Without --grace the old secret and all tokens die at once, and the client_id is asked for.',
    )
    .argument('<client_id>')
    .option('--grace <seconds>', 'how long the old secret still works (also 15m, 24h; at most 7d)', duration)
    .option('--revoke-tokens', 'end the live tokens too')
    .option('--secret-file <file>', 'write the secret into this new file');
  examples(
    changes(command),
    'payctl app rotate-secret app_7Kd2mQxW9bTzR4vLp1Ns --grace 24h --secret-file shop.secret',
    'payctl app rotate-secret app_7Kd2mQxW9bTzR4vLp1Ns --confirm app_7Kd2mQxW9bTzR4vLp1Ns -o json',
  ).action((id: string, flags: RotateFlags) => run(context(), id, flags));
}

/** Rotates the secret and delivers the new one. */
export async function run(context: Context, id: string, options: RotateFlags): Promise<void> {
  const { change, flags, print } = context;
  const { grace, revokeTokens } = options;
  const request: Change = {
    what: grace ? `rotate the secret of app ${id}` : `rotate the secret of app ${id} and end its tokens at once`,
    name: id,
    risk: grace ? 'moderate' : 'severe',
    method: 'POST',
    path: `${app.path}/${segment(id)}/rotate-secret`,
    body: {
      ...(grace === undefined ? {} : { graceSeconds: grace }),
      ...(revokeTokens === undefined ? {} : { revokeTokens }),
    },
  };
  if (options.dryRun) return void (await change(request, options));
  const sink = await openSecretSink({ ...context, quiet: flags.quiet === true }, options, 'client_secret');
  try {
    const row = await change(request, options);
    if (row) await sink.deliver({ client_id: id, ...row }, app.view);
  } finally {
    await sink.discard();
  }
  await print.done(grace ? `The old secret works for ${grace} s more.` : 'The old secret and its tokens are dead.');
}
