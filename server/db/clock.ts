import { sql } from 'kysely';
import type { OpenDatabase } from './orm.ts';

/** If the machine's clock differs from the database's clock by at most this time (ms), the machine's clock is used. */
const TOLERATED_MS = 1_000;

/** SQL value: the database's time in seconds since 1970. */
export const DATABASE_TIME = sql<number>`extract(epoch from clock_timestamp())::float8`;

/**
 * The current time for this process. If the machine's clock differs too much from the database's clock, the process
 * uses the database's time. Every process compares stored expiry times (of orders, tokens, leases) with its current
 * time, so a process with a wrong clock would expire them for all processes. Between two queries of the database's
 * time, the process adds the time that has passed since the last query.
 */
export class DatabaseClock {
  readonly #wall: () => number;
  readonly #steady: () => number;
  #received: { time: number; at: number; error: number } | undefined;

  constructor(wall: () => number = () => Date.now(), steady: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#steady = steady;
  }

  /** Returns the current time as whole milliseconds since 1970. */
  readonly time = (): number => {
    const own = this.#wall();
    if (!this.#received) return own;
    const { time, at, error } = this.#received;
    const databaseTime = time + this.#steady() - at;
    return Math.abs(own - databaseTime) <= error + TOLERATED_MS ? own : Math.round(databaseTime);
  };

  readonly now = (): Date => new Date(this.time());

  /**
   * Runs a statement that reads the database's time, and stores this time. If the statement was slow, its result is
   * inaccurate, so it is stored only if no result is stored yet.
   */
  async measure<T>(statement: () => Promise<T>, secondsOf: (answer: T) => number | undefined): Promise<T> {
    const sentAt = this.#steady();
    const result = await statement();
    const seconds = secondsOf(result);
    const took = this.#steady() - sentAt;
    const isLate = took > TOLERATED_MS && this.#received !== undefined;
    if (seconds !== undefined && !isLate)
      this.#received = { time: seconds * 1000, at: sentAt + took / 2, error: took / 2 };
    return result;
  }

  async query({ em }: Pick<OpenDatabase, 'em'>): Promise<void> {
    const db = em.fork({ useContext: false }).getKysely<unknown>();
    const query = () => sql<{ time: number }>`select ${DATABASE_TIME} as time`.execute(db);
    await this.measure(query, ({ rows: [row] }) => row?.time);
  }
}

/** Times in ms: `theirs` is the other machine's, `sentAt` and `receivedAt` are this machine's. */
interface Reading {
  sentAt: number;
  theirs: number;
  receivedAt: number;
}

/**
 * Returns by how many milliseconds this machine's clock is ahead of the other machine's clock. A negative result means
 * that this machine's clock is behind. The result is the smallest possible difference. The real difference may be
 * larger, by at most the duration of the query.
 */
export function aheadOf({ sentAt, theirs, receivedAt }: Reading): number {
  return Math.max(0, sentAt - theirs) + Math.min(0, receivedAt - theirs);
}
