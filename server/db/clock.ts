import { sql } from 'kysely';
import type { OpenDatabase } from './orm.ts';

/** A clock that differs by less decides nothing: machines that are kept in time keep their own. */
const TOLERATED_MS = 1_000;

/** SQL value: the database's time in seconds since 1970. */
export const DATABASE_TIME = sql<number>`extract(epoch from clock_timestamp())::float8`;

/**
 * The time of this process, which is the database's where the machine's clock differs from it. Ends that are written (an order's,
 * a token's, a lease's) are judged by all processes of a database, so one machine with a wrong clock would end them for all.
 * Between two answers of the database the time goes on by the clock that no administrator and no NTP step moves.
 */
export class DatabaseClock {
  readonly #wall: () => number;
  readonly #steady: () => number;
  #heard: { time: number; at: number; error: number } | undefined;

  constructor(wall: () => number = () => Date.now(), steady: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#steady = steady;
  }

  /** Whole milliseconds since 1970. */
  readonly time = (): number => {
    const own = this.#wall();
    if (!this.#heard) return own;
    const { time, at, error } = this.#heard;
    const told = time + this.#steady() - at;
    return Math.abs(own - told) <= error + TOLERATED_MS ? own : Math.round(told);
  };

  readonly now = (): Date => new Date(this.time());

  /** Takes the time from a statement that was begun at once; an answer that was long under way only counts while there is no better one. */
  async hear<T>(statement: () => Promise<T>, secondsOf: (answer: T) => number | undefined): Promise<T> {
    const asked = this.#steady();
    const answer = await statement();
    const seconds = secondsOf(answer);
    const took = this.#steady() - asked;
    const isLate = took > TOLERATED_MS && this.#heard !== undefined;
    if (seconds !== undefined && !isLate) this.#heard = { time: seconds * 1000, at: asked + took / 2, error: took / 2 };
    return answer;
  }

  /** Asks the database. */
  async ask({ em }: Pick<OpenDatabase, 'em'>): Promise<void> {
    const db = em.fork({ useContext: false }).getKysely<unknown>();
    const ask = () => sql<{ time: number }>`select ${DATABASE_TIME} as time`.execute(db);
    await this.hear(ask, ({ rows: [row] }) => row?.time);
  }
}

/** When another clock was asked, what time it told, and when the answer was there, in milliseconds; the first and the last by the own clock. */
interface Told {
  asked: number;
  told: number;
  answered: number;
}

/** By how many milliseconds at least the own clock is ahead of the other one: what lies within the time that the answer took is no difference. */
export function aheadOf({ asked, told, answered }: Told): number {
  return Math.max(0, asked - told) + Math.min(0, answered - told);
}
