import { sql } from 'kysely';
import type { OpenDatabase } from './orm.ts';

/** Up to this difference (ms) the machine's own clock is used. */
const TOLERATED_MS = 1_000;

/** SQL value: the database's time in seconds since 1970. */
export const DATABASE_TIME = sql<number>`extract(epoch from clock_timestamp())::float8`;

/**
 * The time of this process. If the machine's clock differs from the database's clock, this is the database's time. Every process compares
 * stored expiry times (of orders, tokens, leases) with its own time, so one machine with a wrong clock would expire them for all processes.
 * Between two results of the database the time advances by the monotonic clock.
 */
export class DatabaseClock {
  readonly #wall: () => number;
  readonly #steady: () => number;
  #received: { time: number; at: number; error: number } | undefined;

  constructor(wall: () => number = () => Date.now(), steady: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#steady = steady;
  }

  /** Whole milliseconds since 1970. */
  readonly time = (): number => {
    const own = this.#wall();
    if (!this.#received) return own;
    const { time, at, error } = this.#received;
    const databaseTime = time + this.#steady() - at;
    return Math.abs(own - databaseTime) <= error + TOLERATED_MS ? own : Math.round(databaseTime);
  };

  readonly now = (): Date => new Date(this.time());

  /** Runs a statement and takes the database's time from its result. A slow result is used only if there is no earlier result. */
  async hear<T>(statement: () => Promise<T>, secondsOf: (answer: T) => number | undefined): Promise<T> {
    const sentAt = this.#steady();
    const result = await statement();
    const seconds = secondsOf(result);
    const took = this.#steady() - sentAt;
    const isLate = took > TOLERATED_MS && this.#received !== undefined;
    if (seconds !== undefined && !isLate)
      this.#received = { time: seconds * 1000, at: sentAt + took / 2, error: took / 2 };
    return result;
  }

  /** Queries the database's time. */
  async ask({ em }: Pick<OpenDatabase, 'em'>): Promise<void> {
    const db = em.fork({ useContext: false }).getKysely<unknown>();
    const ask = () => sql<{ time: number }>`select ${DATABASE_TIME} as time`.execute(db);
    await this.hear(ask, ({ rows: [row] }) => row?.time);
  }
}

/** One reading of another clock, in milliseconds: its time, and when the query was sent and its response received by the own clock. */
interface Reading {
  sentAt: number;
  theirs: number;
  receivedAt: number;
}

/**
 * The minimum of milliseconds by which the own clock is ahead of the other clock. Negative = behind; 0 = the difference is shorter than the
 * query took.
 */
export function aheadOf({ sentAt, theirs, receivedAt }: Reading): number {
  return Math.max(0, sentAt - theirs) + Math.min(0, receivedAt - theirs);
}
