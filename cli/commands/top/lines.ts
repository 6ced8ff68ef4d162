import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { Cancelled } from '../../errors.ts';
import { type Board, rateOf } from './board.ts';
import type { LiveFeed } from './live-feed.ts';

/** Prints the board as one JSON object again and again, until `count` were printed or the reader has gone. */
export async function runLines(
  { terminal, print }: Context,
  feed: LiveFeed,
  everyMs: number,
  count: number,
): Promise<void> {
  const first = Promise.withResolvers<void>();
  let wasLost = true;
  const reading = feed.run(() => {
    if (feed.isLost && !wasLost) void print.note(`Connection lost: ${feed.status}`);
    wasLost = feed.isLost;
    if (feed.board.at !== null) first.resolve();
  });
  // What ends the reading ends the waiting, too.
  const ended = reading.then(() => Promise.reject(new Cancelled('Stopped.')));
  ended.catch(() => {});
  try {
    await Promise.race([first.promise, ended]);
    let told = -1;
    for (let left = count; left > 0 && !terminal.out.closed; left -= 1) {
      const { board, isLost } = feed;
      await terminal.out.write(`${JSON.stringify(lineOf(board, !isLost, told))}\n`);
      told = lastSequence(board);
      if (left > 1) await Promise.race([wait(everyMs, undefined, { signal: terminal.signal }), ended]);
    }
  } catch (error) {
    throw terminal.signal.aborted ? new Cancelled('Stopped.') : error;
  } finally {
    await feed.stop();
  }
}

/** The board, with the events that were not in an earlier line. */
function lineOf(board: Board, connected: boolean, told: number) {
  const { trail: _trail, rows, passed, types, ...sections } = board;
  const perSecond = Number(rateOf(board, performance.now()).toFixed(1));
  const newest = rows.filter((row) => Number(row['sequence']) > told);
  return { ...sections, connected, events: { passed, perSecond, types, rows: newest } };
}

function lastSequence({ rows }: Board): number {
  return Number(rows.at(-1)?.['sequence'] ?? -1);
}
