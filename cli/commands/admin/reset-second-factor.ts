import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { actor, offlineFlags, prepareDatabase, withOffline, type OfflineFlags } from '../../offline.ts';
import { changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { confirmChange, type ChangeFlags } from '../../safety.ts';
import { admin, adminId } from './resource.ts';

/** The flags of `admin reset-second-factor`. */
export type ResetFlags = ChangeFlags & OfflineFlags & { offline?: boolean };

/** Adds `admin reset-second-factor`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('reset-second-factor')
    .description(
      'Remove the second factor of an administrator who lost it, and end all sessions of the account. Your own: payctl second-factor remove.',
    )
    .argument('<username>');
  command.option('--offline', 'change the database directly, for when nobody can log in');
  examples(
    changes(offlineFlags(command)),
    'payctl admin reset-second-factor bob',
    'payctl admin reset-second-factor alice --offline -y',
  ).action((name: string, flags: ResetFlags) => run(context(), name, flags));
}

/** Removes it, over the API or in the database. */
export async function run(context: Context, username: string, flags: ResetFlags): Promise<void> {
  const { print } = context;
  const row = flags.offline ? await offlineRow(context, username, flags) : await onlineRow(context, username, flags);
  if (!row) return;
  await print.item({ username, ...row }, admin.view);
  await print.done(`The second factor of ${username} was removed.`);
}

async function onlineRow({ api, change }: Context, username: string, flags: ResetFlags): Promise<object | undefined> {
  const path = `${admin.path}/${segment(await adminId(api, username))}/reset-second-factor`;
  return change({ ...changeOf(username), method: 'POST', path }, flags);
}

async function offlineRow(context: Context, username: string, flags: ResetFlags): Promise<object | undefined> {
  return withOffline(context, flags, async (offline) => {
    const database = await prepareDatabase(context, offline, flags);
    if (flags.dryRun) {
      await context.print.item({ dryRun: true, username }, admin.view);
      return undefined;
    }
    await confirmChange(context.prompts, changeOf(username), flags, database.place);
    const row = await offline.resetSecondFactor({ username, actor: actor() });
    context.known.done = changeOf(username).what;
    return row;
  });
}

function changeOf(username: string) {
  return { what: `remove the second factor of ${username}`, name: username, risk: 'moderate' as const };
}
