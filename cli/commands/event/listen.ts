import { setTimeout as wait } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { Cancelled, CliError, EXIT, UsageError } from '../../errors.ts';
import { examples, instant, integer, list } from '../../options.ts';
import { readSecretFile } from '../../secrets.ts';
import { readMessages, type StreamMessage } from '../../sse.ts';
import type { Row } from '../../values.ts';
import type { ContextOf } from '../index.ts';
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
      'Print events as they happen, and with --forward-to deliver them like the real webhook. Nothing is lost: it goes on after the last one it delivered.',
    );
  command
    .option('--forward-to <url>', 'POST each event there, signed')
    .option('--secret-file <file>', 'signing secret (whsec_…); otherwise one is made up and shown')
    .option('--since <time>', 'begin in the past (2h, 2026-01-31)', instant)
    .option('--after <cursor>', 'begin after this one')
    .option('--types <a,b>', 'only of these types', list)
    .option('--app <client_id>', 'only of this application')
    .option('--count <n>', 'end after so many', integer(1, 1_000_000));
  examples(
    command,
    'payctl event listen --since 2h --count 1',
    'payctl event listen --types order.paid --count 1 -o jsonl',
  ).action((flags: ListenFlags) => run(context(), flags));
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Follows the stream until it is cancelled; a broken connection is taken up where it ended. */
export async function run(context: Context, flags: ListenFlags): Promise<void> {
  const { terminal, print } = context;
  const secret = flags.forwardTo ? await signingSecret(context, flags) : '';
  const state = { after: flags.after, left: flags.count ?? Number.POSITIVE_INFINITY, pause: FIRST_PAUSE_MS };
  while (state.left > 0 && !terminal.out.closed) {
    try {
      const stream = await open(context, flags, state.after);
      await print.note('Ready. Waiting for events (Ctrl-C ends).');
      state.pause = FIRST_PAUSE_MS;
      for await (const message of readMessages(stream)) {
        if (message.event === 'error')
          throw new CliError('stream_ended', EXIT.tryAgain, 'The server ended the stream.');
        await handle(context, flags, message, secret);
        state.after = message.id || state.after;
        state.left -= 1;
        if (state.left <= 0 || terminal.out.closed) break;
      }
      stream.destroy();
    } catch (error) {
      if (terminal.signal.aborted)
        throw new Cancelled(state.after ? `Stopped. Go on with --after ${state.after}` : 'Stopped.');
      if (error instanceof CliError && error.exitCode !== EXIT.tryAgain) throw error;
      if (error instanceof CliError && error.code === 'forward_failed') throw resumable(error, state.after);
      await print.note('The connection is gone; trying again.');
    }
    if (state.left > 0) await pauseFor(terminal.signal, state);
  }
}

function resumable(error: CliError, after: string | undefined): CliError {
  const hint = after === undefined ? 'run it again with the same --since' : `payctl event listen --after ${after}`;
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

async function pauseFor(signal: AbortSignal, state: { pause: number; after?: string | undefined }): Promise<void> {
  await wait(state.pause, undefined, { signal }).catch(() => {
    throw new Cancelled(state.after ? `Stopped. Go on with --after ${state.after}` : 'Stopped.');
  });
  state.pause = Math.min(state.pause * 2, LONGEST_PAUSE_MS);
}

function open({ api }: Context, flags: ListenFlags, after: string | undefined) {
  const begin = after === undefined ? { since: flags.since } : {};
  const headers = { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': after }) };
  return api.stream({
    method: 'GET',
    path: `${EVENTS}/stream`,
    query: { types: flags.types, clientId: flags.app, ...begin },
    headers,
  });
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
    throw new CliError('stream_broken', EXIT.failed, 'The server sent an event that is not JSON.');
  }
  if (print.json) await terminal.out.write(`${JSON.stringify(event)}\n`);
  else await print.list([event], VIEW, { continued: true });
  if (flags.forwardTo)
    await forward(terminal, { url: flags.forwardTo, secret, id: String(event['id'] ?? id), body: data });
}

async function signingSecret({ terminal, print }: Context, flags: ListenFlags): Promise<string> {
  if (!/^https?:\/\//.test(flags.forwardTo ?? '') || !URL.canParse(flags.forwardTo ?? ''))
    throw new UsageError(`--forward-to: "${flags.forwardTo}" is not an address.`);
  if (flags.secretFile) return readSecretFile(terminal, flags.secretFile);
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  await print.note(`Signing with ${secret} (made up for this run)`);
  return secret;
}
