import type { EventRow } from '../db/entities/events.ts';
import { type EventFilter, listEvents, settledHead } from '../db/queries/events.ts';
import type { EventPorts } from './ports.ts';

/** Where a follower stands: what is new for it, and the number up to which it has seen everything. */
export interface News {
  events: EventRow[];
  upTo: bigint;
}

/** The end of the log, read by one poller for all followers of this process. */
export interface EventFeed {
  /** Begins to follow; gives the number of the newest settled event. Every `join` needs its `leave`. */
  join(): Promise<bigint>;
  leave(): void;
  /** What passes the filter after a number: from memory near the end of the log, from the database before. */
  since(filter: EventFilter, after: bigint): Promise<News>;
  /** Resolves when the log was looked at again, whether something came or not. */
  tick(): Promise<void>;
  /** No new ticks; followers end. */
  stop(): void;
  readonly stopped: boolean;
}

const KEPT = 2000;
const PAGE = 200;

/** What one poll loop has read; it ends with its last follower, and a later one begins with a loop of its own. */
interface Reading {
  head: bigint;
  recent: EventRow[];
  /** Everything after this number is in `recent`. */
  floor: bigint;
  begun: Promise<void>;
  timer?: NodeJS.Timeout;
}

/** A feed over the log; it polls only while somebody follows. */
export function createEventFeed({ store, log }: Pick<EventPorts, 'store' | 'log'>, pollMs = 500): EventFeed {
  let followers = 0;
  let reading: Reading | undefined;
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

  function begin(): Reading {
    const mine: Reading = { head: 0n, recent: [], floor: 0n, begun: Promise.resolve() };
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
  function schedule(mine: Reading): void {
    if (!stopped && mine === reading) mine.timer = setTimeout(() => void poll(mine), pollMs);
  }

  async function poll(mine: Reading): Promise<void> {
    try {
      while (mine === reading && (await readPage(mine)));
    } catch (error) {
      log('warn', 'the event log could not be read', { error });
    }
    if (mine !== reading) return;
    wakeAll();
    schedule(mine);
  }

  async function readPage(mine: Reading): Promise<boolean> {
    const rows = await store.read((tx) => listEvents(tx, {}, mine.head, PAGE));
    const { recent } = mine;
    recent.push(...rows);
    mine.head = rows.at(-1)?.sequence ?? mine.head;
    const surplus = recent.splice(0, Math.max(0, recent.length - KEPT));
    mine.floor = surplus.at(-1)?.sequence ?? mine.floor;
    return rows.length === PAGE;
  }

  function wakeAll(): void {
    const woken = next;
    next = Promise.withResolvers<void>();
    woken.resolve();
  }

  async function since(filter: EventFilter, after: bigint): Promise<News> {
    if (reading && after >= reading.floor) {
      const { recent, head } = reading;
      const events = recent.filter((event) => event.sequence > after && passes(filter, event));
      return { events, upTo: after > head ? after : head };
    }
    // What is in memory now is settled for good, so a page up to there that is not full has everything.
    const seen = reading?.head;
    const events = await store.read((tx) => listEvents(tx, filter, after, PAGE, seen));
    const last = events.at(-1)?.sequence ?? after;
    return { events, upTo: events.length === PAGE || seen === undefined || last > seen ? last : seen };
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

function passes({ clientId, project, objectNo, types, since }: EventFilter, event: EventRow): boolean {
  return (
    (clientId === undefined || clientId === event.clientId) &&
    (project === undefined || [project].flat().includes(event.project)) &&
    (objectNo === undefined || objectNo === event.objectNo) &&
    (types === undefined || types.length === 0 || types.includes(event.type)) &&
    (since === undefined || event.createdAt >= since)
  );
}
