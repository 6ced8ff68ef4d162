import type { Command } from 'commander';
import { addAction, addDelete } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { CliError, EXIT, UsageError } from '../errors.ts';
import { changes, duration, examples, instant, integer, list, needs, truth } from '../options.ts';
import { type Field, addFields, addGet, addSubList, bodyOf, complete, idArgument, namedRow } from '../resource.ts';
import { rotate } from '../rotation.ts';
import type { Change, ChangeFlags } from '../safety.ts';
import { openSecretSink } from '../secrets.ts';
import { MAX_HELP, RESEND_BOUNDS, findFailed, moreFailed, newestDelivery, resendAll } from '../resend.ts';
import { type Row, durationText, plain } from '../values.ts';
import { webhook } from './app-resource.ts';
import { DELIVERY, EVENT_ID } from './views.ts';

const CLIENT_ID = 'app_7Kd2mQxW9bTzR4vLp1Ns';

const URL_FIELD: Field = { name: 'url', value: 'url', help: 'URL that events are posted to', required: true };

const WEBHOOK_FIELDS: readonly Field[] = [
  URL_FIELD,
  {
    name: 'types',
    value: 'a,b',
    help: 'types of events, e.g. order.paid,refund.succeeded; "all" for all types',
    read: readTypes,
  },
  { name: 'enabled', value: 'true|false', help: 'whether events are delivered', read: truth },
];

function readTypes(text: string): string[] {
  return text === 'all' ? [] : list(text);
}

function defineSet(noun: Command, context: ContextOf): void {
  const command = noun
    .command('set')
    .description(
      'Set the webhook of an application. Omitted fields keep their values. A new webhook gets a signing secret, which is shown only once: on a terminal, in a file, or with -o json or -o env.',
    );
  idArgument(command, webhook);
  addFields(command, WEBHOOK_FIELDS);
  command.option('--secret-file <file>', 'write the secret of a new webhook to a new file');
  examples(
    changes(command),
    `payctl app webhook set ${CLIENT_ID} --url https://shop.example/hooks --secret-file hook.secret`,
    `payctl app webhook set ${CLIENT_ID} --types order.paid,refund.succeeded --json`,
    `payctl app webhook set ${CLIENT_ID} --enabled false --json`,
  ).action((clientId: string | undefined, flags: Row & ChangeFlags & { secretFile?: string }) =>
    runSet(context(), clientId, flags),
  );
}

/** Checks before the request that the secret of a new webhook can be written to the file or stdout. */
async function runSet(
  context: Context,
  named: string | undefined,
  options: Row & ChangeFlags & { secretFile?: string },
): Promise<void> {
  const { api, change, print, flags } = context;
  const { id: clientId, path } = await namedRow(context, webhook, named);
  const before = await api.get(path).catch(onlyMissing);
  const given = bodyOf(options, WEBHOOK_FIELDS);
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
    if (sink && row['secret'] !== undefined)
      await sink.deliver(row, webhook.view, `payctl app webhook rotate ${clientId}`);
    else await print.item(row, webhook.view);
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

/** Ignores a missing webhook, because `set` creates it. If the application is missing, the PUT request reports it. */
function onlyMissing(error: unknown): undefined {
  if (error instanceof CliError && error.exitCode === EXIT.notFound) return undefined;
  throw error;
}

interface RotateFlags extends ChangeFlags {
  grace?: number;
  secretFile?: string;
}

function defineRotate(noun: Command, context: ContextOf): void {
  const command = noun
    .command('rotate')
    .description(
      'Issue a new signing secret. With --grace, messages are also signed with the old secret during that time. Without --grace, the old secret ends immediately; type the client_id to confirm.',
    );
  idArgument(command, webhook);
  command
    .option('--grace <duration>', 'how long the old secret also signs, e.g. 15m or 24h; at most 7d', duration)
    .option('--secret-file <file>', 'write the secret to a new file');
  examples(
    changes(command),
    `payctl app webhook rotate ${CLIENT_ID} --grace 24h --secret-file hook.secret`,
    `payctl app webhook rotate ${CLIENT_ID} --confirm ${CLIENT_ID} -o json`,
  ).action((clientId: string | undefined, flags: RotateFlags) => runRotate(context(), clientId, flags));
}

async function runRotate(context: Context, named: string | undefined, options: RotateFlags): Promise<void> {
  const { print } = context;
  const { id: clientId, path } = await namedRow(context, webhook, named);
  const { grace } = options;
  const lasts = grace ? `the old one also signs for ${durationText(grace)}` : 'the old one ends now';
  const request: Change = {
    what: `rotate the signing secret of app ${clientId} (${lasts})`,
    name: clientId,
    risk: grace ? 'moderate' : 'severe',
    method: 'POST',
    path: `${path}/rotate-secret`,
    body: grace === undefined ? {} : { graceSeconds: grace },
  };
  const again = `payctl app webhook rotate ${clientId}`;
  if (!(await rotate(context, request, options, { field: 'secret', view: webhook.view, again }))) return;
  await print.done(grace ? `The old secret also signs for ${durationText(grace)}.` : 'The old secret no longer signs.');
}

interface ResendFlags extends ChangeFlags {
  event?: string;
  failed?: boolean;
  since?: string;
  max?: number;
}

function defineResend(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resend')
    .description(
      'Redeliver an event of an application, or with --failed every event whose delivery failed, oldest first, with the same event id.',
    );
  idArgument(command, webhook);
  command
    .option('--event <id>', 'this event')
    .option('--failed', 'every event whose last delivery failed')
    .option('--since <time>', 'with --failed: only deliveries since this time, e.g. 2026-01-31 or 2h', instant)
    .option('--max <n>', MAX_HELP, integer(1, RESEND_BOUNDS.most));
  examples(
    changes(command),
    `payctl app webhook resend ${CLIENT_ID} --event ${EVENT_ID} -y`,
    `payctl app webhook resend ${CLIENT_ID} --failed --since 24h -y`,
    `payctl app webhook resend ${CLIENT_ID} --failed --dry-run`,
  ).action((clientId: string | undefined, flags: ResendFlags) => runResend(context(), clientId, flags));
}

/** The operator confirms once for all events. */
async function runResend(context: Context, named: string | undefined, flags: ResendFlags): Promise<void> {
  if ((flags.event === undefined) === !flags.failed)
    throw new UsageError('Give either --event ID for one event, or --failed for all failed events.');
  const unused = (['since', 'max'] as const).find((name) => !flags.failed && flags[name] !== undefined);
  if (unused) throw new UsageError(`--${unused} requires --failed.`);
  const { id: clientId } = await namedRow(context, webhook, named);
  if (flags.event !== undefined) {
    await requireOwn(context, clientId, flags.event);
    return resendAll(context, [{ clientId, eventId: flags.event }], flags, { name: clientId, isNamed: true });
  }
  const { events, isCut } = await findFailed(context, [clientId], flags.since, flags.max ?? RESEND_BOUNDS.usual);
  if (isCut) await context.print.note(moreFailed(events.length));
  await resendAll(context, events, flags, { name: clientId });
}

/** Throws for an event of another application. The service would resend it: the request names only the event. */
async function requireOwn(context: Context, clientId: string, eventId: string): Promise<void> {
  if (await newestDelivery(context, clientId, eventId)) return;
  throw new CliError('not_found', EXIT.notFound, `No delivery of ${eventId} to ${clientId} was found.`, {
    hint: `payctl event resend ${eventId}`,
  });
}

async function printTest({ print }: Context, delivery: Row, clientId: string): Promise<void> {
  await print.item(delivery, DELIVERY);
  const url = plain(delivery['url']);
  if (delivery['state'] === 'delivered') return print.done(`${url} accepted the message.`);
  const { lastError, lastStatus } = delivery;
  const why = plain(lastError ?? (lastStatus === null ? 'no answer' : `HTTP ${plain(lastStatus)}`)).replace(/\.$/, '');
  throw new CliError('webhook_test_failed', EXIT.failed, `${url} did not accept the message: ${why}.`, {
    hint: `payctl app webhook get ${clientId}`,
  });
}

/** Adds `payctl app webhook` with its subcommands. */
export function defineWebhook(app: Command, context: ContextOf): void {
  const noun = needs(app.command('webhook'), 'any').description(
    'Manage the webhook of an application: its URL, its signing secret and its deliveries. An application manages its own with the scopes webhook:read and webhook:write.',
  );
  addGet(
    noun,
    context,
    webhook,
    [`payctl app webhook get ${CLIENT_ID}`, `payctl app webhook get ${CLIENT_ID} --json`],
    'Show the webhook of an application.',
  );
  defineSet(noun, context);
  addAction(noun, context, webhook, {
    verb: 'test',
    words: 'Send one signed message of the type webhook.test, without retries. Exits with 1 if it is not accepted.',
    lines: [`payctl app webhook test ${CLIENT_ID}`, `payctl app webhook test ${CLIENT_ID} --json`],
    request: (clientId) => ({ what: `send a test message to app ${clientId}` }),
    print: printTest,
  });
  defineRotate(noun, context);
  addSubList(noun, context, webhook, {
    verb: 'deliveries',
    words: 'List past and pending deliveries to an application, newest first; with -o json every attempt.',
    view: DELIVERY,
    filters: [
      {
        name: 'state',
        value: 'state',
        help: 'filter by state',
        choices: ['pending', 'delivered', 'failed', 'cancelled'],
      },
      { name: 'eventId', flag: 'event', value: 'id', help: 'filter by event' },
    ],
    lines: [
      `payctl app webhook deliveries ${CLIENT_ID} --state failed`,
      `payctl app webhook deliveries ${CLIENT_ID} --event ${EVENT_ID} --json`,
    ],
  });
  defineResend(noun, context);
  addDelete(
    noun,
    context,
    webhook,
    [`payctl app webhook delete ${CLIENT_ID}`, `payctl app webhook delete ${CLIENT_ID} --confirm ${CLIENT_ID}`],
    {
      words:
        'Delete the webhook of an application; its pending deliveries are cancelled. The signing secret stays, for the notifyUrl of orders. Type the client_id to confirm.',
    },
  );
}
