import type { Command } from 'commander';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context, ContextOf } from '../../context.ts';
import { Cancelled, UsageError } from '../../errors.ts';
import { examples, integer, seconds } from '../../options.ts';
import { type Board, type LiveFeed, createLiveFeed, rateOf } from './live-feed.ts';
import { runScreen } from './screen.ts';

/** Stops after `count` lines, or when the reader closes the pipe. */
async function runLines({ terminal, print }: Context, feed: LiveFeed, everyMs: number, count: number): Promise<void> {
  const first = Promise.withResolvers<void>();
  let wasLost = true;
  const reading = feed.run(() => {
    if (feed.isLost && !wasLost) void print.note(`Connection lost: ${feed.status}`);
    wasLost = feed.isLost;
    if (feed.board.at !== null) first.resolve();
  });
  // If the live feed ends or fails, waiting for the next line must also end.
  const ended = reading.then(() => Promise.reject(new Cancelled('Stopped.')));
  ended.catch(() => {});
  try {
    await Promise.race([first.promise, ended]);
    let lastPrinted = -1;
    for (let left = count; left > 0 && !terminal.out.closed; left -= 1) {
      const { board, isLost } = feed;
      await terminal.out.write(`${JSON.stringify(lineOf(board, !isLost, lastPrinted))}\n`);
      lastPrinted = lastSequence(board);
      if (left > 1) await Promise.race([wait(everyMs, undefined, { signal: terminal.signal }), ended]);
    }
  } catch (error) {
    throw terminal.signal.aborted ? new Cancelled('Stopped.') : error;
  } finally {
    await feed.stop();
  }
}

/** One JSON line: the state of the service, with only the events that no earlier line contains. */
function lineOf(board: Board, connected: boolean, lastPrinted: number) {
  const { trail: _trail, rows, passed, types, ...sections } = board;
  const perSecond = Number(rateOf(board, performance.now()).toFixed(1));
  const newest = rows.filter((row) => Number(row['sequence']) > lastPrinted);
  return { ...sections, connected, events: { passed, perSecond, types, rows: newest } };
}

function lastSequence({ rows }: Board): number {
  return Number(rows.at(-1)?.['sequence'] ?? -1);
}

interface TopFlags {
  interval: number;
  count?: number;
}

/** Defines `payctl top`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Follow the service in full screen: orders and amounts, channels, due work, webhooks, exceptions, replicas and events. Press ? for its keys. In a pipe, it prints one JSON object per second.',
    )
    .option('--interval <seconds>', 'seconds between two lines of JSON', seconds, 1)
    .option('--count <n>', 'stop after this many updates', integer(1, 1_000_000));
  examples(command, 'payctl top', 'payctl top -o jsonl --count 1', 'payctl top --count 1').action((flags: TopFlags) =>
    run(context(), flags),
  );
}

async function run(context: Context, { interval, count }: TopFlags): Promise<void> {
  const { print, terminal, flags } = context;
  if (flags.quiet || print.fields || print.format === 'env' || print.format === 'name')
    throw new UsageError('payctl top can only show a full screen or print JSON.', 'use -o jsonl');
  if (print.format !== 'table' || !terminal.out.isTerminal)
    return runLines(context, createLiveFeed(context), interval * 1000, count ?? Number.POSITIVE_INFINITY);
  if (terminal.env['TERM'] === 'dumb')
    throw new UsageError('This terminal cannot show a full screen (TERM=dumb).', 'use -o jsonl');
  return runScreen(context, createLiveFeed(context, count), count !== undefined);
}
