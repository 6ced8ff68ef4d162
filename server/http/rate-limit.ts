import type { Context } from 'koa';

/** What is left of a limit after one more use. */
export interface Quota {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window is over. */
  readonly resetSeconds: number;
}

/** Port: counts a use of `key` within a fixed window; the database-backed one counts for all replicas. */
export interface RateLimits {
  consume(key: string, limit: number, windowSeconds: number): Promise<Quota>;
}

/** Tells the caller what is left (`RateLimit`, `RateLimit-Policy`: IETF httpapi draft). */
export function setRateLimitHeaders(ctx: Pick<Context, 'set'>, quota: Quota, windowSeconds: number): void {
  ctx.set('RateLimit-Policy', `"default";q=${quota.limit};w=${windowSeconds}`);
  ctx.set('RateLimit', `"default";r=${quota.remaining};t=${quota.resetSeconds}`);
}

/** Counts in this process only; for tests and for a server without a database. */
export function createMemoryRateLimits(now: () => number = Date.now): RateLimits {
  const windows = new Map<string, { uses: number; endsAt: number }>();
  return {
    async consume(key, limit, windowSeconds) {
      const time = now();
      let window = windows.get(key);
      if (!window || window.endsAt <= time) {
        window = { uses: 0, endsAt: time + windowSeconds * 1000 };
        windows.set(key, window);
      }
      window.uses += 1;
      const resetSeconds = Math.max(1, Math.ceil((window.endsAt - time) / 1000));
      return { allowed: window.uses <= limit, limit, remaining: Math.max(0, limit - window.uses), resetSeconds };
    },
  };
}
