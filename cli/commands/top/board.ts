import type { Row } from '../../values.ts';

/** What the live feed has told so far. */
export interface Board {
  /** When the service said it; null before the first message. */
  at: string | null;
  orders: Row;
  channels: readonly Row[];
  due: readonly Row[];
  webhooks: readonly Row[];
  exceptions: Row;
  replicas: readonly Row[];
  /** Events that passed since payctl follows: every one is counted, though not every one is shown. */
  passed: number;
  /** The same by type. */
  types: Readonly<Record<string, number>>;
  /** The newest events, oldest first. */
  rows: readonly Row[];
  /** How many had passed at what time, in milliseconds, over the last seconds. */
  trail: readonly (readonly [at: number, passed: number])[];
}

/** Events that are kept for the screen. */
const KEPT = 1_000;
/** The rate is that of the last ten seconds. */
const TRAIL_MS = 10_000;

/** Before anything was told. */
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

/** The board after one more message of the feed, at a time in milliseconds. */
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

/** Events a second, over the last seconds up to a time in milliseconds. */
export function rateOf({ trail, passed }: Board, now: number): number {
  const [first] = trail.filter(([at]) => at > now - TRAIL_MS);
  if (!first || now <= first[0]) return 0;
  return (passed - first[1]) / Math.max(1, (now - first[0]) / 1000);
}

/** An object in a message, or an empty one. */
export function rowIn(message: Row, name: string): Row {
  const value = message[name];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};
}

/** A list of objects in a message. */
export function listIn(message: Row, name: string): readonly Row[] | undefined {
  const value = message[name];
  return Array.isArray(value) ? (value as Row[]) : undefined;
}

/** Who begins anew is shown the newest of the log once more. */
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
