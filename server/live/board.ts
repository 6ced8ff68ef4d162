import type { Readable } from 'node:stream';
import {
  type LiveEvent,
  MOST_COUNTED,
  type PastEvents,
  listLiveEvents,
  newestLiveEvents,
  pastEventsStatement,
} from '../db/queries/figures.ts';
import { type EventFeed, createFeed } from '../events/feed.ts';
import { type StillAllowed, type StreamOptions, guardedStreams } from '../events/stream.ts';
import { majorNumber } from '../money.ts';
import { type Figures, type PastHour, createPastHour, readFigures, viewTally } from './figures.ts';
import type { LivePorts } from './ports.ts';
import type { Reporter } from './process.ts';

/** If a figure changes, its whole section of the live feed is sent. */
type SectionName = 'orders' | 'channels' | 'due' | 'webhooks' | 'exceptions' | 'replicas';

/** `revision` increases with every change of any section. It shows which sections a client has not received yet. */
interface Section {
  json: string;
  revision: number;
}

/** All followers (clients of the live feed) in this process share the figures. Without followers none are read. */
interface Board {
  feed: EventFeed<LiveEvent>;
  /** Resolves with the number of the newest event that the sections include. Every `join` needs a later `leave`. */
  join(): Promise<bigint>;
  leave(): void;
  sections(): ReadonlyMap<SectionName, Section>;
  /** The newest events of the log, for clients that have just connected. */
  newest(): readonly LiveEvent[];
}

/** Intervals (ms) between two reads of the database; only tests set them. */
export interface BoardTimes {
  figuresMs?: number;
  eventsMs?: number;
}

const HOUR_MS = 3_600_000;
/** Maximum number of events in memory, for clients that reconnect soon. One read returns at most half of it. */
const KEPT = 4_000;
/** Number of past events that a new client receives. */
const SHOWN_EVENTS = 100;

/** The data of the live feed. It exists from the connection of the first client until the last client leaves. */
interface Showing {
  sections: Map<SectionName, Section>;
  newest: LiveEvent[];
  past: PastHour;
  /** A sequence number of the event log. `past` and `newest` include all events up to this number. */
  folded: bigint;
  figures?: Figures;
  begun: Promise<void>;
}

/** Creates a board that reads its figures from the database, for the followers of this process. */
export function createBoard(
  ports: LivePorts,
  reporter: Reporter,
  { figuresMs = 2_000, eventsMs = 1_000 }: BoardTimes = {},
): Board {
  const { store, now, log } = ports;
  const feed = createFeed<LiveEvent>(ports, { list: listLiveEvents, page: KEPT / 2, kept: KEPT }, eventsMs);
  let followers = 0;
  let showing: Showing | undefined;
  let revision = 0;
  return {
    feed,
    join,
    leave,
    sections: () => showing?.sections ?? new Map(),
    newest: () => showing?.newest ?? [],
  };

  async function join(): Promise<bigint> {
    followers += 1;
    showing ??= begin();
    const mine = showing;
    try {
      await mine.begun;
      return mine.folded;
    } catch (error) {
      // Removes the data of the failed attempt, so that the next client starts a new attempt. Other clients may still
      // be waiting for the failed attempt and get the same error.
      if (showing === mine) showing = undefined;
      leave();
      throw error;
    }
  }

  function leave(): void {
    followers -= 1;
    if (followers > 0) return;
    showing = undefined;
    reporter.followedHere = false;
  }

  function begin(): Showing {
    reporter.followedHere = true;
    const nothing = { sections: new Map(), newest: [], past: createPastHour([], now()), folded: 0n };
    const mine: Showing = { ...nothing, begun: Promise.resolve() };
    mine.begun = feed.join().then(async (head) => {
      try {
        await reporter.report();
        await readPast(mine, head);
        await readAll(mine);
      } catch (error) {
        feed.leave();
        throw error;
      }
      void followLog(mine).finally(() => feed.leave());
      void keepFigures(mine);
    });
    return mine;
  }

  function isShown(mine: Showing): boolean {
    return mine === showing && !feed.stopped;
  }

  async function readPast(mine: Showing, head: bigint): Promise<void> {
    const hourAgo = new Date(now().getTime() - HOUR_MS);
    const [events, newest] = await store.read(async (tx) => [
      await tx.sql<PastEvents>`${pastEventsStatement(head, hourAgo)}`,
      await newestLiveEvents(tx, head, SHOWN_EVENTS),
    ]);
    const [first] = events;
    const knownSince = first && first.seen >= MOST_COUNTED ? new Date(first.oldest) : hourAgo;
    Object.assign(mine, { newest, past: createPastHour(events, knownSince), folded: head });
  }

  async function readAll(mine: Showing): Promise<void> {
    mine.figures = await readFigures(ports);
    const { open: _open, ...others } = mine.figures;
    for (const [name, value] of Object.entries(others)) put(mine, name as SectionName, value);
    putOrders(mine);
  }

  function putOrders(mine: Showing): void {
    const { since, statuses } = mine.past.read(now());
    const past = { since: since.toISOString(), statuses: statuses.map((tally) => viewTally(tally)) };
    put(mine, 'orders', { open: mine.figures?.open ?? [], past });
  }

  function put(mine: Showing, name: SectionName, value: unknown): void {
    const json = JSON.stringify(value);
    if (mine.sections.get(name)?.json !== json) mine.sections.set(name, { json, revision: (revision += 1) });
  }

  async function followLog(mine: Showing): Promise<void> {
    while (isShown(mine)) {
      const { events, upTo } = await feed.since({}, mine.folded).catch(() => ({ events: [], upTo: mine.folded }));
      for (const event of events) mine.past.add(event);
      mine.newest = [...mine.newest, ...events].slice(-SHOWN_EVENTS);
      const isBehind = events.length > 0 && upTo === events.at(-1)?.sequence && upTo !== mine.folded;
      mine.folded = upTo;
      putOrders(mine);
      if (!isBehind) await feed.tick();
    }
  }

  async function keepFigures(mine: Showing): Promise<void> {
    let isBlind = false;
    for (await pause(); isShown(mine); await pause()) {
      try {
        await reporter.report();
        await readAll(mine);
        isBlind = false;
      } catch (error) {
        if (!isBlind) log('warn', 'the figures of the live feed could not be read', { error });
        isBlind = true;
      }
    }
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, figuresMs).unref());
  }
}

interface LiveRequest {
  /** The id of the last message that the client received. undefined = it is new and starts at the newest event. */
  after: bigint | undefined;
  stillAllowed: StillAllowed;
}

/**
 * Creates the streams of the live feed: a snapshot and then the changes, at most one message a second. The id of a
 * message is the number of its newest event, after which a client that reconnects continues.
 */
export function liveStreams(board: Board, now: () => Date, options: StreamOptions = {}) {
  const open = guardedStreams(options);
  return ({ after, stillAllowed }: LiveRequest): Readable => open(follow(board, now, after), stillAllowed);
}

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

/** Counts `events` by type, and shows the newest 100 of `rows`. For a new client, `rows` also contains past events. */
function passed(events: readonly LiveEvent[], rows: readonly LiveEvent[]) {
  const types: Record<string, number> = {};
  for (const { type } of events) types[type] = (types[type] ?? 0) + 1;
  return { passed: events.length, types, rows: rows.slice(-SHOWN_EVENTS).map(viewLiveEvent) };
}

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
