import type { OpenDatabase } from './orm.ts';
import { inParts, type PartDone, PART_ROWS } from './queries/retention.ts';
import { run } from './store.ts';
import { arrayText } from './table.ts';

/**
 * One part of the table in the order of its key, which is its only index. What is counted in the same moment is let be,
 * so nobody waits for the clean-up.
 */
const DELETE_PART = `with part as materialized (
    select key, expire from rate_limits where key > $2 order by key limit $3),
  over as materialized (
    select r.key from rate_limits r join part p on p.key = r.key
     where p.expire < $1 and r.expire < $1 for update of r skip locked),
  gone as (delete from rate_limits where key = any (array(select key from over)) returning 1)
  select (select count(*) from gone) as removed, count(*) as "lookedAt", max(key) as last from part`;

/** What is left of a limit. */
interface CountedQuota {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window is over. */
  readonly resetSeconds: number;
}

/** Counters in the table `rate_limits`, shared by all replicas; never call it inside a transaction. */
export interface CountedLimits {
  /** Counts one use of `key` in a fixed window; a key that was refused already costs no statement until its window ends. */
  consume(key: string, limit: number, windowSeconds: number): Promise<CountedQuota>;
  /** Whether all keys have uses left, without counting one: one indexed read, none when one is known to be used up. */
  peek(limits: readonly { key: string; limit: number }[]): Promise<CountedQuota>;
  /** Forgets windows that are over; returns how many. */
  deleteExpired(before: Date, goesOn?: () => boolean): Promise<number>;
}

/** The row lock of `on conflict do update` lets concurrent uses count one after the other. */
const COUNT = `insert into rate_limits as counted (key, points, expire) values ($1, 1, $2)
  on conflict (key) do update set
    points = case when counted.expire <= $3 then 1 else counted.points + 1 end,
    expire = case when counted.expire <= $3 then excluded.expire else counted.expire end
  returning points, expire`;

/** Makes the counters. */
export function createRateLimits({ em }: Pick<OpenDatabase, 'em'>, time: () => number = Date.now): CountedLimits {
  const own = em.fork({ useContext: false });
  const known = new KnownUses();

  return {
    async consume(key, limit, windowSeconds) {
      const now = time();
      let uses = known.uses(key, now);
      if (uses === undefined || uses.points <= limit) {
        const { rows } = await run(own, COUNT, [key, now + windowSeconds * 1000, now]);
        uses = readUses(rows[0]);
        if (uses.points >= limit) known.note(key, uses);
      }
      const allowed = uses.points <= limit;
      const resetSeconds = secondsUntil(uses.expire, now);
      return { allowed, limit, remaining: allowed ? limit - uses.points : 0, resetSeconds };
    },
    async peek(limits) {
      const now = time();
      const usedUp = ({ key, points, expire }: Uses & { key: string }) =>
        expire > now && points >= (limits.find((one) => one.key === key)?.limit ?? Number.POSITIVE_INFINITY);
      let used = limits.map(({ key }) => ({ key, ...(known.uses(key, now) ?? NOTHING) })).filter(usedUp);
      if (used.length === 0) {
        const keys = arrayText(limits.map(({ key }) => key));
        const { rows } = await run(own, 'select key, points, expire from rate_limits where key = any($1)', [keys]);
        used = rows.map((row) => ({ key: String(row['key']), ...readUses(row) })).filter(usedUp);
      }
      if (used.length === 0) return { allowed: true, limit: 0, remaining: 1, resetSeconds: 0 };
      const resetSeconds = secondsUntil(Math.max(...used.map(({ expire }) => expire)), now);
      return { allowed: false, limit: 0, remaining: 0, resetSeconds };
    },
    deleteExpired: (before, goesOn) => inParts((from?: string) => deletePart(own, before, from), goesOn),
  };
}

async function deletePart(own: OpenDatabase['em'], before: Date, from = ''): Promise<PartDone<string>> {
  const { rows } = await run(own, DELETE_PART, [before.getTime(), from, PART_ROWS]);
  const { removed, lookedAt, last } = rows[0] ?? {};
  return { removed: Number(removed), next: Number(lookedAt) < PART_ROWS ? undefined : String(last) };
}

/** How often a key was used, and when its window ends (ms). */
interface Uses {
  points: number;
  expire: number;
}

const NOTHING: Uses = { points: 0, expire: 0 };

function readUses(row: Record<string, unknown> = {}): Uses {
  return { points: Number(row['points']), expire: Number(row['expire'] ?? 0) };
}

function secondsUntil(instant: number, now: number): number {
  return Math.max(1, Math.ceil((instant - now) / 1000));
}

/** Counts that reached their limit: they can only grow until their window ends, so they may be kept in memory. */
class KnownUses {
  readonly #byKey = new Map<string, Uses>();

  note(key: string, uses: Uses): void {
    if (this.#byKey.size >= 10_000) this.#byKey.clear();
    this.#byKey.set(key, uses);
  }

  uses(key: string, now: number): Uses | undefined {
    const uses = this.#byKey.get(key);
    if (uses && uses.expire <= now) this.#byKey.delete(key);
    return uses && uses.expire > now ? uses : undefined;
  }
}
