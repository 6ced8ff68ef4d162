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

/** A feed over the log; it polls only while somebody follows. */
export function createEventFeed({ store, log }: Pick<EventPorts, 'store' | 'log'>, pollMs = 500): EventFeed {
  let followers = 0;
  let head = 0n;
  let recent: EventRow[] = [];
  /** Everything after this number is in `recent`. */
  let floor = 0n;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let beginning: Promise<void> | undefined;
  let next = Promise.withResolvers<void>();

  async function join(): Promise<bigint> {
    followers += 1;
    beginning ??= begin();
    await beginning.catch((error: unknown) => {
      leave();
      throw error;
    });
    return head;
  }

  async function begin(): Promise<void> {
    head = await store.read(settledHead);
    floor = head;
    recent = [];
    schedule();
  }

  function leave(): void {
    followers -= 1;
    if (followers > 0) return;
    clearTimeout(timer);
    beginning = undefined;
    wakeAll();
  }

  function schedule(): void {
    if (stopped || followers === 0) return;
    timer = setTimeout(() => void poll(), pollMs);
  }

  async function poll(): Promise<void> {
    try {
      while (await readPage());
    } catch (error) {
      log('warn', 'the event log could not be read', { error });
    }
    wakeAll();
    schedule();
  }

  async function readPage(): Promise<boolean> {
    const rows = await store.read((tx) => listEvents(tx, {}, head, PAGE));
    recent.push(...rows);
    head = rows.at(-1)?.sequence ?? head;
    const surplus = recent.splice(0, Math.max(0, recent.length - KEPT));
    floor = surplus.at(-1)?.sequence ?? floor;
    return rows.length === PAGE;
  }

  function wakeAll(): void {
    const woken = next;
    next = Promise.withResolvers<void>();
    woken.resolve();
  }

  async function since(filter: EventFilter, after: bigint): Promise<News> {
    if (after >= floor) {
      const events = recent.filter((event) => event.sequence > after && passes(filter, event));
      return { events, upTo: after > head ? after : head };
    }
    // What is in memory now is settled, so a page that is not full has everything up to here.
    const seen = head;
    const events = await store.read((tx) => listEvents(tx, filter, after, PAGE));
    const last = events.at(-1)?.sequence ?? after;
    return { events, upTo: events.length === PAGE || last > seen ? last : seen };
  }

  return {
    join,
    leave,
    since,
    tick: () => next.promise,
    stop() {
      stopped = true;
      clearTimeout(timer);
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
    (project === undefined || project === event.project) &&
    (objectNo === undefined || objectNo === event.objectNo) &&
    (types === undefined || types.length === 0 || types.includes(event.type)) &&
    (since === undefined || event.createdAt >= since)
  );
}
