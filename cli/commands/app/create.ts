import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { FlagRequired } from '../../errors.ts';
import { changes, examples } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { openSecretSink } from '../../secrets.ts';
import type { Row } from '../../values.ts';
import { SCOPES, app } from './resource.ts';

type Options = Row & ChangeFlags & { secretFile?: string };

const FIELDS = [...app.fields, ...(app.createOnly ?? [])];

/** Adds `app create`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('create')
    .description(
      'Create an API application. Its secret is shown only once: on a terminal, in a file, or with -o json or -o env.',
    );
  addFields(command, FIELDS);
  command.option('--secret-file <file>', 'write the secret to a new file');
  examples(
    changes(command),
    'payctl app create',
    'payctl app create --name shop --scope payment:write,payment:read --secret-file shop.secret',
    'payctl app create --name shop --scope payment:write,payment:read -o env > shop.env',
  ).action((options: Options) => run(context(), options));
}

/** Creates an application; where the secret goes is settled before anything is made. */
export async function run(context: Context, options: Options): Promise<void> {
  const { change, print, flags } = context;
  const body = await complete(context, bodyOf(options, FIELDS));
  const request = { what: 'create app', method: 'POST' as const, path: app.path, body };
  if (options.dryRun) return void (await change(request, options));
  const sink = await openSecretSink({ ...context, quiet: flags.quiet === true }, options, 'client_secret');
  try {
    const row = await change(request, options);
    if (row) await sink.deliver(row, app.view, `payctl app rotate-secret ${String(row['client_id'])}`);
  } finally {
    await sink.discard();
  }
  await print.done('Next: payctl pay, or POST /oauth/token with these credentials');
}

async function complete({ prompts, api }: Context, body: Row): Promise<Row> {
  if (body['name'] !== undefined && body['scopes'] !== undefined) return body;
  if (!prompts.possible) throw new FlagRequired(body['name'] === undefined ? '--name' : '--scope');
  const name =
    body['name'] ??
    (await prompts.text({
      message: 'Name of the application',
      flag: '--name',
      validate: (text) => text !== '' || 'A name is required.',
    }));
  const scopes =
    body['scopes'] ??
    (await prompts.chooseMany(
      { message: 'Scopes', flag: '--scope' },
      SCOPES.map((value) => ({ value, checked: value.startsWith('payment:') })),
    ));
  const project = body['project'] ?? (await chooseProject(prompts, api));
  return { ...body, name, scopes, ...(project === undefined ? {} : { project }) };
}

async function chooseProject(prompts: Context['prompts'], api: Context['api']): Promise<string | undefined> {
  // Only one project, or none that we may list: the service's default is right.
  const projects = await api.page('/api/v1/projects').then(
    ({ rows }) => rows.map((row) => String(row['code'])),
    () => [],
  );
  if (projects.length < 2) return undefined;
  return prompts.choose(
    { message: 'Project', flag: '--project' },
    projects.map((value) => ({ value })),
  );
}
