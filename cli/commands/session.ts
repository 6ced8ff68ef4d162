import type { Command } from 'commander';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { changes, examples, paged } from '../options.ts';
import { type ListFlags, printList, segment } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import type { View } from '../values.ts';
import { admin, adminId } from './admin-resource.ts';

interface WhoseFlags {
  admin?: string;
}

async function sessionsOf({ api }: Pick<Context, 'api'>, { admin: name }: WhoseFlags): Promise<string> {
  if (name === undefined) return '/api/v1/me/sessions';
  return `${admin.path}/${segment(await adminId(api, name))}/sessions`;
}

const VIEW: View = {
  noun: 'session',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'current', kind: 'yesno' },
    { field: 'secondFactor', title: '2FA', kind: 'yesno' },
    { field: 'lastUsedAt', kind: 'time' },
    { field: 'ip', kind: 'id' },
    { field: 'userAgent' },
    { field: 'createdAt', kind: 'time' },
    { field: 'expiresAt', kind: 'time' },
  ],
};

function defineList(noun: Command, context: ContextOf): void {
  const command = noun
    .command('list')
    .description('List your sessions, or the sessions of another administrator, newest first.')
    .option('--admin <username>', 'sessions of this administrator');
  examples(
    paged(command),
    'payctl session list',
    'payctl session list --json',
    'payctl session list --admin bob',
  ).action((options: ListFlags & WhoseFlags) => runList(context(), options));
}

async function runList(context: Context, options: ListFlags & WhoseFlags): Promise<void> {
  return printList(context, await sessionsOf(context, options), {}, VIEW, options);
}

type EndFlags = ChangeFlags & WhoseFlags & { all?: boolean };

function defineEnd(noun: Command, context: ContextOf): void {
  const command = noun
    .command('end')
    .description(
      'End one of your sessions, or one or all of another administrator. To end all of your own: payctl logout --everywhere.',
    )
    .argument('[id]')
    .option('--admin <username>', 'a session of this administrator')
    .option('--all', 'all sessions of that administrator');
  examples(
    changes(command),
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44',
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44 -y',
    'payctl session end 3d0f6a52-51c3-4a8e-9f0e-6a1d7c2b9e44 --admin bob -y',
    'payctl session end --all --admin bob -y',
  ).action((id: string | undefined, flags: EndFlags) => runEnd(context(), id, flags));
}

async function runEnd(context: Context, id: string | undefined, flags: EndFlags): Promise<void> {
  const { change, print } = context;
  if (flags.all && flags.admin === undefined)
    throw new UsageError('--all requires --admin.', 'to end all of your own sessions: payctl logout --everywhere');
  if ((id === undefined) !== (flags.all === true))
    throw new UsageError('Give either the id of a session, or --all with --admin.', 'payctl session list');
  const sessions = await sessionsOf(context, flags);
  const which = id === undefined ? `all sessions of ${flags.admin}` : `session ${id}`;
  const path = id === undefined ? sessions : `${sessions}/${segment(id)}`;
  const name = id ?? String(flags.admin);
  const answer = await change({ what: `end ${which}`, name, risk: 'moderate', method: 'DELETE', path }, flags);
  if (!answer) return;
  if (print.json) await print.item({ id: id ?? null, ended: true }, VIEW);
  await print.done(`Ended ${which}.`);
}

/** Adds the subcommands of `payctl session`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List and end your own sessions, or the sessions of another administrator.');
  for (const addVerb of [defineList, defineEnd]) addVerb(noun, context);
}
