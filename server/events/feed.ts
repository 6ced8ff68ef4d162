import type { EventRow } from '../db/entities/events.ts';
import { type EventFilter, listEvents, settledHead } from '../db/queries/events.ts';
import type { ReadTx } from '../db/store.ts';
import type { EventPorts } from './ports.ts';

/** The columns of an event that filters use. */
type LogRow = Pick<EventRow, 'sequence' | 'type' | 'clientId' | 'project' | 'objectNo' | 'createdAt'>;

/** The new events for a follower, and the sequence number up to which the follower has now received all matching events. */
interface News<Row = EventRow> {
  events: Row[];
  upTo: bigint;
}

/** How a feed reads the log: complete events, or only some columns of each. */
export interface Reader<Row extends LogRow> {
  /** Returns the events after a sequence number, in the sequence of the log (see `listEvents`). */
  list(tx: ReadTx, filter: EventFilter, after: bigint, rows: number, settled?: bigint): Promise<Row[]>;
  /** Most events per read, and most events kept in memory. */
  page: number;
  kept: number;
}

/** The newest part of the event log, read by one poll loop for all followers of this process. */
export interface EventFeed<Row = EventRow> {
  /**
   * Starts to follow. Returns the sequence number of the newest event before which none can be added any more. Every
   * `join` needs a `leave`.
   */
  join(): Promise<bigint>;
  leave(): void;
  /** Returns the matching events after a sequence number: from memory if they are recent, otherwise from the database. */
  since(filter: EventFilter, after: bigint): Promise<News<Row>>;
  /** Resolves after the next poll, with or without new events. */
  tick(): Promise<void>;
  /** Stops polling. Followers must end when `stopped` is true. */
  stop(): void;
  readonly stopped: boolean;
}

const WHOLE_EVENTS: Reader<EventRow> = { list: listEvents, page: 200, kept: 2000 };

/** The state of one poll loop. It ends when its last follower leaves, and the next follower starts a new loop. */
interface Reading<Row> {
  head: bigint;
  recent: Row[];
  /** `recent` has all events with a higher sequence number than this. */
  floor: bigint;
  begun: Promise<void>;
  timer?: NodeJS.Timeout;
}

/** Creates a feed of complete events; it polls only while it has followers. */
export function createEventFeed(ports: Pick<EventPorts, 'store' | 'log'>, pollMs = 500): EventFeed {
  return createFeed(ports, WHOLE_EVENTS, pollMs);
}

/** Creates a feed of the columns that `reader` reads. */
export function createFeed<Row extends LogRow>(
  { store, log }: Pick<EventPorts, 'store' | 'log'>,
  { list, page, kept }: Reader<Row>,
  pollMs: number,
): EventFeed<Row> {
  let followers = 0;
  let reading: Reading<Row> | undefined;
  let stopped = false;
  let next = Promise.withResolvers<void>();

  async function join(): Promise<bigint> {
    followers += 1;
    reading ??= begin();
    const mine = reading;
    try {
      await mine.begun;
      return mine.head;
    } catch (error) {
      // The next follower must start a new loop, even while earlier followers still wait for this failure.
      if (reading === mine) reading = undefined;
      leave();
      throw error;
    }
  }

  function begin(): Reading<Row> {
    const mine: Reading<Row> = { head: 0n, recent: [], floor: 0n, begun: Promise.resolve() };
    mine.begun = store.read(settledHead).then((head) => {
      Object.assign(mine, { head, floor: head });
      schedule(mine);
    });
    return mine;
  }

  function leave(): void {
    followers -= 1;
    if (followers > 0) return;
    clearTimeout(reading?.timer);
    reading = undefined;
    wakeAll();
  }

  /** Schedules the next poll, unless all followers of the loop left while it was reading. */
  function schedule(mine: Reading<Row>): void {
    if (!stopped && mine === reading) mine.timer = setTimeout(() => void poll(mine), pollMs);
  }

  async function poll(mine: Reading<Row>): Promise<void> {
    try {
      while (mine === reading && (await readPage(mine)));
    } catch (error) {
      log('warn', 'the event log could not be read', { error });
    }
    if (mine !== reading) return;
    wakeAll();
    schedule(mine);
  }

  async function readPage(mine: Reading<Row>): Promise<boolean> {
    const rows = await store.read((tx) => list(tx, {}, mine.head, page));
    const { recent } = mine;
    recent.push(...rows);
    mine.head = rows.at(-1)?.sequence ?? mine.head;
    const surplus = recent.splice(0, Math.max(0, recent.length - kept));
    mine.floor = surplus.at(-1)?.sequence ?? mine.floor;
    return rows.length === page;
  }

  function wakeAll(): void {
    const woken = next;
    next = Promise.withResolvers<void>();
    woken.resolve();
  }

  async function since(filter: EventFilter, after: bigint): Promise<News<Row>> {
    if (reading && after >= reading.floor) {
      const { recent, head } = reading;
      const events = recent.filter((event) => event.sequence > after && passes(filter, event));
      return { events, upTo: after > head ? after : head };
    }
    // No event can be added any more before `head`, so a page up to `head` that is not full is complete.
    const seen = reading?.head;
    const events = await store.read((tx) => list(tx, filter, after, page, seen));
    const last = events.at(-1)?.sequence ?? after;
    return { events, upTo: events.length === page || seen === undefined || last > seen ? last : seen };
  }

  return {
    join,
    leave,
    since,
    tick: () => next.promise,
    stop() {
      stopped = true;
      clearTimeout(reading?.timer);
      wakeAll();
    },
    get stopped() {
      return stopped;
    },
  };
}

function passes({ clientId, project, objectNo, types, since }: EventFilter, event: LogRow): boolean {
  return (
    (clientId === undefined || clientId === event.clientId) &&
    (project === undefined || [project].flat().includes(event.project)) &&
    (objectNo === undefined || objectNo === event.objectNo) &&
    (types === undefined || types.length === 0 || types.includes(event.type)) &&
    (since === undefined || event.createdAt >= since)
  );
}
