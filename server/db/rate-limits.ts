import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { OpenDatabase } from './orm.ts';

/** What is left of a limit. */
export interface CountedQuota {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window is over. */
  readonly resetSeconds: number;
}

/** Counters in the table `rate_limits`, shared by all replicas; never call it inside a transaction. */
export interface CountedLimits {
  /** Counts one use of `key` in a fixed window; a key that is known to be used up costs no statement. */
  consume(key: string, limit: number, windowSeconds: number): Promise<CountedQuota>;
  /** Whether all keys have uses left, without counting one: one indexed read, none when one is known to be used up. */
  peek(limits: readonly { key: string; limit: number }[]): Promise<CountedQuota>;
  /** Forgets windows that are over; returns how many. */
  deleteExpired(before: Date): Promise<number>;
}

/** Makes the counters. */
export function createRateLimits({ em }: Pick<OpenDatabase, 'em'>): CountedLimits {
  const query = (text: string, values: readonly unknown[]): Promise<Row[]> => run(em, text, values);
  const storeClient = { query: async ({ text, values }: Query) => asResult(await query(text, values)) };
  const limiters = new Map<string, RateLimiterPostgres>();
  const limiterOf = (limit: number, duration: number): RateLimiterPostgres => {
    const name = `${limit}/${duration}`;
    let limiter = limiters.get(name);
    if (!limiter) limiters.set(name, (limiter = newLimiter(storeClient, limit, duration)));
    return limiter;
  };
  const usedUp = new UsedUp();

  return {
    async consume(key, limit, windowSeconds) {
      const answer = await limiterOf(limit, windowSeconds).consume(key).catch(asAnswer);
      const resetSeconds = Math.max(1, Math.ceil(answer.msBeforeNext / 1000));
      // Known in memory as used up: the limiter then answers without a count.
      const allowed = answer.consumedPoints > 0 && answer.consumedPoints <= limit;
      if (!allowed || answer.consumedPoints === limit) usedUp.note(key, answer.msBeforeNext);
      return { allowed, limit, remaining: allowed ? limit - answer.consumedPoints : 0, resetSeconds };
    },
    async peek(limits) {
      const known = Math.max(0, ...limits.map(({ key }) => usedUp.msLeft(key)));
      if (known > 0) return refused(known);
      const keys = limits.map(({ key }) => key);
      const rows = await query(
        `select key, points, expire from rate_limits where key in (${keys.map((_, at) => `$${at + 1}`).join(', ')})`,
        keys,
      );
      const left = Math.max(0, ...rows.map((row) => msBlocked(row, limits)));
      return left > 0 ? refused(left) : { allowed: true, limit: 0, remaining: 1, resetSeconds: 0 };
    },
    async deleteExpired(before) {
      const rows = await query('delete from rate_limits where expire < $1 returning key', [before.getTime()]);
      return rows.length;
    },
  };
}

interface Query {
  text: string;
  values: unknown[];
}

interface Row {
  key: string;
  points: number;
  expire: string | number | bigint | null;
}

/** The limiter writes `$1`, possibly more than once; the ORM wants a `?` for each value, on both databases. */
async function run(em: OpenDatabase['em'], text: string, values: readonly unknown[]): Promise<Row[]> {
  const placed: unknown[] = [];
  const statement = text.replaceAll(/\$(\d+)/g, (_, at: string) => {
    placed.push(values[Number(at) - 1]);
    return '?';
  });
  return (await em.fork({ useContext: false }).execute(statement, placed, 'all')) as Row[];
}

function asResult(rows: Row[]): { rows: object[]; rowCount: number } {
  return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })), rowCount: rows.length };
}

function newLimiter(storeClient: object, points: number, duration: number): RateLimiterPostgres {
  return new RateLimiterPostgres({
    storeClient,
    storeType: 'client',
    tableName: 'rate_limits',
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: '',
    points,
    duration,
    inMemoryBlockOnConsumed: points + 1,
  });
}

function asAnswer(answer: unknown): RateLimiterRes {
  if (answer instanceof RateLimiterRes) return answer;
  throw answer;
}

function msBlocked({ key, points, expire }: Row, limits: readonly { key: string; limit: number }[]): number {
  const limit = limits.find((one) => one.key === key)?.limit ?? Number.POSITIVE_INFINITY;
  return points >= limit ? Number(expire ?? 0) - Date.now() : 0;
}

function refused(ms: number): CountedQuota {
  return { allowed: false, limit: 0, remaining: 0, resetSeconds: Math.max(1, Math.ceil(ms / 1000)) };
}

/** Keys whose window has nothing left; that stays true until the window is over, so it may be kept in memory. */
class UsedUp {
  readonly #until = new Map<string, number>();

  note(key: string, ms: number): void {
    if (this.#until.size >= 10_000) this.#until.clear();
    this.#until.set(key, Date.now() + ms);
  }

  msLeft(key: string): number {
    const until = this.#until.get(key);
    if (until === undefined) return 0;
    if (until <= Date.now()) this.#until.delete(key);
    return Math.max(0, until - Date.now());
  }
}
