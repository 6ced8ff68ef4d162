import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { app } from './resource.ts';

/** Adds `app revoke-tokens`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('revoke-tokens')
    .description('Revoke all access tokens of an application. Its secret stays valid.')
    .argument('<client_id>');
  examples(
    changes(command),
    'payctl app revoke-tokens app_7Kd2mQxW9bTzR4vLp1Ns',
    'payctl app revoke-tokens app_7Kd2mQxW9bTzR4vLp1Ns -y --json',
  ).action((id: string, flags: ChangeFlags) => run(context(), id, flags));
}

/** Ends the tokens. */
export async function run({ change, print }: Context, id: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `revoke all tokens of app ${id}`,
      name: id,
      risk: 'moderate',
      method: 'POST',
      path: `${app.path}/${segment(id)}/revoke-tokens`,
    },
    flags,
  );
  if (!row) return;
  await print.item({ client_id: id, ...row }, app.view);
  await print.done(`All tokens of ${id} have been revoked.`);
}
