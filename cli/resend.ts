import { setTimeout as wait } from 'node:timers/promises';
import { webhook } from './commands/app-resource.ts';
import { DELIVERY, EVENTS, OWN_EVENTS } from './commands/views.ts';
import type { Context } from './context.ts';
import { Cancelled, CliError, EXIT } from './errors.ts';
import { namedRow, segment } from './resource.ts';
import type { ChangeFlags } from './safety.ts';
import { withSpinner } from './terminal.ts';
import { type Row, plain } from './values.ts';

/** An event whose newest delivery failed. */
export interface FailedEvent {
  clientId: string;
  eventId: string;
}

/** An event that was not resent, or whether it was is unknown. */
interface NotResent extends FailedEvent {
  code: string;
}

/** At most this many resent events of an application wait for its receiver, so that the receiver is not flooded. */
const AT_ONCE = 10;
/** How often payctl looks whether the service has tried those events, before it gives up on the application. */
const MOST_LOOKS = 40;

/** Events that one run resends by default, and at most. */
export const RESEND_BOUNDS = { usual: 500, most: 10_000 } as const;

export const MAX_HELP = `with --failed: at most this many events, the newest of each application; default ${RESEND_BOUNDS.usual}`;

/** The note about events that a run leaves to the next one. */
export function moreFailed(found: number): string {
  return `More than ${found} events failed: this run resends ${found}, the newest of each application. For the others raise --max, or run it again when these are accepted.`;
}

/** The path of the deliveries to an application. */
async function deliveriesOf(context: Pick<Context, 'application'>, clientId: string): Promise<string> {
  return `${(await namedRow(context, webhook, clientId)).path}/deliveries`;
}

/** The path that sends an event again, for the login in use. */
export async function resendPath({ application }: Pick<Context, 'application'>, eventId: string): Promise<string> {
  return `${(await application()) ? OWN_EVENTS : EVENTS}/${segment(eventId)}/resend`;
}

type Asking = Pick<Context, 'api' | 'application'>;

/**
 * Finds events whose newest delivery failed since `since`, at most `most`; of each application the newest, oldest
 * first. The applications take turns, so that one with many failed events does not use up the bound. `isCut` says that
 * there are more.
 */
export async function findFailed(
  context: Context,
  clientIds: readonly string[],
  since: string | undefined,
  most: number,
): Promise<{ events: FailedEvent[]; isCut: boolean }> {
  const { err } = context.terminal;
  let open = clientIds.map((clientId) => ({
    clientId,
    failed: failedOf(context, clientId, since),
    taken: [] as string[],
  }));
  const all = open;
  let found = 0;
  const result = (isCut: boolean) => ({
    events: all.flatMap(({ clientId, taken }) => taken.toReversed().map((eventId) => ({ clientId, eventId }))),
    isCut,
  });
  return withSpinner(err, 'Looking for failed deliveries …', async (spinner) => {
    while (open.length > 0) {
      const more: typeof open = [];
      for (const app of open) {
        spinner.text = `Looking for failed deliveries to app ${app.clientId} …`;
        const next = await app.failed.next();
        if (next.done) continue;
        if (found === most) return result(true);
        app.taken.push(next.value);
        found += 1;
        more.push(app);
      }
      open = more;
    }
    return result(false);
  });
}

/** The failed events of an application, newest first. Test messages are skipped, because they are not events. */
async function* failedOf(context: Asking, clientId: string, since: string | undefined): AsyncGenerator<string, void> {
  const seen = new Set<string>();
  const path = await deliveriesOf(context, clientId);
  for await (const { rows } of context.api.pages(path, { state: 'failed', limit: 200 })) {
    const recent = rows.filter((row) => since === undefined || plain(row['createdAt']) >= since);
    for (const row of recent) {
      const eventId = plain(row['eventId']);
      if (row['target'] === 'test' || seen.has(eventId)) continue;
      seen.add(eventId);
      if ((await newestDelivery(context, clientId, eventId))?.['state'] === 'failed') yield eventId;
    }
    if (recent.length < rows.length) return;
  }
}

/** The newest delivery of an event to its application; undefined if there is none. */
export async function newestDelivery(context: Asking, clientId: string, eventId: string): Promise<Row | undefined> {
  const { rows } = await context.api.page(await deliveriesOf(context, clientId), { eventId, limit: 1 });
  return rows[0];
}

const NOT_RESENT = {
  noun: 'event',
  id: 'eventId',
  columns: [
    { field: 'eventId', title: 'EVENT', kind: 'id' as const },
    { field: 'clientId', title: 'APP', kind: 'id' as const },
  ],
};

/**
 * Resends events after one confirmation, and prints their deliveries. Throws `resend_incomplete` (exit code 1) with the
 * list of the events that were not resent. A repeat resends only those whose newest delivery failed. With `isNamed` the
 * operator named the one event, and the refusal of the service is thrown as it is.
 */
export async function resendAll(
  context: Context,
  events: readonly FailedEvent[],
  flags: ChangeFlags,
  { name, isNamed = false }: { name?: string; isNamed?: boolean } = {},
): Promise<void> {
  const { print } = context;
  if (flags.dryRun) {
    await print.note(`Dry run: nothing was sent. ${countOf(events)} would be resent.`);
    return print.list(
      events.map((event) => ({ ...event })),
      NOT_RESENT,
    );
  }
  if (events.length === 0) {
    await print.list([], DELIVERY);
    return print.done('No event has failed; nothing was resent.');
  }
  const queued: Row[] = [];
  const notResent: NotResent[] = [];
  const what = `resend ${countOf(events)}`;
  let tried = 0;
  const send = async ({ eventId }: FailedEvent): Promise<void> => {
    const at = tried++;
    const path = await resendPath(context, eventId);
    const progress = (spinner: { text: string }) => void (spinner.text = `resend ${at + 1} of ${events.length} …`);
    const part = { what, risk: 'moderate', isPart: at > 0, method: 'POST', path, progress } as const;
    const row = await context.change({ ...part, ...(name !== undefined && { name }) }, flags);
    if (row) queued.push(row);
  };
  const groups = Object.values(Object.groupBy(events, ({ clientId }) => clientId)) as FailedEvent[][];
  let exitCode: number = EXIT.failed;
  try {
    if (isNamed) for (const event of events) await send(event);
    else for (const group of groups) await resendGroup(context, group, send, notResent);
  } catch (error) {
    if (queued.length === 0 && notResent.length === 0) throw error;
    // The error of a request that Ctrl-C ended is no longer a `Cancelled`: it has a hint of its own.
    if (error instanceof CliError && error.exitCode === EXIT.cancelled) ({ exitCode } = error);
    // The login is over, the server is away, or the operator pressed Ctrl-C: the other events would fail as well.
    const code = error instanceof CliError ? error.code : 'unexpected';
    const known = new Set([...queued, ...notResent].map((row) => plain(row['eventId'])));
    notResent.push(...groups.flat().flatMap((event) => (known.has(event.eventId) ? [] : [{ ...event, code }])));
  }
  context.run.completedChange = `resend ${queued.length} of ${countOf(events)}`;
  await print.list(queued, DELIVERY);
  if (notResent.length > 0) throw await incomplete(context, events.length, notResent, exitCode);
  await print.done(`${countOf(queued)} ${queued.length === 1 ? 'is' : 'are'} queued for redelivery.`);
}

function countOf(events: readonly unknown[]): string {
  return events.length === 1 ? '1 event' : `${events.length} events`;
}

/** Resends the events of one application, `AT_ONCE` at a time. Adds those that were not resent to `notResent`. */
async function resendGroup(
  context: Context,
  events: readonly FailedEvent[],
  send: (event: FailedEvent) => Promise<void>,
  notResent: NotResent[],
): Promise<void> {
  for (let begin = 0; begin < events.length; begin += AT_ONCE) {
    const batch = events.slice(begin, begin + AT_ONCE);
    const sent: FailedEvent[] = [];
    for (const event of batch) {
      try {
        await send(event);
        sent.push(event);
      } catch (error) {
        if (!isOfOneEvent(error)) throw error;
        notResent.push({ ...event, code: error.code });
      }
    }
    const next = begin + batch.length;
    if (next >= events.length || sent.length === 0) continue;
    const outcome = await untilTried(context, sent);
    if (outcome === 'accepted') continue;
    notResent.push(...events.slice(next).map((event) => ({ ...event, code: outcome })));
    return;
  }
}

/**
 * Whether the other events can still be resent: an application without a webhook may have orders with a notifyUrl. A
 * 500 may come from one event. Without a response, or after 408, 429, 502, 503 or 504, the server is away or overloaded.
 */
function isOfOneEvent(error: unknown): error is CliError {
  if (!(error instanceof CliError)) return false;
  if (error.exitCode === EXIT.tryAgain) return error.options.status === 500;
  return ![EXIT.notLoggedIn, EXIT.forbidden, EXIT.usage, EXIT.cancelled].some((code) => code === error.exitCode);
}

/**
 * Waits until the service has tried each of these events once. `receiver_refuses`: the receiver accepted none of them;
 * the service itself goes on with them. `receiver_busy`: the service has not tried them for a long time.
 */
async function untilTried(
  context: Context,
  sent: readonly FailedEvent[],
): Promise<'accepted' | 'receiver_refuses' | 'receiver_busy'> {
  const { terminal, retryPause } = context;
  let open = [...sent];
  let accepted = 0;
  const text = `waiting for the receiver of app ${sent[0]?.clientId ?? ''} …`;
  return withSpinner(terminal.err, text, async () => {
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      const untried: FailedEvent[] = [];
      for (const event of open) {
        const row = await newestDelivery(context, event.clientId, event.eventId);
        if (row?.['state'] === 'pending' && Number(row['attempts']) === 0) untried.push(event);
        else if (row?.['state'] === 'delivered') accepted += 1;
      }
      open = untried;
      if (open.length === 0) return accepted > 0 ? 'accepted' : 'receiver_refuses';
      await wait(retryPause(looks), undefined, { signal: terminal.signal }).catch(() => {
        throw new Cancelled('Stopped.');
      });
    }
    return 'receiver_busy';
  });
}

const MOST_NOTES = 20;

async function incomplete(
  { print }: Context,
  all: number,
  notResent: readonly NotResent[],
  exitCode: number,
): Promise<CliError> {
  for (const { eventId, clientId, code } of notResent.slice(0, MOST_NOTES))
    await print.note(`not resent: ${eventId} of ${clientId} (${code})`);
  if (notResent.length > MOST_NOTES) await print.note(`… and ${notResent.length - MOST_NOTES} more (see -o json)`);
  return new CliError('resend_incomplete', exitCode, `${notResent.length} of ${all} events were not resent.`, {
    hint: 'run the command again: it resends only events whose last delivery failed',
    extra: { notResent },
  });
}
