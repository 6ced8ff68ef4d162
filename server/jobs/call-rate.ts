import { AsyncLocalStorage } from 'node:async_hooks';
import type { Tx } from '../db/store.ts';

/** The dependencies of the call rate limit. */
interface CallRatePorts {
  /** How many channel calls per second one queue may make. */
  perSecond: number;
  now: () => Date;
  /**
   * Reserves time for channel calls, for all replicas. For each queue, returns the instant (ms) until which calls are
   * booked.
   */
  bookCalls: (tx: Tx, now: Date, calls: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>;
}

/**
 * Limits how many channel calls each queue makes per second. The limit applies to all kinds of rows and all replicas
 * together.
 */
export interface CallRate {
  /** Returns how many rows of a queue may begin now. */
  allowance(queueKey: string): number;
  /** Returns how long to wait until rows of a queue may begin (ms). */
  waitMs(queueKey: string): number;
  /** Books one call for each row that begins, and the additional calls that earlier rows have made. */
  book(tx: Tx, begun: ReadonlyMap<string, number>): Promise<void>;
  /** Runs the work of one row and counts its channel calls. */
  counted<T>(queueKey: string, work: () => Promise<T>): Promise<T>;
}

const calls = new AsyncLocalStorage<{ count: number }>();

/** Counts a channel call for the row in progress. Calls outside a row are not counted. */
export function noteChannelCall(): void {
  const row = calls.getStore();
  if (row) row.count += 1;
}

/** A queue may make the calls of this many seconds at once, so that one statement can lease several rows. */
const BURST_SECONDS = 0.25;

/**
 * Creates the call rate limit for all queues. For each queue, the database stores the instant until which calls are
 * booked. If this instant is too far in the future, the queue waits. A replica knows only the result of its own last
 * booking. If other replicas have booked since then, it may begin a few rows too early; its next booking corrects this.
 */
export function createCallRate({ perSecond, now, bookCalls }: CallRatePorts): CallRate {
  const intervalMs = 1000 / perSecond;
  const burst = Math.max(1, Math.floor(perSecond * BURST_SECONDS));
  const bookedUntil = new Map<string, number>();
  /**
   * Calls of each queue that must still be booked. One call is booked when a row begins, but the row may make several
   * calls or none. The number can therefore be negative.
   */
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

  /** Returns how many calls of a queue are booked for the future. */
  function ahead(queueKey: string): number {
    const booked = Math.max(0, (bookedUntil.get(queueKey) ?? 0) - now().getTime()) / intervalMs;
    return Math.max(0, booked + (unbooked.get(queueKey) ?? 0));
  }
}
