import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { actor, offlineFlags, prepareDatabase, withOffline, type OfflineFlags } from '../../offline.ts';
import { changes, examples, OWN_PASSWORD, passwordFlags } from '../../options.ts';
import { segment } from '../../resource.ts';
import { confirmChange, type ChangeFlags } from '../../safety.ts';
import { takePassword, type PasswordFlags } from '../../secrets.ts';
import { admin, adminId } from './resource.ts';

/** The flags of `admin reset-password`. */
export type ResetFlags = ChangeFlags & PasswordFlags & OfflineFlags & { offline?: boolean };

/** Adds `admin reset-password`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('reset-password')
    .description('Set a new password for an administrator and end all sessions of the account.')
    .argument('<username>');
  command.option('--offline', 'change the database directly, for when nobody can log in');
  passwordFlags(offlineFlags(command));
  examples(
    changes(command),
    'payctl admin reset-password bob',
    'payctl admin reset-password alice --offline --password-file alice.password -y',
  ).action((name: string, flags: ResetFlags) => run(context(), name, flags));
}

/** Sets a new password, over the API or in the database. */
export async function run(context: Context, username: string, flags: ResetFlags): Promise<void> {
  return flags.offline ? runOffline(context, username, flags) : runOnline(context, username, flags);
}

async function runOnline(context: Context, username: string, flags: ResetFlags): Promise<void> {
  const id = await adminId(context.api, username);
  const password = await newPassword(context, username, flags);
  const row = await context.change(
    { ...changeOf(username), method: 'PUT', path: `${admin.path}/${segment(id)}`, body: { password } },
    // Its password file holds the new password.
    { ...flags, passwordFile: undefined, proofFlag: OWN_PASSWORD },
  );
  if (!row) return;
  await context.print.item({ username, ...row }, admin.view);
  await context.print.done(`The password of ${username} was reset.`);
}

async function runOffline(context: Context, username: string, flags: ResetFlags): Promise<void> {
  const password = await newPassword(context, username, flags);
  await withOffline(context, flags, async (offline) => {
    const database = await prepareDatabase(context, offline, flags);
    if (flags.dryRun) return context.print.item({ dryRun: true, username, password: '***' }, admin.view);
    await confirmChange(context.prompts, changeOf(username), flags, database.place);
    const row = await offline.resetPassword({ username, password, actor: actor() });
    context.known.done = changeOf(username).what;
    await context.print.item({ ...row }, admin.view);
    await context.print.done(`The password of ${username} was reset.`);
  });
}

function changeOf(username: string) {
  return { what: `reset the password of ${username}`, name: username, risk: 'moderate' as const };
}

function newPassword({ terminal, prompts }: Context, username: string, flags: ResetFlags): Promise<string> {
  return takePassword(terminal, prompts, flags, { message: `New password for ${username}`, isNew: true });
}
