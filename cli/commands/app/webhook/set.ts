import type { Command } from 'commander';
import type { Context, ContextOf } from '../../../context.ts';
import { CliError, EXIT, UsageError } from '../../../errors.ts';
import { changes, examples, list, truth } from '../../../options.ts';
import { addFields, bodyOf, complete, type Field } from '../../../resource.ts';
import type { Change, ChangeFlags } from '../../../safety.ts';
import { openSecretSink } from '../../../secrets.ts';
import type { Row } from '../../../values.ts';
import { CLIENT_ID, VIEW, webhookOf } from './view.ts';

const URL_FIELD: Field = { name: 'url', value: 'url', help: 'URL that events are posted to', required: true };

const FIELDS: readonly Field[] = [
  URL_FIELD,
  {
    name: 'types',
    value: 'a,b',
    help: 'types of events, e.g. order.paid,refund.succeeded; "all" for every one',
    read: readTypes,
  },
  { name: 'enabled', value: 'true|false', help: 'whether events are delivered', read: truth },
];

function readTypes(text: string): string[] {
  return text === 'all' ? [] : list(text);
}

/** Adds `app webhook set`. */
export function define(webhook: Command, context: ContextOf): void {
  const command = webhook
    .command('set')
    .description(
      'Set where an application is told what happened. Omitted fields keep their values. Its signing secret is made with it and shown only once: on a terminal, in a file, or with -o json or -o env.',
    )
    .argument('<client_id>');
  addFields(command, FIELDS);
  command.option('--secret-file <file>', 'write the secret of a new webhook to a new file');
  examples(
    changes(command),
    `payctl app webhook set ${CLIENT_ID} --url https://shop.example/hooks --secret-file hook.secret`,
    `payctl app webhook set ${CLIENT_ID} --types order.paid,refund.succeeded --json`,
    `payctl app webhook set ${CLIENT_ID} --enabled false --json`,
  ).action((clientId: string, flags: Row & ChangeFlags & { secretFile?: string }) => run(context(), clientId, flags));
}

/** Creates or changes a webhook; where the secret of a new one goes is settled before it is made. */
export async function run(
  context: Context,
  clientId: string,
  options: Row & ChangeFlags & { secretFile?: string },
): Promise<void> {
  const { api, change, print, flags } = context;
  const path = webhookOf(clientId);
  const before = await api.get(path).catch(onlyMissing);
  const given = bodyOf(options, FIELDS);
  const body = before?.['url'] ? given : await complete(context, [URL_FIELD], given);
  if (Object.keys(body).length === 0) throw new UsageError('No changes were given.', 'payctl app webhook set --help');
  const what = `${before ? 'change' : 'create'} the webhook of app ${clientId}`;
  const request: Change = { what, name: clientId, method: 'PUT', path, body, current: async () => before ?? {} };
  const sink =
    before || options.dryRun
      ? undefined
      : await openSecretSink({ ...context, quiet: flags.quiet === true }, options, 'secret');
  try {
    const row = await change(request, options);
    if (!row) return;
    if (sink && row['secret'] !== undefined) await sink.deliver(row, VIEW, `payctl app webhook rotate ${clientId}`);
    else await print.item(row, VIEW);
    if (before && options.secretFile)
      await print.note(
        `The secret was shown when the webhook was created; for a new one: payctl app webhook rotate ${clientId}`,
      );
  } finally {
    await sink?.discard();
  }
  await print.done(
    `${before ? 'Changed' : 'Created'} the webhook of ${clientId}. Next: payctl app webhook test ${clientId}`,
  );
}

/** An application without a webhook gets one; one that is not there is told when it is set. */
function onlyMissing(error: unknown): undefined {
  if (error instanceof CliError && error.exitCode === EXIT.notFound) return undefined;
  throw error;
}
