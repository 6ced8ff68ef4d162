import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { changes, examples, list } from '../../options.ts';
import { addFields, bodyOf, segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { admin, adminId, PROJECTS, ROLE } from './resource.ts';

type Options = Row & ChangeFlags & { clear?: readonly string[] };

const FIELDS = [ROLE, PROJECTS];

/** Adds `admin update`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('update')
    .description('Change the role or the projects of an administrator. Other projects end the sessions of the account.')
    .argument('<username>');
  addFields(command, FIELDS);
  command.option('--clear <a,b>', 'clear these fields: projects', list);
  examples(
    changes(command),
    'payctl admin update bob --role operator -y',
    'payctl admin update bob --projects books,tea -y',
    'payctl admin update bob --clear projects -y',
  ).action((name: string, options: Options) => run(context(), name, options));
}

/** Sends what was given, and nothing else. */
export async function run({ api, change, print }: Context, username: string, options: Options): Promise<void> {
  const other = options.clear?.find((name) => name !== PROJECTS.name);
  if (other !== undefined) throw new UsageError(`Unknown field "${other}".`, 'fields: projects');
  const body = { ...bodyOf(options, FIELDS), ...(options.clear && { projects: null }) };
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
