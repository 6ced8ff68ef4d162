import type { Command } from 'commander';
import { addToggle } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type OfflineFlags, changeDatabase, offlineFlags } from '../offline.ts';
import { OWN_PASSWORD, changes, examples, list, passwordFlags } from '../options.ts';
import { addFields, addList, bodyOf, complete, segment } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { type PasswordFlags, takePassword } from '../secrets.ts';
import type { Row } from '../values.ts';
import { PROJECTS, ROLE, admin, adminId } from './admin-resource.ts';

type CreateFlags = Row & ChangeFlags & PasswordFlags;

function defineCreate(noun: Command, context: ContextOf): void {
  const command = noun
    .command('create')
    .description('Create a console account. The password is prompted for, or read from stdin or a file.');
  addFields(command, admin.fields);
  passwordFlags(command);
  examples(
    changes(command),
    'payctl admin create --username bob --role viewer',
    'payctl admin create --username bob --password-file bob.password',
    'payctl admin create --username bob --role operator --projects books,tea --password-file bob.password',
  ).action((options: CreateFlags) => runCreate(context(), options));
}

async function runCreate(context: Context, options: CreateFlags): Promise<void> {
  const { change, print, prompts, terminal } = context;
  const fields = await complete(context, admin.fields, bodyOf(options, admin.fields));
  const password = await takePassword(terminal, prompts, options, {
    message: `Password for ${String(fields['username'])}`,
    isNew: true,
  });
  const row = await change(
    {
      what: `create administrator ${String(fields['username'])}`,
      method: 'POST',
      path: admin.path,
      body: { ...fields, password },
    },
    // `--password-file` is for the new account. The operator's own password comes from `--own-password-file`.
    { ...options, passwordFile: undefined, passwordFlag: OWN_PASSWORD },
  );
  if (!row) return;
  await print.item(row, admin.view);
  await print.done(`Created administrator ${String(row['username'])}.`);
}

type UpdateFlags = Row & ChangeFlags & { clear?: readonly string[] };

const UPDATE_FIELDS = [ROLE, PROJECTS];

function defineUpdate(noun: Command, context: ContextOf): void {
  const command = noun
    .command('update')
    .description(
      'Change the role or the projects of an administrator. A change of the projects ends the sessions of the account.',
    )
    .argument('<username>');
  addFields(command, UPDATE_FIELDS);
  command.option('--clear <a,b>', 'clear these fields: projects', list);
  examples(
    changes(command),
    'payctl admin update bob --role operator -y',
    'payctl admin update bob --projects books,tea -y',
    'payctl admin update bob --clear projects -y',
  ).action((name: string, options: UpdateFlags) => runUpdate(context(), name, options));
}

async function runUpdate({ api, change, print }: Context, username: string, options: UpdateFlags): Promise<void> {
  const other = options.clear?.find((name) => name !== PROJECTS.name);
  if (other !== undefined) throw new UsageError(`Unknown field "${other}".`, 'fields: projects');
  const body = { ...bodyOf(options, UPDATE_FIELDS), ...(options.clear && { projects: null }) };
  if (Object.keys(body).length === 0) throw new UsageError('No changes were given.', 'payctl admin update --help');
  const path = `${admin.path}/${segment(await adminId(api, username))}`;
  const row = await change(
    {
      what: `update administrator ${username}`,
      name: username,
      risk: 'moderate',
      method: 'PUT',
      path,
      body,
      current: () => api.get(path),
    },
    options,
  );
  if (!row) return;
  await print.item(row, admin.view);
  await print.done(`Updated administrator ${username}.`);
}

type ResetPasswordFlags = ChangeFlags & PasswordFlags & OfflineFlags & { offline?: boolean };

function defineResetPassword(noun: Command, context: ContextOf): void {
  const command = noun
    .command('reset-password')
    .description('Set a new password for an administrator and end all sessions of the account.')
    .argument('<username>');
  command.option('--offline', 'change the database directly, if no administrator can log in');
  passwordFlags(offlineFlags(command));
  examples(
    changes(command),
    'payctl admin reset-password bob',
    'payctl admin reset-password alice --offline --password-file alice.password -y',
  ).action((name: string, flags: ResetPasswordFlags) => runResetPassword(context(), name, flags));
}

async function runResetPassword(context: Context, username: string, flags: ResetPasswordFlags): Promise<void> {
  return flags.offline ? resetPasswordOffline(context, username, flags) : resetPasswordOnline(context, username, flags);
}

async function resetPasswordOnline(context: Context, username: string, flags: ResetPasswordFlags): Promise<void> {
  const id = await adminId(context.api, username);
  const password = await newPassword(context, username, flags);
  const row = await context.change(
    {
      what: `reset the password of ${username}`,
      name: username,
      risk: 'moderate',
      method: 'PUT',
      path: `${admin.path}/${segment(id)}`,
      body: { password },
    },
    // `--password-file` is for the new password. The operator's own password comes from `--own-password-file`.
    { ...flags, passwordFile: undefined, passwordFlag: OWN_PASSWORD },
  );
  if (row) await printReset(context, username, { username, ...row });
}

async function resetPasswordOffline(context: Context, username: string, flags: ResetPasswordFlags): Promise<void> {
  const password = await newPassword(context, username, flags);
  const row = await changeDatabase(
    context,
    flags,
    { what: `reset the password of ${username}`, name: username },
    { row: () => ({ username, password: '***' }), view: admin.view },
    (offline, actor) => offline.resetPassword({ username, password, actor }),
  );
  if (row) await printReset(context, username, { ...row });
}

async function printReset({ print }: Context, username: string, row: Row): Promise<void> {
  await print.item(row, admin.view);
  await print.done(`The password of ${username} was reset.`);
}

function newPassword({ terminal, prompts }: Context, username: string, flags: ResetPasswordFlags): Promise<string> {
  return takePassword(terminal, prompts, flags, { message: `New password for ${username}`, isNew: true });
}

type ResetSecondFactorFlags = ChangeFlags & OfflineFlags & { offline?: boolean };

function defineResetSecondFactor(noun: Command, context: ContextOf): void {
  const command = noun
    .command('reset-second-factor')
    .description(
      'Remove a lost second factor of another administrator, and end all sessions of the account. For your own, use payctl second-factor remove.',
    )
    .argument('<username>');
  command.option('--offline', 'change the database directly, if no administrator can log in');
  examples(
    changes(offlineFlags(command)),
    'payctl admin reset-second-factor bob',
    'payctl admin reset-second-factor alice --offline -y',
  ).action((name: string, flags: ResetSecondFactorFlags) => runResetSecondFactor(context(), name, flags));
}

async function runResetSecondFactor(context: Context, username: string, flags: ResetSecondFactorFlags): Promise<void> {
  const { print } = context;
  const row = flags.offline
    ? await resetSecondFactorOffline(context, username, flags)
    : await resetSecondFactorOnline(context, username, flags);
  if (!row) return;
  await print.item({ username, ...row }, admin.view);
  await print.done(`The second factor of ${username} was removed.`);
}

async function resetSecondFactorOnline(
  { api, change }: Context,
  username: string,
  flags: ResetSecondFactorFlags,
): Promise<object | undefined> {
  const path = `${admin.path}/${segment(await adminId(api, username))}/reset-second-factor`;
  const what = `remove the second factor of ${username}`;
  return change({ what, name: username, risk: 'moderate', method: 'POST', path }, flags);
}

async function resetSecondFactorOffline(
  context: Context,
  username: string,
  flags: ResetSecondFactorFlags,
): Promise<object | undefined> {
  return changeDatabase(
    context,
    flags,
    { what: `remove the second factor of ${username}`, name: username },
    { row: () => ({ username }), view: admin.view },
    (offline, actor) => offline.resetSecondFactor({ username, actor }),
  );
}

/** Adds the subcommands of `payctl admin`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage console accounts. To create the first one, use payctl bootstrap admin.');
  addList(noun, context, admin, ['payctl admin list', 'payctl admin list --json']);
  defineCreate(noun, context);
  defineUpdate(noun, context);
  addToggle(
    noun,
    context,
    admin,
    {
      enable: ['payctl admin enable bob', 'payctl admin enable bob -y'],
      disable: ['payctl admin disable bob', 'payctl admin disable bob -y'],
    },
    (verb) => ({
      words:
        verb === 'enable'
          ? 'Enable an administrator account.'
          : 'Disable an administrator account and end its sessions immediately.',
      request: async (username, _body, { api }) => ({
        what: `${verb} administrator ${username}`,
        path: `${admin.path}/${segment(await adminId(api, username))}/toggle`,
      }),
      done: (_row, username) => `Administrator ${username} is ${verb}d.`,
    }),
  );
  defineResetPassword(noun, context);
  defineResetSecondFactor(noun, context);
}
