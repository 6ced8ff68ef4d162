import { type Kysely, sql } from 'kysely';
import type { OpenDatabase } from './orm.ts';
import { inParts, type PartDone, PART_ROWS } from './queries/retention.ts';

interface CountedQuota {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window of the limit ends. */
  readonly resetSeconds: number;
}

/** Counters in `rate_limits`, shared by all replicas. They must not be called inside a transaction. */
export interface CountedLimits {
  /** Counts one use in a fixed window. Beyond the limit, uses are refused without a statement until the window ends. */
  consume(key: string, limit: number, windowSeconds: number): Promise<CountedQuota>;
  /** Whether every key is below its limit; counts nothing, and reads nothing if a key is known to be exhausted. */
  peek(limits: readonly { key: string; limit: number }[]): Promise<CountedQuota>;
  /** Deletes the rows of windows that have ended. Returns the number of deleted rows. */
  deleteExpired(before: Date, goesOn?: () => boolean): Promise<number>;
}

/** Creates the functions that count the uses of rate limits in the database, together for all replicas. */
export function createRateLimits({ em }: Pick<OpenDatabase, 'em'>, time: () => number = Date.now): CountedLimits {
  const db = em.fork({ useContext: false }).getKysely<unknown>();
  const known = new KnownUses();

  return {
    async consume(key, limit, windowSeconds) {
      const now = time();
      let uses = known.uses(key, now);
      if (uses === undefined || uses.points <= limit) {
        uses = await count(db, key, now, now + windowSeconds * 1000);
        if (uses.points >= limit) known.note(key, uses);
      }
      const allowed = uses.points <= limit;
      // Read again: a use that began later may have opened the window while this statement waited.
      const resetSeconds = secondsUntil(uses.expire, time());
      return { allowed, limit, remaining: allowed ? limit - uses.points : 0, resetSeconds };
    },
    async peek(limits) {
      const now = time();
      const usedUp = ({ key, points, expire }: Uses & { key: string }) =>
        expire > now && points >= (limits.find((one) => one.key === key)?.limit ?? Number.POSITIVE_INFINITY);
      let used = limits.map(({ key }) => ({ key, ...(known.uses(key, now) ?? NOTHING) })).filter(usedUp);
      if (used.length === 0) {
        const keys = limits.map(({ key }) => key);
        const found = sql<
          Stored & { key: string }
        >`select key, points, expire from rate_limits where key = any(${keys})`;
        used = (await found.execute(db)).rows.map((row) => ({ key: row.key, ...readUses(row) })).filter(usedUp);
      }
      if (used.length === 0) return { allowed: true, limit: 0, remaining: 1, resetSeconds: 0 };
      const resetSeconds = secondsUntil(Math.max(...used.map(({ expire }) => expire)), time());
      return { allowed: false, limit: 0, remaining: 0, resetSeconds };
    },
    deleteExpired: (before, goesOn) => inParts((from?: string) => deletePart(db, before, from), goesOn),
  };
}

/** Counts one use. The row lock of `on conflict do update` makes concurrent uses wait for each other. */
async function count(db: Kysely<unknown>, key: string, now: number, expire: number): Promise<Uses> {
  const { rows } = await sql<Stored>`
    insert into rate_limits as counted (key, points, expire) values (${key}, 1, ${expire})
    on conflict (key) do update set
      points = case when counted.expire <= ${now} then 1 else counted.points + 1 end,
      expire = case when counted.expire <= ${now} then excluded.expire else counted.expire end
    returning points, expire`.execute(db);
  return readUses(rows[0]);
}

/** Parts are sorted by key, the only index of the table. Locked rows are skipped, so that no request waits. */
async function deletePart(db: Kysely<unknown>, before: Date, from = ''): Promise<PartDone<string>> {
  const over = before.getTime();
  const { rows } = await sql<{ removed: bigint; lookedAt: bigint; last: string | null }>`
    with part as materialized (
      select key, expire from rate_limits where key > ${from} order by key limit ${PART_ROWS}),
    over as materialized (
      select r.key from rate_limits r join part p on p.key = r.key
       where p.expire < ${over} and r.expire < ${over} for update of r skip locked),
    gone as (delete from rate_limits where key = any (array(select key from over)) returning 1)
    select (select count(*) from gone) as removed, count(*) as "lookedAt", max(key) as last from part`.execute(db);
  const { removed, lookedAt, last } = rows[0]!;
  return { removed: Number(removed), next: Number(lookedAt) < PART_ROWS ? undefined : String(last) };
}

/** How often a key was used, and when its window ends (ms). */
interface Uses {
  points: number;
  expire: number;
}

const NOTHING: Uses = { points: 0, expire: 0 };

interface Stored {
  points: number;
  expire: bigint | null;
}

function readUses({ points, expire }: Stored = { points: 0, expire: null }): Uses {
  return { points, expire: Number(expire ?? 0) };
}

function secondsUntil(instant: number, now: number): number {
  return Math.max(1, Math.ceil((instant - now) / 1000));
}

/** The last known uses of each key. Uses only grow until the window ends, so an exhausted limit needs no statement. */
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
