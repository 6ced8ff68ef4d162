import { AsyncLocalStorage } from 'node:async_hooks';
import type { Tx } from '../db/store.ts';

/** What a pace is kept with. */
interface CallRatePorts {
  /** Calls that one lane may make in a second. */
  perSecond: number;
  now: () => Date;
  /** Books calls of lanes that are made now, for all replicas; gives the instants up to which each is booked (ms). */
  bookCalls: (tx: Tx, now: Date, calls: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>;
}

/** Keeps the calls of each lane to a rate, however many kinds of rows and replicas make them. */
export interface CallRate {
  /** How many rows of a lane may begin now. */
  allowance(queueKey: string): number;
  /** How long to wait until a lane may begin some (ms). */
  waitMs(queueKey: string): number;
  /** Books the rows that begin, and what earlier ones called beyond one call each. */
  book(tx: Tx, begun: ReadonlyMap<string, number>): Promise<void>;
  /** Runs the work of one row, and counts its calls. */
  counted<T>(queueKey: string, work: () => Promise<T>): Promise<T>;
}

const calls = new AsyncLocalStorage<{ count: number }>();

/** Tells the row under way, if there is one, that its channel is called. */
export function noteChannelCall(): void {
  const row = calls.getStore();
  if (row) row.count += 1;
}

/** So much of a second may come at once, so that each claim brings more than one row. */
const BURST_SECONDS = 0.25;

/**
 * A pace for all lanes. Each has an instant up to which its calls are booked, in the database; a lane that is booked ahead of
 * the clock waits. A replica knows the instant of its own last booking: what another has booked since makes it begin a few
 * rows too early at most, which the next booking makes up for.
 */
export function createCallRate({ perSecond, now, bookCalls }: CallRatePorts): CallRate {
  const intervalMs = 1000 / perSecond;
  const burst = Math.max(1, Math.floor(perSecond * BURST_SECONDS));
  const bookedUntil = new Map<string, number>();
  /** Calls beyond one for each row, which no booking has yet. */
  const unbooked = new Map<string, number>();
  return {
    allowance: (queueKey) => Math.max(0, Math.floor(burst - ahead(queueKey))),
    waitMs: (queueKey) => Math.max(1, Math.ceil((ahead(queueKey) - burst + Math.max(1, burst / 2)) * intervalMs)),
    async book(tx, begun) {
      const all = new Map(
        [...begun].map(([queueKey, rows]) => [queueKey, Math.max(0, rows + (unbooked.get(queueKey) ?? 0))]),
      );
      for (const [queueKey, until] of await bookCalls(tx, now(), all)) bookedUntil.set(queueKey, until);
      for (const queueKey of all.keys()) unbooked.delete(queueKey);
      for (const [queueKey, until] of bookedUntil) if (until < now().getTime()) bookedUntil.delete(queueKey);
    },
    async counted(queueKey, work) {
      const row = { count: 0 };
      try {
        return await calls.run(row, work);
      } finally {
        if (row.count !== 1) unbooked.set(queueKey, (unbooked.get(queueKey) ?? 0) + row.count - 1);
      }
    },
  };

  /** How many calls a lane is ahead of the clock. */
  function ahead(queueKey: string): number {
    const booked = Math.max(0, (bookedUntil.get(queueKey) ?? 0) - now().getTime()) / intervalMs;
    return Math.max(0, booked + (unbooked.get(queueKey) ?? 0));
  }
}
