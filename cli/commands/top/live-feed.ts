import type { Context } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { followStream } from '../../follow-stream.ts';
import type { Row } from '../../values.ts';
import { type Board, fold, NOTHING } from './board.ts';

/** The live feed of a service, as far as it was read. */
export interface LiveFeed {
  readonly board: Board;
  /** Nothing comes: what is known is old. */
  readonly isLost: boolean;
  /** Why, and what is done about it. */
  readonly status: string;
  /** Reads until it is stopped, or so many messages were read; lost connections are opened again. */
  run(changed: () => void): Promise<void>;
  /** Ends the reading; what went wrong while it ended is nobody's concern. */
  stop(): Promise<void>;
}

/** Messages come every other second, heartbeats every fifteen. */
const SILENCE_MS = 40_000;

/** A feed that is not read yet; `count` messages are read at most. */
export function createLiveFeed({ api, terminal, retryPause }: Context, count = Number.POSITIVE_INFINITY): LiveFeed {
  const stopping = new AbortController();
  const signal = AbortSignal.any([terminal.signal, stopping.signal]);
  let board = NOTHING;
  let lost: string | undefined = 'connecting';
  let running: Promise<void> | undefined;

  async function read(changed: () => void): Promise<void> {
    const ears = {
      lost(why: string, pauseMs: number) {
        lost = `${why.replace(/\.$/, '')}; next try in ${Math.ceil(pauseMs / 1000)} s`;
        changed();
      },
    };
    let left = count;
    const stream = { path: '/api/v1/live', silenceMs: SILENCE_MS };
    for await (const { data } of followStream({ api, signal, retryPause }, stream, ears)) {
      lost = undefined;
      if (data !== '') board = fold(board, readMessage(data), performance.now());
      changed();
      left -= 1;
      if (left <= 0) return;
    }
  }

  return {
    get board() {
      return board;
    },
    get isLost() {
      return lost !== undefined;
    },
    get status() {
      return lost ?? '';
    },
    run: (changed) => (running ??= read(changed)),
    async stop() {
      stopping.abort();
      await running?.catch(() => {});
    },
  };
}

function readMessage(data: string): Row {
  try {
    return JSON.parse(data) as Row;
  } catch {
    throw new CliError('stream_broken', EXIT.failed, 'The server sent a message that is not valid JSON.');
  }
}
