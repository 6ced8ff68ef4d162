import type { Store } from './store.ts';

/** Says how old what a replica shows is at most. */
export interface LagRule {
  /** Seconds; undefined when it cannot be told, or when it is not a replica of the primary at all. */
  lagOf(replica: Store): Promise<number | undefined>;
}

/** Where a log is, and of which database, by two things that a standby shares with its primary. */
interface Place {
  lsn: string | null;
  database: string;
}

const DATABASE = `(select system_identifier from pg_control_system()) || ' ' || current_database() as database`;

/** Where the log of the primary was at a moment. */
interface Sample {
  at: number;
  lsn: bigint;
}

/** Samples are not taken more often. */
const SAMPLE_MS = 250;

/**
 * Clocks are not compared, and a replica that lost its primary cannot pretend to be fresh: the primary says now and then where its log
 * is, and the newest such place that the replica has replayed tells since when it may miss something.
 */
export function createLagRule(primary: Store, mostSeconds: number, now = () => performance.now()): LagRule {
  const samples: Sample[] = [];
  let sampling: Promise<void> | undefined;
  let database: string | undefined;
  return { lagOf };

  async function lagOf(other: Store): Promise<number | undefined> {
    const asked = freshSample();
    // Somebody's first question has nothing to compare with; later ones need not wait for a new place.
    if (samples.length === 0) await asked;
    else asked?.catch(() => {});
    const replica = await placeOf(other);
    if (replica.lsn === null || replica.database !== database) return undefined;
    const replayed = BigInt(replica.lsn);
    const newest = samples.findLast(({ lsn }) => lsn <= replayed);
    return newest && Math.max(0, (now() - newest.at) / 1000);
  }

  function freshSample(): Promise<void> | undefined {
    const last = samples.at(-1);
    if (last && now() - last.at < SAMPLE_MS) return undefined;
    sampling ??= sample().finally(() => (sampling = undefined));
    return sampling;
  }

  async function sample(): Promise<void> {
    // The time comes first: what was written until then is before the place.
    const at = now();
    // The insert position counts: with `synchronous_commit = off` a commit is answered before the log is written.
    const place = `select cast(pg_current_wal_insert_lsn() - '0/0' as text) as lsn, ${DATABASE}`;
    const [row] = await primary.read((tx) => tx.prepared<Place & { lsn: string }>(place, []));
    database = row!.database;
    samples.push({ at, lsn: BigInt(row!.lsn) });
    const oldest = at - (mostSeconds + 1) * 1000;
    // One that is too old stays as long as it is the newest of those.
    while (samples.length > 1 && samples[1]!.at < oldest) samples.shift();
  }
}

/** How far a replica is; null for a server that is none, whatever it may have copied once. */
async function placeOf(replica: Store): Promise<Place> {
  const [row] = await replica.read((tx) =>
    tx.prepared<Place>(
      `select case when pg_is_in_recovery() then cast(pg_last_wal_replay_lsn() - '0/0' as text) end as lsn, ${DATABASE}`,
      [],
    ),
  );
  return row!;
}
