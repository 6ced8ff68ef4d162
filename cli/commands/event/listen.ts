import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { Cancelled, CliError, EXIT, UsageError } from '../../errors.ts';
import { followStream } from '../../follow-stream.ts';
import { examples, instant, integer, list } from '../../options.ts';
import { readSecretFile } from '../../secrets.ts';
import type { Row } from '../../values.ts';
import { createForward, type Forward } from './forward.ts';
import { EVENTS, FOLLOWED, VIEW } from './view.ts';

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
      'Print events as they occur. With --forward-to, deliver them to a URL like a webhook, and wait for it while it refuses connections; after a lost connection it resumes after the last delivered event.',
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

/** Follows the stream until it is cancelled; a broken connection is taken up where it ended. */
export async function run(context: Context, flags: ListenFlags): Promise<void> {
  const { terminal, print } = context;
  // One secret for the whole run, whatever becomes of connections.
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
  const ears = {
    connected: () => print.note('Ready. Waiting for events (Ctrl-C to stop).'),
    async lost() {
      await print.note('Connection lost; reconnecting.');
      // What happens while nobody is connected must not be missed, even before the first event.
      since ??= begun;
    },
  };
  try {
    for await (const { id, data } of followStream({ ...context, signal: terminal.signal }, stream, ears)) {
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
    throw explained(error, terminal.signal, after);
  }
}

function explained(error: unknown, signal: AbortSignal, after: string | undefined): unknown {
  if (signal.aborted) return new Cancelled(after ? `Stopped. Resume with --after ${after}` : 'Stopped.');
  if (!(error instanceof CliError) || error.code !== 'forward_failed') return error;
  const hint = after === undefined ? 'run it again with the same --since' : `payctl event listen --after ${after}`;
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

/** One heading, and rows below it as they come. */
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

/** What the real webhook would carry: the stream adds whose event it is. */
function webhookBody({ id, type, createdAt, sequence, data }: Row): string {
  return JSON.stringify({ id, type, createdAt, sequence, data });
}

async function openForward(context: Context, flags: ListenFlags, url: string): Promise<Forward> {
  const { terminal, print } = context;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(`--forward-to: "${url}" is not an HTTP URL.`);
  if (flags.secretFile) return createForward(context, url, await readSecretFile(terminal, flags.secretFile));
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  await print.note(`Signing with ${secret} (generated for this run)`);
  return createForward(context, url, secret);
}
