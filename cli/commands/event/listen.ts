import { setTimeout as wait } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { Cancelled, CliError, EXIT, UsageError, codeOf } from '../../errors.ts';
import { examples, instant, integer, list } from '../../options.ts';
import { readSecretFile } from '../../secrets.ts';
import { readMessages, type StreamMessage } from '../../sse.ts';
import type { Row } from '../../values.ts';
import { forward } from './forward.ts';
import { EVENTS, VIEW } from './view.ts';

/** The flags of `event listen`. */
export interface ListenFlags {
  forwardTo?: string;
  secretFile?: string;
  since?: string;
  after?: string;
  types?: string[];
  app?: string;
  count?: number;
}

/** Adds `event listen`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('listen')
    .description(
      'Print events as they occur. With --forward-to, deliver them to a URL like a webhook; after a lost connection it resumes after the last delivered event.',
    );
  command
    .option('--forward-to <url>', 'POST each event to this URL, signed like a webhook')
    .option('--secret-file <file>', 'file with the signing secret (whsec_…); by default one is generated and shown')
    .option('--since <time>', 'start in the past, e.g. 2h or 2026-01-31', instant)
    .option('--after <cursor>', 'start after this cursor')
    .option('--types <a,b>', 'filter by type', list)
    .option('--app <client_id>', 'filter by application')
    .option('--count <n>', 'stop after this many events', integer(1, 1_000_000));
  examples(
    command,
    'payctl event listen --since 2h --count 1',
    'payctl event listen --types order.paid --count 1 -o jsonl',
  ).action((flags: ListenFlags) => run(context(), flags));
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** How far we are. */
interface Progress {
  /** Cursor of the last event that was dealt with. */
  after: string | undefined;
  /** Where to begin as long as there is no cursor: never later than the start of the command. */
  since: string | undefined;
  left: number;
  pause: number;
}

/** Follows the stream until it is cancelled; a broken connection is taken up where it ended. */
export async function run(context: Context, flags: ListenFlags): Promise<void> {
  const { terminal, print } = context;
  const secret = flags.forwardTo ? await signingSecret(context, flags) : '';
  const begun = terminal.now().toISOString();
  const progress: Progress = {
    after: flags.after,
    since: flags.since,
    left: flags.count ?? Number.POSITIVE_INFINITY,
    pause: FIRST_PAUSE_MS,
  };
  while (progress.left > 0 && !terminal.out.closed) {
    try {
      await follow(context, flags, progress, secret);
    } catch (error) {
      if (!isBreak(error, terminal.signal)) throw explained(error, terminal.signal, progress.after);
      await print.note('Connection lost; reconnecting.');
    }
    // What happens while nobody is connected must not be missed, even before the first event.
    progress.since ??= begun;
    if (progress.left > 0 && !terminal.out.closed) await pauseFor(terminal.signal, progress);
  }
}

/** One connection, until it ends or enough was seen. */
async function follow(context: Context, flags: ListenFlags, progress: Progress, secret: string): Promise<void> {
  const stream = await open(context, flags, progress);
  await context.print.note('Ready. Waiting for events (Ctrl-C to stop).');
  progress.pause = FIRST_PAUSE_MS;
  for await (const message of readMessages(stream)) {
    if (message.event === 'error') throw refused(message.data);
    if (message.data !== '') {
      await handle(context, flags, message, secret);
      progress.left -= 1;
    }
    progress.after = message.id || progress.after;
    if (progress.left <= 0 || context.terminal.out.closed) return;
  }
}

function open({ api }: Context, flags: ListenFlags, { after, since }: Progress) {
  const begin = after === undefined ? { since } : {};
  const headers = { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': after }) };
  return api.stream({
    method: 'GET',
    path: `${EVENTS}/stream`,
    query: { types: flags.types, clientId: flags.app, ...begin },
    headers,
  });
}

/** Whether the connection or the server went away, so that another try makes sense. */
function isBreak(error: unknown, signal: AbortSignal): boolean {
  if (signal.aborted) return false;
  if (error instanceof CliError) return error.exitCode === EXIT.tryAgain && error.code !== 'forward_failed';
  return codeOf(error) !== undefined;
}

function explained(error: unknown, signal: AbortSignal, after: string | undefined): unknown {
  if (signal.aborted) return new Cancelled(after ? `Stopped. Resume with --after ${after}` : 'Stopped.');
  if (!(error instanceof CliError) || error.code !== 'forward_failed') return error;
  const hint = after === undefined ? 'run it again with the same --since' : `payctl event listen --after ${after}`;
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

async function pauseFor(signal: AbortSignal, progress: Progress): Promise<void> {
  await wait(progress.pause, undefined, { signal }).catch((error: unknown) => {
    throw explained(error, signal, progress.after);
  });
  progress.pause = Math.min(progress.pause * 2, LONGEST_PAUSE_MS);
}

async function handle(
  { print, terminal }: Context,
  flags: ListenFlags,
  { id, data }: StreamMessage,
  secret: string,
): Promise<void> {
  let event: Row;
  try {
    event = JSON.parse(data) as Row;
  } catch {
    throw new CliError('stream_broken', EXIT.failed, 'The server sent an event that is not valid JSON.');
  }
  if (print.json) await terminal.out.write(`${JSON.stringify(event)}\n`);
  else await print.list([event], VIEW, { continued: true });
  if (flags.forwardTo)
    await forward(terminal, { url: flags.forwardTo, secret, id: String(event['id'] ?? id), body: webhookBody(event) });
}

/** What the real webhook would carry: the stream adds whose event it is. */
function webhookBody({ id, type, createdAt, sequence, data }: Row): string {
  return JSON.stringify({ id, type, createdAt, sequence, data });
}

/** The server ended the stream because the login does not hold any more. */
function refused(data: string): CliError {
  const { code = 'unauthenticated' } = JSON.parse(data) as { code?: string };
  return new CliError(code, EXIT.notLoggedIn, 'The session is no longer valid; the event stream was closed.', {
    hint: 'payctl login',
  });
}

async function signingSecret({ terminal, print }: Context, flags: ListenFlags): Promise<string> {
  if (!/^https?:\/\//.test(flags.forwardTo ?? '') || !URL.canParse(flags.forwardTo ?? ''))
    throw new UsageError(`--forward-to: "${flags.forwardTo}" is not an HTTP URL.`);
  if (flags.secretFile) return readSecretFile(terminal, flags.secretFile);
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  await print.note(`Signing with ${secret} (generated for this run)`);
  return secret;
}
