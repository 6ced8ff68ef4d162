import { AsyncLocalStorage } from 'node:async_hooks';
import type { Tx } from '../db/store.ts';

interface CallRatePorts {
  /** How many channel calls per second one queue may make. Each channel account has one queue. */
  perSecond: number;
  now: () => Date;
  /**
   * Records (books) channel calls in the database, where all replicas see them. Each call occupies its queue for a
   * fixed time. For each queue, returns the time (ms since 1970) at which the last booked call ends.
   */
  bookCalls: (tx: Tx, now: Date, calls: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>;
}

/** Limits the channel calls per second of each queue, for all replicas and all kinds of work together. */
export interface CallRate {
  /** Returns for how many due rows of a queue the work may begin now. */
  allowance(queueKey: string): number;
  waitMs(queueKey: string): number;
  /**
   * Books one call for each row whose work begins. Also books further calls, if the work on earlier rows made more
   * calls than were booked.
   */
  book(tx: Tx, begun: ReadonlyMap<string, number>): Promise<void>;
  /** Runs `work` for one due row and counts the channel calls that it makes. */
  counted<T>(queueKey: string, work: () => Promise<T>): Promise<T>;
}

const calls = new AsyncLocalStorage<{ count: number }>();

/** Must be called for each channel call. Counts it for the due row that is being processed, if any. */
export function noteChannelCall(): void {
  const row = calls.getStore();
  if (row) row.count += 1;
}

/** A queue may make the calls of this many seconds at once, so that one statement can lease several due rows. */
const BURST_SECONDS = 0.25;

/**
 * Creates the call rate limit. A queue waits if its last booked call ends too far in the future. A replica knows only
 * its own last booking, so it may begin a few rows too early; its next booking corrects this.
 */
export function createCallRate({ perSecond, now, bookCalls }: CallRatePorts): CallRate {
  const intervalMs = 1000 / perSecond;
  const burst = Math.max(1, Math.floor(perSecond * BURST_SECONDS));
  const bookedUntil = new Map<string, number>();
  /** Channel calls that must still be booked. Negative if the work on rows made fewer calls than were booked. */
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

  /** Returns by how many calls, booked or not, a queue is ahead of its permitted rate. */
  function ahead(queueKey: string): number {
    const booked = Math.max(0, (bookedUntil.get(queueKey) ?? 0) - now().getTime()) / intervalMs;
    return Math.max(0, booked + (unbooked.get(queueKey) ?? 0));
  }
}
