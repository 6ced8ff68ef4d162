import type { Readable } from 'node:stream';
import type { LiveEvent } from '../db/queries/live.ts';
import { guardedStreams, type StillAllowed, type StreamOptions } from '../events/guarded-stream.ts';
import { majorNumber } from '../payments/money.ts';
import { type Board, SHOWN_EVENTS } from './board.ts';

/** How the live feed is followed. */
export interface LiveRequest {
  /** The id of the last message that was received; undefined begins with what happens from now on. */
  after: bigint | undefined;
  stillAllowed: StillAllowed;
}

/**
 * Makes streams of what the board shows: everything once, then what changed, a message a second at most, whatever happens. The
 * id of a message is the number of the newest event that it counts, so a follower who comes back is told of the others.
 */
export function liveStreams(board: Board, now: () => Date, options: StreamOptions = {}) {
  const open = guardedStreams(options);
  return ({ after, stillAllowed }: LiveRequest): Readable => open(follow(board, now, after), stillAllowed);
}

/** What routes may call. */
export type OpenLiveStream = ReturnType<typeof liveStreams>;

async function* follow(board: Board, now: () => Date, after: bigint | undefined): AsyncGenerator<string> {
  const { feed } = board;
  const head = await board.join();
  try {
    let cursor = after ?? head;
    let seen = 0;
    let kind = 'snapshot';
    while (!feed.stopped) {
      const { events, upTo } = await feed.since({}, cursor);
      const isBehind = events.length > 0 && upTo === events.at(-1)?.sequence;
      const isNew = kind === 'snapshot' && after === undefined;
      const rows = isNew ? [...board.newest().filter(({ sequence }) => sequence <= cursor), ...events] : events;
      const parts = [...board.sections()].filter(([, { revision }]) => revision > seen);
      seen = Math.max(seen, ...parts.map(([, { revision }]) => revision));
      cursor = upTo;
      const members = parts.map(([name, { json }]) => `"${name}":${json}`);
      if (events.length > 0 || kind === 'snapshot') members.push(`"events":${JSON.stringify(passed(events, rows))}`);
      const data = `{"at":"${now().toISOString()}",${members.join(',')}}`;
      yield members.length === 0 ? '' : `id: ${cursor}\nevent: ${kind}\ndata: ${data}\n\n`;
      kind = 'change';
      if (!isBehind) await feed.tick();
    }
  } finally {
    board.leave();
  }
}

/** How many events passed, of each type; of these, or of those that are shown first, the newest. */
function passed(events: readonly LiveEvent[], rows: readonly LiveEvent[]) {
  const types: Record<string, number> = {};
  for (const { type } of events) types[type] = (types[type] ?? 0) + 1;
  return { passed: events.length, types, rows: rows.slice(-SHOWN_EVENTS).map(viewLiveEvent) };
}

/** An event as the live feed shows it. */
function viewLiveEvent(event: LiveEvent) {
  const { sequence, type, createdAt, objectNo, orderNo, clientId, project, payWay, minor, currency, subject } = event;
  const hasMoney = minor !== null && currency !== null;
  return {
    sequence: Number(sequence),
    type,
    at: createdAt.toISOString(),
    objectNo,
    orderNo,
    clientId,
    project,
    payWay,
    amount: hasMoney ? majorNumber({ minor: BigInt(minor), currency }) : null,
    currency: hasMoney ? currency : null,
    subject,
  };
}
