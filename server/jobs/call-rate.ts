import { AsyncLocalStorage } from 'node:async_hooks';
import type { Tx } from '../db/store.ts';

/** The dependencies of a call rate. */
interface CallRatePorts {
  /** Calls per second that one queue may make. */
  perSecond: number;
  now: () => Date;
  /** Books calls for all replicas; returns for each queue the instant up to which it is booked (ms). */
  bookCalls: (tx: Tx, now: Date, calls: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>;
}

/** Limits the call rate of each queue, across all kinds of rows and all replicas. */
export interface CallRate {
  /** How many rows of a queue may begin now. */
  allowance(queueKey: string): number;
  /** How long to wait until rows of a queue may begin (ms). */
  waitMs(queueKey: string): number;
  /** Books one call per row that begins, and the extra calls of earlier rows. */
  book(tx: Tx, begun: ReadonlyMap<string, number>): Promise<void>;
  /** Processes one row and counts its channel calls. */
  counted<T>(queueKey: string, work: () => Promise<T>): Promise<T>;
}

const calls = new AsyncLocalStorage<{ count: number }>();

/** Counts a channel call for the row in progress, if there is one. */
export function noteChannelCall(): void {
  const row = calls.getStore();
  if (row) row.count += 1;
}

/** Calls of this many seconds may be made at once, so that one statement leases more than one row. */
const BURST_SECONDS = 0.25;

/**
 * Creates a call rate for all queues. The database stores for each queue the instant up to which calls are booked; a queue that
 * is booked ahead of the clock waits. A replica knows only its own last booking: bookings of other replicas may let it begin a
 * few rows too early, which its next booking corrects.
 */
export function createCallRate({ perSecond, now, bookCalls }: CallRatePorts): CallRate {
  const intervalMs = 1000 / perSecond;
  const burst = Math.max(1, Math.floor(perSecond * BURST_SECONDS));
  const bookedUntil = new Map<string, number>();
  /** Calls of each queue that are not booked yet. Each row is booked with one call when it begins, but may make more calls or none. */
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

  /** How many calls a queue is ahead of the clock. */
  function ahead(queueKey: string): number {
    const booked = Math.max(0, (bookedUntil.get(queueKey) ?? 0) - now().getTime()) / intervalMs;
    return Math.max(0, booked + (unbooked.get(queueKey) ?? 0));
  }
}
