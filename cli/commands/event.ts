import type { Command } from 'commander';
import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient, Query } from '../api-client.ts';
import { administratorNeeded } from '../application.ts';
import type { Context, ContextOf } from '../context.ts';
import { Cancelled, CliError, EXIT, UsageError, ignoreUnreachable, networkCause } from '../errors.ts';
import { type StreamMessage, followStream } from '../follow-stream.ts';
import { openExchange, readText } from '../http.ts';
import { changes, examples, instant, integer, list, needs, seconds } from '../options.ts';
import { MAX_HELP, RESEND_BOUNDS, type FailedEvent, findFailed, moreFailed, resendAll, resendPath } from '../resend.ts';
import { type Resource, addList } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { readSecretFile } from '../secrets.ts';
import { type Row, type View, plain } from '../values.ts';
import { app } from './app-resource.ts';
import { BY, DELIVERY, EVENTS, EVENT_ID, OWN_EVENTS } from './views.ts';

const VIEW: View = {
  noun: 'event',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'type', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'data.object.orderNo', title: 'ORDER', kind: 'id' },
    { field: 'sequence' },
  ],
};

/** The columns of `event listen` on a terminal, with fixed widths that keep the columns aligned. */
const FOLLOWED: View = {
  ...VIEW,
  columns: [
    { field: 'createdAt', kind: 'time', width: '59s ago'.length },
    { field: 'type', kind: 'id', width: 'skillpay.fulfilled'.length },
    { field: 'data.object.orderNo', title: 'ORDER', kind: 'id', width: 'P202611210558007K2MQX9WBT'.length },
    { field: 'id', kind: 'id' },
  ],
};

const event: Resource = {
  noun: 'event',
  plural: 'events',
  path: EVENTS,
  idName: 'id',
  view: VIEW,
  filters: [
    { name: 'types', value: 'a,b', help: 'filter by type, e.g. order.paid', read: list },
    { name: 'after', value: 'cursor', help: 'start after this cursor' },
    BY.app,
    BY.project,
    { name: 'objectNo', flag: 'about', value: 'no', help: 'filter by order or refund number' },
    { name: 'since', value: 'time', help: 'since this time, e.g. 2026-01-31, or 2h for two hours ago', read: instant },
  ],
  own: { list: OWN_EVENTS, filters: ['types', 'after', 'since'] },
};

type Forward = (id: string, body: string) => Promise<void>;

const MAX_REFUSALS = 5;
/** The pause doubles at most this many times, to two seconds, so that a restarted receiver soon gets the event. */
const MAX_PAUSE_EXPONENT = 2;

/** Statuses that a proxy returns while the application behind it restarts. */
const RESTART_STATUSES = new Set([502, 503, 504]);

interface DeliveryResult {
  /** Text for the operator, e.g. `204 12 ms`. */
  outcome: string;
  accepted: boolean;
  /** Whether the receiver is unreachable or restarting. If so, payctl retries without a limit. */
  isAway: boolean;
}

/** An unreachable receiver is tried again without a limit. After five refusals of one event payctl exits with 7. */
function createForward(context: Context, url: string, secret: string): Forward {
  const { print, terminal, retryPause } = context;
  return async (id, body) => {
    let refusals = 0;
    for (let tries = 0, isNoted = false; ; tries += 1) {
      const { outcome, accepted, isAway } = await postEvent(context, url, secret, { id, body });
      if (!isAway) await print.done(`  → ${outcome}`);
      if (accepted) return;
      if (isAway && !isNoted) await print.note(`  → ${outcome}; waiting for ${url}`);
      isNoted ||= isAway;
      refusals += isAway ? 0 : 1;
      if (refusals === MAX_REFUSALS)
        throw new CliError('forward_failed', EXIT.tryAgain, `${url} did not accept event ${id}: ${outcome}.`);
      const pause = isAway ? retryPause(Math.min(tries, MAX_PAUSE_EXPONENT)) : retryPause(refusals - 1);
      await wait(pause, undefined, { signal: terminal.signal });
    }
  };
}

async function postEvent(
  { terminal: { now, signal } }: Context,
  url: string,
  secret: string,
  { id, body }: { id: string; body: string },
): Promise<DeliveryResult> {
  const timestamp = String(Math.floor(now().getTime() / 1000));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature(secret, id, timestamp, body),
  };
  const request = { method: 'POST', url: new URL(url), headers, body, timeoutMs: 10_000, signal };
  const begun = performance.now();
  try {
    const answer = await openExchange(request);
    await readText(answer, request);
    const status = answer.statusCode ?? 0;
    const outcome = `${status} ${Math.round(performance.now() - begun)} ms`;
    return { outcome, accepted: status >= 200 && status < 300, isAway: RESTART_STATUSES.has(status) };
  } catch (error) {
    if (signal.aborted) throw error;
    // A timeout counts as a refusal, because the receiver accepted the connection.
    const isAway = error instanceof CliError && error.code === 'unreachable';
    const outcome = isAway || !(error instanceof Error) ? networkCause(error) : error.message;
    return { outcome, accepted: false, isAway };
  }
}

/** The `webhook-signature` of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. */
function signature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

interface ListenFlags {
  forwardTo?: string;
  secretFile?: string;
  since?: string;
  after?: string;
  types?: string[];
  app?: string;
  count?: number;
  interval?: number;
  newSecret?: boolean;
}

function defineListen(noun: Command, context: ContextOf): void {
  const command = noun
    .command('listen')
    .description(
      'Print events as they occur. With --forward-to, deliver them to a URL like a webhook, and wait for it while it refuses connections; after a lost connection it resumes after the last delivered event. The signing secret stays the same, so that the receiver keeps its configuration.',
    );
  needs(command, 'any')
    .option('--forward-to <url>', 'POST each event to this URL, signed like a webhook')
    .option('--secret-file <file>', 'file with the signing secret (whsec_…); by default one is made, shown and kept')
    .option('--new-secret', 'make another signing secret, and keep it')
    .option('--since <time>', 'start in the past, e.g. 2h or 2026-01-31', instant)
    .option('--after <cursor>', 'start after this cursor')
    .option('--types <a,b>', 'filter by type', list)
    .option('--app <client_id>', 'filter by application')
    .option('--count <n>', 'stop after this many events', integer(1, 1_000_000))
    .option(
      '--interval <seconds>',
      'seconds between two looks at the event log of an application, by default 2; an administrator gets a stream',
      seconds,
    );
  examples(
    command,
    'payctl event listen --since 2h --count 1',
    'payctl event listen --types order.paid --count 1 -o jsonl',
  ).action((flags: ListenFlags) => runListen(context(), flags));
}

async function runListen(context: Context, flags: ListenFlags): Promise<void> {
  const { terminal, print } = context;
  if (flags.forwardTo === undefined && (flags.secretFile !== undefined || flags.newSecret))
    throw new UsageError(`${flags.newSecret ? '--new-secret' : '--secret-file'} requires --forward-to.`);
  const acting = await context.application();
  if (acting && flags.app !== undefined) throw administratorNeeded(acting, '--app');
  if (!acting && flags.interval !== undefined)
    throw new UsageError('--interval is for an application: an administrator gets events when they occur.');
  // One function serves all connections, so that a generated secret stays the same after a reconnection.
  const forward = flags.forwardTo === undefined ? undefined : await openForward(context, flags, flags.forwardTo);
  const begun = terminal.now().toISOString();
  let { after, since } = flags;
  let left = flags.count ?? Number.POSITIVE_INFINITY;
  let shown = 0;
  const stream = {
    path: `${EVENTS}/stream`,
    after,
    query: (from: string | undefined) => ({
      types: flags.types,
      clientId: flags.app,
      ...(from === undefined ? { since } : {}),
    }),
  };
  const callbacks = {
    connected: () => print.note('Ready. Waiting for events (Ctrl-C to stop).'),
    async lost() {
      await print.note('Connection lost; reconnecting.');
      // If the connection is lost before the first event, the stream must resume from the start of this run.
      since ??= begun;
    },
  };
  try {
    const messages = acting
      ? followLog(context, flags, callbacks)
      : followStream({ ...context, signal: terminal.signal }, stream, callbacks);
    for await (const { id, data } of messages) {
      if (data !== '') {
        const event = readEvent(data);
        await show(context, event, shown++);
        if (forward) await forward(String(event['id'] ?? id), webhookBody(event));
        left -= 1;
      }
      after = id || after;
      if (left <= 0 || terminal.out.closed) return;
    }
  } catch (error) {
    throw withResumeHint(error, terminal.signal, after);
  }
}

/** A transaction that records an event usually commits within this time. */
const COMMIT_MS = 60_000;

/** The event log of an application has no stream, so that it is read again every few seconds, from the last event on. */
async function* followLog(
  { api, terminal, retryPause }: Context,
  { types, after: begin, since: from, interval = 2 }: ListenFlags,
  { connected, lost }: { connected(): unknown; lost(): unknown },
): AsyncGenerator<StreamMessage> {
  let after = begin;
  let since = from;
  /** Set during the first look of a run that shows only new events. */
  let start: Date | undefined;
  let isConnected: boolean | undefined;
  for (let tries = 0; ;) {
    let pause = interval * 1000;
    try {
      // An event has the time at which its transaction began to record it, and is visible only after the commit. So the
      // first look goes back and skips what it finds from before the start; later looks find what was committed since.
      if (after === undefined && since === undefined) {
        start = await serverTime(api, terminal.now());
        since = new Date(start.getTime() - COMMIT_MS).toISOString();
      }
      let query: Query = { types, limit: 200, ...(after === undefined ? { since } : { after }) };
      for (;;) {
        const { rows, nextCursor } = await api.page(OWN_EVENTS, query);
        tries = 0;
        if (!isConnected) await connected();
        isConnected = true;
        for (const row of rows) {
          const isOld = start !== undefined && new Date(plain(row['createdAt'])) < start;
          if (!isOld) yield { id: plain(row['sequence']), event: 'message', data: JSON.stringify(row) };
          after = plain(row['sequence']);
        }
        if (nextCursor === null) break;
        query = { types, limit: 200, after: nextCursor };
      }
      start = undefined;
    } catch (error) {
      if (terminal.signal.aborted) throw new Cancelled('Stopped.');
      ignoreUnreachable(error);
      if (isConnected !== false) await lost();
      isConnected = false;
      pause = retryPause(tries);
      tries += 1;
    }
    await wait(pause, undefined, { signal: terminal.signal }).catch(() => {
      throw new Cancelled('Stopped.');
    });
  }
}

/** The clock of this machine may differ from that of the server, and events before `since` would be skipped. */
async function serverTime(api: ApiClient, now: Date): Promise<Date> {
  const { headers } = await api.call({ method: 'GET', path: '/api/v2/me' });
  const theirs = new Date(headers['date'] ?? '');
  return Number.isNaN(theirs.getTime()) ? now : theirs;
}

function withResumeHint(error: unknown, signal: AbortSignal, after: string | undefined): unknown {
  if (signal.aborted) return new Cancelled(after ? `Stopped. Resume with --after ${after}` : 'Stopped.');
  if (!(error instanceof CliError) || error.code !== 'forward_failed') return error;
  const hint = after === undefined ? 'run it again with the same --since' : `payctl event listen --after ${after}`;
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

async function show({ print, terminal, flags }: Context, event: Row, shown: number): Promise<void> {
  if (print.json) return terminal.out.write(`${JSON.stringify(event)}\n`);
  const view = print.format === 'table' ? FOLLOWED : VIEW;
  return print.list([event], view, { continued: shown > 0 || flags.headers === false });
}

function readEvent(data: string): Row {
  try {
    return JSON.parse(data) as Row;
  } catch {
    throw new CliError('stream_broken', EXIT.failed, 'The server sent an event that is not valid JSON.');
  }
}

/** The body of a webhook: the event without the application and project that the stream adds. */
function webhookBody({ id, type, createdAt, sequence, data }: Row): string {
  return JSON.stringify({ id, type, createdAt, sequence, data });
}

async function openForward(context: Context, flags: ListenFlags, url: string): Promise<Forward> {
  const { terminal, print } = context;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(`--forward-to: "${url}" is not an HTTP URL.`);
  if (flags.secretFile && flags.newSecret) throw new UsageError('--new-secret cannot be combined with --secret-file.');
  if (flags.secretFile) return createForward(context, url, await readSecretFile(terminal, flags.secretFile));
  const { secret, note } = await keptSecret(context, flags);
  await print.note(note);
  return createForward(context, url, secret);
}

/** The signing secret of this server and application, the same at each start. A log gets it only when it is made. */
async function keptSecret(
  { sessions, application, target, terminal }: Context,
  { app: clientId, newSecret }: ListenFlags,
): Promise<{ secret: string; note: string }> {
  const { origin } = await target();
  const of = (await application())?.clientId ?? clientId ?? 'all applications';
  const made = `whsec_${randomBytes(24).toString('base64')}`;
  try {
    const secret = await sessions.listenSecret(`${origin} ${of}`, () => made, newSecret === true);
    if (secret === made || terminal.err.isTerminal)
      return { secret, note: `Signing with ${secret} (the same at each start; --new-secret makes another)` };
    const file = join(sessions.folder, 'listen-secrets.json');
    return { secret, note: `Signing with the secret in ${file} (shown on a terminal; --new-secret makes another)` };
  } catch (error) {
    // A folder that cannot be written to must not keep events from a receiver.
    const why = error instanceof Error ? error.message : String(error);
    return { secret: made, note: `Signing with ${made} (only for this run: ${why})` };
  }
}

/** Adds the subcommands of `payctl event`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, follow and resend events, the durable log behind webhooks.');
  addList(
    noun,
    context,
    event,
    [
      'payctl event list --types order.paid',
      'payctl event list --about P202611210558007K2MQX9WBT',
      'payctl event list --app app_7Kd2mQxW9bTzR4vLp1Ns --all -o jsonl',
    ],
    'List events, oldest first.',
  );
  defineListen(noun, context);
  defineResend(noun, context);
}

interface ResendFlags extends ChangeFlags {
  failed?: boolean;
  since?: string;
  app?: string;
  project?: string;
  max?: number;
}

function defineResend(noun: Command, context: ContextOf): void {
  const command = needs(noun.command('resend'), 'any')
    .description(
      `Redeliver an event to the application's webhook, with the same event id; or with --failed every event whose last delivery failed. A receiver gets at most ten of them at once. Repeating the command resends nothing that was accepted.`,
    )
    .argument('[id]')
    .option('--failed', 'every event whose last delivery failed')
    .option(
      '--since <time>',
      'with --failed, required: only deliveries since this time, e.g. 2h or 2026-01-31',
      instant,
    )
    .option('--app <client_id>', 'with --failed: only events of this application')
    .option('--project <code>', 'with --failed: only events of applications of this project')
    .option('--max <n>', MAX_HELP, integer(1, RESEND_BOUNDS.most));
  examples(
    changes(command),
    `payctl event resend ${EVENT_ID}`,
    `payctl event resend ${EVENT_ID} --json`,
    'payctl event resend --failed --since 24h --dry-run',
    'payctl event resend --failed --since 24h --max 200 -y',
  ).action((id: string | undefined, flags: ResendFlags) => runResend(context(), id, flags));
}

async function runResend(context: Context, id: string | undefined, flags: ResendFlags): Promise<void> {
  const { change, print } = context;
  if ((id === undefined) === !flags.failed)
    throw new UsageError('Give either the id of an event, or --failed for all failed events.');
  const unused = (['since', 'app', 'project', 'max'] as const).find((name) => flags[name] !== undefined);
  if (id !== undefined && unused) throw new UsageError(`--${unused} requires --failed.`);
  if (flags.app !== undefined && flags.project !== undefined)
    throw new UsageError('--project cannot be combined with --app.');
  const acting = await context.application();
  const ofOthers = (['app', 'project'] as const).find((name) => flags[name] !== undefined);
  if (acting && ofOthers) throw administratorNeeded(acting, `--${ofOthers}`);
  if (id !== undefined) {
    const path = await resendPath(context, id);
    const row = await change({ what: `resend event ${id}`, name: id, method: 'POST', path }, flags);
    if (!row) return;
    await print.item(row, DELIVERY);
    return print.done(`Event ${id} is queued for redelivery.`);
  }
  if (flags.since === undefined)
    throw new UsageError('--failed requires --since: how far back to look.', 'add --since 24h');
  const found = await failedOfAll(context, flags, flags.since, acting?.clientId ?? flags.app);
  const apps = new Set(found.map(({ clientId }) => clientId)).size;
  if (apps > 1) await print.note(`${found.length} failed events of ${apps} applications.`);
  await resendAll(context, found, flags);
}

/** Failed events of all applications, or of one; `--max` bounds their number. */
async function failedOfAll(
  context: Context,
  flags: ResendFlags,
  since: string,
  clientId: string | undefined,
): Promise<FailedEvent[]> {
  const clientIds = clientId === undefined ? [] : [clientId];
  if (clientId === undefined)
    for await (const { rows } of context.api.pages(app.path, { project: flags.project, limit: 200 }))
      clientIds.push(...rows.map((row) => plain(row['client_id'])));
  const { events, isCut } = await findFailed(context, clientIds, since, flags.max ?? RESEND_BOUNDS.usual);
  if (isCut) await context.print.note(moreFailed(events.length));
  return events;
}
