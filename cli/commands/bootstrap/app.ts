import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { actor, offlineFlags, prepareDatabase, withOffline, type OfflineFlags } from '../../offline.ts';
import { examples } from '../../options.ts';
import { addFields, bodyOf, complete } from '../../resource.ts';
import { openSecretSink } from '../../secrets.ts';
import type { Row } from '../../values.ts';
import { SCOPES, app } from '../app/resource.ts';
import { APP, unlessDone } from './view.ts';

/** The flags of `bootstrap app`. */
export type AppFlags = Row & OfflineFlags & { secretFile?: string; ifNone?: boolean; dryRun?: boolean };

const FIELDS = [...app.fields, ...(app.createOnly ?? [])]
  .filter(({ name }) => ['name', 'scopes', 'project', 'trusted', 'remark'].includes(name))
  .map((field) => ({ ...field, required: field.name === 'name' }));

/** Adds `bootstrap app`. */
export function define(noun: Command, context: ContextOf): void {
  const command = offlineFlags(
    noun.command('app').description('Create an API application. Its secret is shown only once.'),
    {
      migrate: true,
    },
  );
  addFields(command, FIELDS);
  command
    .option('--secret-file <file>', 'write the secret to a new file')
    .option('--if-none', 'succeed without changes if an application of this name exists')
    .option('--dry-run', 'show what would be done without writing anything');
  examples(
    command,
    'payctl bootstrap app --name shop --scope payment:write,payment:read --secret-file shop.secret',
    'payctl bootstrap app --name shop --scope payment:write,payment:read --if-none -o json',
    'payctl bootstrap app --name shop --scope payment:write -o env > shop.env',
  ).action((flags: AppFlags) => run(context(), flags));
}

/** Makes an application; where its secret goes is settled first. */
export async function run(context: Context, flags: AppFlags): Promise<void> {
  const { print, prompts } = context;
  const fields = await complete(context, FIELDS, bodyOf(flags, FIELDS));
  const scopes =
    fields['scopes'] ??
    (await prompts.chooseMany(
      { message: 'Scopes', flag: '--scope' },
      SCOPES.map((value) => ({ value, checked: value.startsWith('payment:') })),
    ));
  const input = { ...fields, name: String(fields['name']), scopes: scopes as string[] };
  await withOffline(context, flags, async (offline) => {
    const sink = flags.dryRun
      ? undefined
      : await openSecretSink({ ...context, quiet: context.flags.quiet === true }, flags, 'client_secret');
    try {
      await prepareDatabase(context, offline, { ...flags, migrate: flags.migrate && !flags.dryRun });
      if (!sink) return await print.item({ dryRun: true, ...input }, APP);
      await unlessDone(context, flags.ifNone, APP, async () => {
        const row = { ...(await offline.createApp({ ...input, actor: actor() })), changed: true };
        context.known.done = `create app ${input.name}`;
        await sink.deliver(row, APP, `payctl app rotate-secret ${row.client_id}`);
        await print.done('Next: payctl server start, then POST /oauth/token with these credentials');
      });
    } finally {
      await sink?.discard();
    }
  });
}
