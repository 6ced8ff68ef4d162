import type { Command } from 'commander';
import type { Context, ContextOf } from '../../../context.ts';
import { CliError, EXIT, UsageError } from '../../../errors.ts';
import { changes, examples, instant } from '../../../options.ts';
import type { ChangeFlags } from '../../../safety.ts';
import { plain, type Row } from '../../../values.ts';
import { resendEvent } from '../../event/resend.ts';
import { DELIVERY, EVENT_ID } from '../../event/view.ts';
import { CLIENT_ID, webhookOf } from './view.ts';

/** The flags of `app webhook resend`. */
export interface ResendFlags extends ChangeFlags {
  event?: string;
  failed?: boolean;
  since?: string;
}

/** Adds `app webhook resend`. */
export function define(webhook: Command, context: ContextOf): void {
  const command = webhook
    .command('resend')
    .description(
      'Redeliver an event of an application, or with --failed every one that was given up, oldest first and with its old id.',
    )
    .argument('<client_id>')
    .option('--event <id>', 'this event')
    .option('--failed', 'every event whose last delivery was given up')
    .option('--since <time>', 'with --failed: only deliveries since this time, e.g. 2026-01-31 or 2h', instant);
  examples(
    changes(command),
    `payctl app webhook resend ${CLIENT_ID} --event ${EVENT_ID} -y`,
    `payctl app webhook resend ${CLIENT_ID} --failed --since 24h -y`,
    `payctl app webhook resend ${CLIENT_ID} --failed --dry-run`,
  ).action((clientId: string, flags: ResendFlags) => run(context(), clientId, flags));
}

/** Queues the deliveries; they are confirmed together. */
export async function run(context: Context, clientId: string, flags: ResendFlags): Promise<void> {
  const { print } = context;
  if ((flags.event === undefined) === !flags.failed)
    throw new UsageError('Name one event with --event, or all that failed with --failed.');
  const ids = flags.event === undefined ? await findFailed(context, clientId, flags.since) : [flags.event];
  if (flags.event !== undefined) await requireOwn(context, clientId, flags.event);
  if (flags.dryRun)
    return print.list(
      ids.map((eventId) => ({ eventId })),
      EVENT_IDS,
    );
  const what = `resend ${ids.length === 1 ? `event ${ids[0]}` : `${ids.length} events`} to app ${clientId}`;
  const queued: Row[] = [];
  for (const [at, id] of ids.entries()) {
    const row = await resendEvent(context, id, flags, { what, name: clientId, risk: 'moderate', isPart: at > 0 });
    if (row) queued.push(row);
  }
  await print.list(queued, DELIVERY);
  await print.done(
    queued.length === 1 ? '1 event is queued for redelivery.' : `${queued.length} events are queued for redelivery.`,
  );
}

const EVENT_IDS = {
  noun: 'event',
  id: 'eventId',
  columns: [{ field: 'eventId', title: 'EVENT', kind: 'id' as const }],
};

/** The events whose newest delivery failed, oldest first; test messages are no events. */
async function findFailed({ api }: Context, clientId: string, since: string | undefined): Promise<string[]> {
  const path = `${webhookOf(clientId)}/deliveries`;
  const failed = new Set<string>();
  for await (const { rows } of api.pages(path, { state: 'failed', limit: 200 })) {
    const recent = rows.filter((row) => since === undefined || plain(row['createdAt']) >= since);
    for (const row of recent) if (row['target'] !== 'test') failed.add(plain(row['eventId']));
    if (recent.length < rows.length) break;
  }
  const stillFailed: string[] = [];
  for (const eventId of failed) {
    const [newest] = (await api.page(path, { eventId, limit: 1 })).rows;
    if (newest?.['state'] === 'failed') stillFailed.push(eventId);
  }
  return stillFailed.toReversed();
}

/** An event of another application would be told to that one. */
async function requireOwn({ api }: Context, clientId: string, eventId: string): Promise<void> {
  const { rows } = await api.page(`${webhookOf(clientId)}/deliveries`, { eventId, limit: 1 });
  if (rows.length > 0) return;
  throw new CliError('not_found', EXIT.notFound, `No delivery of ${eventId} to ${clientId} was found.`, {
    hint: `payctl event resend ${eventId}`,
  });
}
