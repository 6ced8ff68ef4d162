import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { examples, integer, seconds } from '../../options.ts';
import { runLines } from './lines.ts';
import { createLiveFeed } from './live-feed.ts';
import { runScreen } from './screen.ts';

/** The flags of `top`. */
export interface TopFlags {
  interval: number;
  count?: number;
}

/** Adds `top`. */
export function define(command: Command, context: ContextOf): void {
  command
    .description(
      'Follow the service on the whole terminal: orders and their money, channels, due work, webhooks, exceptions, replicas and events. Press ? for its keys. In a pipe it prints one JSON object a second.',
    )
    .option('--interval <seconds>', 'seconds between two lines of JSON', seconds, 1)
    .option('--count <n>', 'stop after this many updates', integer(1, 1_000_000));
  examples(command, 'payctl top', 'payctl top -o jsonl --count 1', 'payctl top --count 1').action((flags: TopFlags) =>
    run(context(), flags),
  );
}

/** Follows the service until the user has seen enough. */
export async function run(context: Context, { interval, count }: TopFlags): Promise<void> {
  const { print, terminal, flags } = context;
  if (flags.quiet || print.fields || print.format === 'env' || print.format === 'name')
    throw new UsageError('payctl top shows a screen or prints JSON.', 'use -o jsonl');
  if (print.format !== 'table' || !terminal.out.isTerminal)
    return runLines(context, createLiveFeed(context), interval * 1000, count ?? Number.POSITIVE_INFINITY);
  if (terminal.env['TERM'] === 'dumb')
    throw new UsageError('This terminal cannot show a screen (TERM=dumb).', 'use -o jsonl');
  return runScreen(context, createLiveFeed(context, count), count !== undefined);
}
