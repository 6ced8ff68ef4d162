import type { Command } from 'commander';
import { addAction, addDelete, addToggle, addUpdate } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { FlagRequired, UsageError } from '../errors.ts';
import { changes, duration, examples } from '../options.ts';
import { addFields, addGet, addList, addSubList, bodyOf, rowPath } from '../resource.ts';
import { rotate } from '../rotation.ts';
import type { Change, ChangeFlags } from '../safety.ts';
import { openSecretSink } from '../secrets.ts';
import { type Row, type View, durationText } from '../values.ts';
import { SCOPES, app, knownScopes } from './app-resource.ts';
import { defineWebhook } from './app-webhook.ts';

type CreateFlags = Row & ChangeFlags & { secretFile?: string };

const CREATE_FIELDS = [...app.fields, ...(app.createOnly ?? [])];

function defineCreate(noun: Command, context: ContextOf): void {
  const command = noun
    .command('create')
    .description(
      'Create an API application. Its secret is shown only once: on a terminal, in a file, or with -o json or -o env.',
    );
  addFields(command, CREATE_FIELDS);
  command.option('--secret-file <file>', 'write the secret to a new file');
  examples(
    changes(command),
    'payctl app create',
    'payctl app create --name shop --scope payment:write,payment:read --secret-file shop.secret',
    'payctl app create --name shop --scope payment:write,payment:read -o env > shop.env',
  ).action((options: CreateFlags) => runCreate(context(), options));
}

/** Checks before the request that the new secret can be written to the file or stdout. */
async function runCreate(context: Context, options: CreateFlags): Promise<void> {
  const { change, print, flags } = context;
  const body = await askMissing(context, bodyOf(options, CREATE_FIELDS));
  const request = { what: 'create app', method: 'POST' as const, path: app.path, body };
  if (options.dryRun) return void (await change(request, options));
  const sink = await openSecretSink({ ...context, quiet: flags.quiet === true }, options, 'client_secret');
  try {
    const row = await change(request, options);
    if (row) await sink.deliver(row, app.view, `payctl app rotate-secret ${String(row['client_id'])}`);
  } finally {
    await sink.discard();
  }
  await print.done('Next: POST /oauth/token with these credentials, or test a payment: payctl pay');
}

async function askMissing({ prompts, api }: Context, body: Row): Promise<Row> {
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
  // With fewer than two visible projects payctl sends no project, and the service chooses the project.
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

function scopeFlags(command: Command): void {
  command
    .option('--add-scope <a,b>', 'add these scopes to the present ones', knownScopes)
    .option('--remove-scope <a,b>', 'remove these scopes; the others stay', knownScopes);
}

/** The service replaces all scopes at once, so that the last of two changes at the same time counts. */
async function changeScopes(id: string, body: Row, { api }: Context, flags: Row): Promise<Partial<Change>> {
  const added = flags['addScope'] as string[] | undefined;
  const removed = flags['removeScope'] as string[] | undefined;
  const { scopes } = body;
  if (scopes !== undefined && (added ?? removed))
    throw new UsageError('--scope replaces all scopes and cannot be combined with --add-scope or --remove-scope.');
  if (!Array.isArray(scopes) && !(added ?? removed)) return {};
  const { scopes: present } = (await api.get(rowPath(app, id))) as { scopes: string[] };
  const wanted: string[] = Array.isArray(scopes)
    ? scopes
    : [...new Set([...present, ...(added ?? [])])].filter((scope) => !removed?.includes(scope));
  const lost = present.filter((scope) => !wanted.includes(scope));
  return {
    body: { ...body, scopes: wanted },
    ...(lost.length > 0 && {
      what: `update app ${id} (it loses the scopes ${lost.join(', ')})`,
      risk: 'moderate',
    }),
  };
}

interface RotateFlags extends ChangeFlags {
  grace?: number;
  revokeTokens?: boolean;
  secretFile?: string;
}

const ROTATED: View = {
  ...app.view,
  columns: [
    { field: 'client_id', kind: 'id' },
    { field: 'previousSecretExpiresAt', kind: 'time' },
  ],
};

function defineRotateSecret(noun: Command, context: ContextOf): void {
  const command = noun
    .command('rotate-secret')
    .description(
      'Issue a new secret. Without --grace, the old secret and all tokens are revoked immediately; type the client_id to confirm.',
    )
    .argument('<client_id>')
    .option('--grace <duration>', 'how long the old secret stays valid, e.g. 15m or 24h; at most 7d', duration)
    .option('--revoke-tokens', 'revoke all live tokens now, even with --grace')
    .option('--secret-file <file>', 'write the secret to a new file');
  examples(
    changes(command),
    'payctl app rotate-secret app_7Kd2mQxW9bTzR4vLp1Ns --grace 24h --secret-file shop.secret',
    'payctl app rotate-secret app_7Kd2mQxW9bTzR4vLp1Ns --confirm app_7Kd2mQxW9bTzR4vLp1Ns -o json',
  ).action((id: string, flags: RotateFlags) => runRotateSecret(context(), id, flags));
}

async function runRotateSecret(context: Context, id: string, options: RotateFlags): Promise<void> {
  const { print } = context;
  const { grace, revokeTokens } = options;
  const request: Change = {
    what: `rotate the secret of app ${id} (${rotationEffect(options)})`,
    name: id,
    risk: grace ? 'moderate' : 'severe',
    method: 'POST',
    path: `${rowPath(app, id)}/rotate-secret`,
    body: {
      ...(grace === undefined ? {} : { graceSeconds: grace }),
      ...(revokeTokens === undefined ? {} : { revokeTokens }),
    },
  };
  const again = `payctl app rotate-secret ${id}`;
  if (
    !(await rotate(context, request, options, {
      field: 'client_secret',
      view: ROTATED,
      again,
      more: { client_id: id },
    }))
  )
    return;
  await print.done(
    grace
      ? `The old secret stays valid for ${durationText(grace)}.${revokeTokens ? ' All live tokens were revoked.' : ''}`
      : 'The old secret and all live tokens were revoked.',
  );
}

function rotationEffect({ grace, revokeTokens }: RotateFlags): string {
  if (!grace) return 'the old secret and all live tokens end now';
  return `the old secret stays valid for ${durationText(grace)}${revokeTokens ? ', all live tokens end now' : ''}`;
}

/** Adds the subcommands of `payctl app`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage API applications, the OAuth clients of /api/v2.');
  addList(noun, context, app, [
    'payctl app list',
    'payctl app list --fields client_id,name,lastUsedAt',
    'payctl app list --all -q',
  ]);
  addGet(noun, context, app, [
    'payctl app get app_7Kd2mQxW9bTzR4vLp1Ns',
    'payctl app get app_7Kd2mQxW9bTzR4vLp1Ns --json',
  ]);
  addSubList(noun, context, app, {
    verb: 'limits',
    words: 'Show the limits of an application and their remaining amounts.',
    view: {
      noun: 'limit',
      id: 'limit',
      columns: [
        { field: 'currency', kind: 'id' },
        { field: 'limit', kind: 'id' },
        { field: 'allowed' },
        { field: 'used' },
        { field: 'left' },
        { field: 'resetsAt', title: 'RESETS', kind: 'time' },
      ],
    },
    lines: ['payctl app limits app_7Kd2mQxW9bTzR4vLp1Ns', 'payctl app limits app_7Kd2mQxW9bTzR4vLp1Ns -o json'],
  });
  defineCreate(noun, context);
  addUpdate(
    noun,
    context,
    app,
    [
      'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --name shop-eu --clear allowed-ips',
      'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --add-scope webhook:read,webhook:write',
      'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --scope payment:read --dry-run',
      'payctl app update app_7Kd2mQxW9bTzR4vLp1Ns --limit CNY.perDay=1000 --limit CNY.ordersPerHour=60',
    ],
    { flags: scopeFlags, request: changeScopes },
  );
  addToggle(noun, context, app, {
    enable: ['payctl app enable app_7Kd2mQxW9bTzR4vLp1Ns', 'payctl app enable app_7Kd2mQxW9bTzR4vLp1Ns --json'],
    disable: ['payctl app disable app_7Kd2mQxW9bTzR4vLp1Ns', 'payctl app disable app_7Kd2mQxW9bTzR4vLp1Ns -y'],
  });
  defineRotateSecret(noun, context);
  addAction(noun, context, app, {
    verb: 'revoke-tokens',
    words: 'Revoke all access tokens of an application. Its secret stays valid.',
    lines: [
      'payctl app revoke-tokens app_7Kd2mQxW9bTzR4vLp1Ns',
      'payctl app revoke-tokens app_7Kd2mQxW9bTzR4vLp1Ns -y --json',
    ],
    request: (id) => ({ what: `revoke all tokens of app ${id}` }),
    risk: 'moderate',
    async print({ print }, row, id) {
      await print.item({ client_id: id, ...row }, app.view);
      await print.done(`All tokens of ${id} have been revoked.`);
    },
  });
  defineWebhook(noun, context);
  addDelete(noun, context, app, [
    'payctl app delete app_7Kd2mQxW9bTzR4vLp1Ns',
    'payctl app delete app_7Kd2mQxW9bTzR4vLp1Ns --confirm app_7Kd2mQxW9bTzR4vLp1Ns',
  ]);
}
