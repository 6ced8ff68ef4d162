import type { Context } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { followStream } from '../../follow-stream.ts';
import type { Row } from '../../values.ts';

/** The current state of the service, collected from the messages of the live feed. */
export interface Board {
  /** Time of the newest message; null before the first one. */
  at: string | null;
  orders: Row;
  channels: readonly Row[];
  due: readonly Row[];
  webhooks: readonly Row[];
  exceptions: Row;
  replicas: readonly Row[];
  /** Number of all events since the connection, including events that are not in `rows`. */
  passed: number;
  /** Number of events since the connection, by event type. */
  types: Readonly<Record<string, number>>;
  /** The newest events, oldest first. */
  rows: readonly Row[];
  /** The number of events (`passed`) after each message of the last ten seconds, for the event rate. */
  trail: readonly (readonly [at: number, passed: number])[];
}

/** Maximum number of events that the board keeps. */
const KEPT = 1_000;
/** The event rate is computed over this time. */
const TRAIL_MS = 10_000;

export const NOTHING: Board = {
  at: null,
  orders: {},
  channels: [],
  due: [],
  webhooks: [],
  exceptions: {},
  replicas: [],
  passed: 0,
  types: {},
  rows: [],
  trail: [],
};

/** Applies one message of the live feed to the board and returns the new board. `now` is in milliseconds. */
export function fold(board: Board, message: Row, now: number): Board {
  const events = rowIn(message, 'events');
  const passed = board.passed + Number(events['passed'] ?? 0);
  return {
    at: typeof message['at'] === 'string' ? message['at'] : board.at,
    orders: { ...board.orders, ...rowIn(message, 'orders') },
    channels: listIn(message, 'channels') ?? board.channels,
    due: listIn(message, 'due') ?? board.due,
    webhooks: listIn(message, 'webhooks') ?? board.webhooks,
    exceptions: { ...board.exceptions, ...rowIn(message, 'exceptions') },
    replicas: listIn(message, 'replicas') ?? board.replicas,
    passed,
    types: added(board.types, rowIn(events, 'types')),
    rows: newRows(board.rows, listIn(events, 'rows') ?? []),
    trail: [...board.trail.filter(([at]) => at > now - TRAIL_MS), [now, passed]],
  };
}

/** Events per second over the last ten seconds. */
export function rateOf({ trail, passed }: Board, now: number): number {
  const [first] = trail.filter(([at]) => at > now - TRAIL_MS);
  if (!first || now <= first[0]) return 0;
  return (passed - first[1]) / Math.max(1, (now - first[0]) / 1000);
}

/** Returns the object with this name in a message, or an empty object. */
export function rowIn(message: Row, name: string): Row {
  const value = message[name];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};
}

/** Returns the list with this name in a message; undefined if there is no list. */
export function listIn(message: Row, name: string): readonly Row[] | undefined {
  const value = message[name];
  return Array.isArray(value) ? (value as Row[]) : undefined;
}

/** Skips known events, because the service sends the newest events again after a reconnection. */
function newRows(before: readonly Row[], more: readonly Row[]): readonly Row[] {
  if (more.length === 0) return before;
  const last = Number(before.at(-1)?.['sequence'] ?? -1);
  return [...before, ...more.filter((row) => Number(row['sequence']) > last)].slice(-KEPT);
}

function added(before: Board['types'], more: Row): Board['types'] {
  const sums = { ...before };
  for (const [type, count] of Object.entries(more)) sums[type] = (sums[type] ?? 0) + Number(count);
  return sums;
}

export interface LiveFeed {
  readonly board: Board;
  /** Whether the connection is lost. If so, `board` is outdated. */
  readonly isLost: boolean;
  /** The cause of the lost connection and the time of the next attempt; empty while connected. */
  readonly status: string;
  /** Reads until the maximum number of messages or until `stop`. Reconnects after a lost connection. */
  run(changed: () => void): Promise<void>;
  /** Stops reading. Errors of the closing connection are ignored. */
  stop(): Promise<void>;
}

/** Read timeout. The service sends a message every two seconds, and a heartbeat every fifteen seconds. */
const SILENCE_MS = 40_000;

/** Creates a live feed. It stops after `count` messages. */
export function createLiveFeed({ api, terminal, retryPause }: Context, count = Number.POSITIVE_INFINITY): LiveFeed {
  const stopping = new AbortController();
  const signal = AbortSignal.any([terminal.signal, stopping.signal]);
  let board = NOTHING;
  let lost: string | undefined = 'connecting';
  let running: Promise<void> | undefined;

  async function read(changed: () => void): Promise<void> {
    const callbacks = {
      lost(why: string, pauseMs: number) {
        lost = `${why.replace(/\.$/, '')}; next try in ${Math.ceil(pauseMs / 1000)} s`;
        changed();
      },
    };
    let left = count;
    const stream = { path: '/api/v1/live', silenceMs: SILENCE_MS };
    for await (const { data } of followStream({ api, signal, retryPause }, stream, callbacks)) {
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
