import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, codeFlags, examples, passwordFlags } from '../../options.ts';
import type { ChangeFlags } from '../../safety.ts';
import { askCode, givenCode, type CodeFlags } from '../../second-factor.ts';
import { takePassword, type PasswordFlags } from '../../secrets.ts';
import { SECOND_FACTOR, VIEW } from './view.ts';

/** The flags of `second-factor remove`. */
export type RemoveFlags = ChangeFlags & PasswordFlags & CodeFlags;

/** Adds `second-factor remove`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('remove')
    .description('Remove your second factor. Needs your password and a code, which may be a recovery code.');
  examples(
    changes(codeFlags(passwordFlags(command))),
    'payctl second-factor remove',
    'payctl second-factor remove --password-file alice.password --code-secret-file alice.totp -y',
  ).action((flags: RemoveFlags) => run(context(), flags));
}

/** Removes it; password and code go with the request. */
export async function run(context: Context, flags: RemoveFlags): Promise<void> {
  const { change, print, prompts, terminal } = context;
  const password = await takePassword(terminal, prompts, flags, { message: 'Your own password', isNew: false });
  const code = (await givenCode(terminal, flags)) ?? (await askCode(prompts));
  const path = `${SECOND_FACTOR}/remove`;
  const request = { what: 'remove your second factor', risk: 'moderate' as const, method: 'POST' as const, path };
  const done = await change({ ...request, body: { password, code } }, flags);
  if (!done) return;
  if (print.json) await print.item({ enabled: false }, VIEW);
  await print.done('Your second factor was removed.');
}
