import type { EventRow } from '../db/entities/events.ts';
import { type EventFilter, listEvents, settledHead } from '../db/queries/events.ts';
import type { ReadTx } from '../db/store.ts';
import type { EventPorts } from './ports.ts';

/** As much of an event as filters look at. */
type LogRow = Pick<EventRow, 'sequence' | 'type' | 'clientId' | 'project' | 'objectNo' | 'createdAt'>;

/** Where a follower stands: what is new for it, and the number up to which it has seen everything. */
interface News<Row = EventRow> {
  events: Row[];
  upTo: bigint;
}

/** How a feed reads the log. */
export interface Reader<Row extends LogRow> {
  /** The events after a number, as `listEvents` gives them. */
  list(tx: ReadTx, filter: EventFilter, after: bigint, rows: number, settled?: bigint): Promise<Row[]>;
  /** Most events of one read, and how many are kept in memory. */
  page: number;
  kept: number;
}

/** The end of the log, read by one poller for all followers of this process. */
export interface EventFeed<Row = EventRow> {
  /** Begins to follow; gives the number of the newest settled event. Every `join` needs its `leave`. */
  join(): Promise<bigint>;
  leave(): void;
  /** What passes the filter after a number: from memory near the end of the log, from the database before. */
  since(filter: EventFilter, after: bigint): Promise<News<Row>>;
  /** Resolves when the log was looked at again, whether something came or not. */
  tick(): Promise<void>;
  /** No new ticks; followers end. */
  stop(): void;
  readonly stopped: boolean;
}

const WHOLE_EVENTS: Reader<EventRow> = { list: listEvents, page: 200, kept: 2000 };

/** What one poll loop has read; it ends with its last follower, and a later one begins with a loop of its own. */
interface Reading<Row> {
  head: bigint;
  recent: Row[];
  /** Everything after this number is in `recent`. */
  floor: bigint;
  begun: Promise<void>;
  timer?: NodeJS.Timeout;
}

/** A feed of whole events over the log; it polls only while somebody follows. */
export function createEventFeed(ports: Pick<EventPorts, 'store' | 'log'>, pollMs = 500): EventFeed {
  return createFeed(ports, WHOLE_EVENTS, pollMs);
}

/** A feed of what `reader` reads of each event. */
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
      // Who comes after a failure begins anew, even while others still learn of it.
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

  /** A loop whose followers have left while it was reading goes no further. */
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
    // What is in memory now is settled for good, so a page up to there that is not full has everything.
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
