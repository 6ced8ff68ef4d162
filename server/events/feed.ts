import type { EventRow } from '../db/entities/events.ts';
import { type EventFilter, listEvents, settledHead } from '../db/queries/events.ts';
import type { ReadTx } from '../db/store.ts';
import type { EventPorts } from './ports.ts';

type LogRow = Pick<EventRow, 'sequence' | 'type' | 'clientId' | 'project' | 'objectNo' | 'createdAt'>;

/**
 * Events for a follower of the feed. With them the follower has all matching events up to the sequence number `upTo`.
 */
interface News<Row = EventRow> {
  events: Row[];
  upTo: bigint;
}

/** How a feed reads the event log: complete events, or only some of their columns. */
export interface Reader<Row extends LogRow> {
  /** The parameters are those of `listEvents`. */
  list(tx: ReadTx, filter: EventFilter, after: bigint, rows: number, settled?: bigint): Promise<Row[]>;
  /**
   * `page`: the maximum number of events per database read. `kept`: the maximum number of events that the feed keeps in
   * memory.
   */
  page: number;
  kept: number;
}

/** One loop per process polls the log and keeps the newest events in memory, so that streams read no database. */
export interface EventFeed<Row = EventRow> {
  /** Returns the number up to which the log is complete. Each call of `join` needs one call of `leave`. */
  join(): Promise<bigint>;
  leave(): void;
  /** Returns the matching events after a sequence number, recent ones from memory, older ones from the database. */
  since(filter: EventFilter, after: bigint): Promise<News<Row>>;
  /** Resolves after the next poll, with or without new events. */
  tick(): Promise<void>;
  /** Stops polling. When `stopped` is true, followers must end. */
  stop(): void;
  readonly stopped: boolean;
}

const WHOLE_EVENTS: Reader<EventRow> = { list: listEvents, page: 200, kept: 2000 };

/** The state of one poll loop. The loop ends when its last follower leaves. The next follower starts a new loop. */
interface Reading<Row> {
  head: bigint;
  recent: Row[];
  /** `recent` contains all events whose sequence number is higher than `floor`. */
  floor: bigint;
  begun: Promise<void>;
  timer?: NodeJS.Timeout;
}

/** Creates a feed of complete events. It polls the event log only while there are followers. */
export function createEventFeed(ports: Pick<EventPorts, 'store' | 'log'>, pollMs = 500): EventFeed {
  return createFeed(ports, WHOLE_EVENTS, pollMs);
}

/** Creates a feed whose events have the columns that `reader` reads. */
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
      // The failed loop is removed, so that the next follower starts a new loop. Earlier followers of the failed loop
      // may still wait for this error.
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

  /** Schedules the next poll. Nothing is scheduled if all followers of the loop left during the last poll. */
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
    // The log is complete up to the number `head`: no event can be added there later. If the read returns fewer events
    // than `page`, there are no more matching events up to `head`.
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
