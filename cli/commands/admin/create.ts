import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples, OWN_PASSWORD, passwordFlags } from '../../options.ts';
import { addFields, bodyOf, complete } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { takePassword, type PasswordFlags } from '../../secrets.ts';
import type { Row } from '../../values.ts';
import { admin } from './resource.ts';

type Options = Row & ChangeFlags & PasswordFlags;

/** Adds `admin create`. */
export function define(noun: Command, context: ContextOf): void {
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
  ).action((options: Options) => run(context(), options));
}

/** Creates an account. */
export async function run(context: Context, options: Options): Promise<void> {
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
    // Its password file holds the password of the new account.
    { ...options, passwordFile: undefined, proofFlag: OWN_PASSWORD },
  );
  if (!row) return;
  await print.item(row, admin.view);
  await print.done(`Created administrator ${String(row['username'])}.`);
}
