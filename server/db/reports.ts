import { sql } from 'kysely';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { OpenDatabase } from './orm.ts';
import { type Requests, outsideRequestTime } from './pool.ts';
import { type ReadTx, type Store, createStore } from './store.ts';

/** Where lists, exports and statistics are read. Whatever decides reads from the primary, which is `Store`. */
export interface Reports {
  /** Reads at the replica, or at the primary where there is none that is fresh enough; says so to the request. */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** What reports are made of. */
interface ReportParts {
  store: Store;
  /** Opens the replica; called again after a while when it fails. */
  open: () => Promise<OpenDatabase>;
  /** An answer may be this old. */
  mostLagSeconds: number;
  requests: Pick<Requests, 'noteLag'>;
  log: (level: 'info' | 'warn', message: string, details?: Record<string, unknown>) => void;
  registry: Registry;
}

/** After a failure the replica is left alone for so long. */
const PAUSE_MS = 10_000;

/** Reads at the primary alone. */
export function primaryReports(store: Store): Reports {
  return { read: (work) => store.read(work), close: async () => {} };
}

/** Reads at a replica as long as it answers and is fresh enough. */
export function createReports({ store, open, mostLagSeconds, requests, log, registry }: ReportParts): Reports {
  const figures = createFigures(registry);
  const rule = createLagRule(store, mostLagSeconds);
  let opened: Promise<{ database: OpenDatabase; store: Store }> | undefined;
  let leftAloneUntil = 0;
  let isUsed: boolean | undefined;
  return {
    async read(work) {
      const found = await atReplica(work);
      if (found) return found.result;
      figures.reads.inc({ from: 'primary' });
      return store.read(work);
    },
    async close() {
      const one = await opened?.catch(() => undefined);
      await one?.database.close();
    },
  };

  /** Undefined when the primary has to be asked. */
  async function atReplica<T>(work: (tx: ReadTx) => Promise<T>): Promise<{ result: T } | undefined> {
    if (performance.now() < leftAloneUntil) return undefined;
    try {
      const replica = await connected();
      const lag = await rule.lagOf(replica);
      figures.lag.set(lag ?? Number.NaN);
      if (lag === undefined || lag > mostLagSeconds) {
        tell(false, { lagSeconds: lag });
        return undefined;
      }
      const result = await replica.read(work);
      requests.noteLag(lag);
      figures.reads.inc({ from: 'replica' });
      tell(true, {});
      return { result };
    } catch (error) {
      if (!isOfReplica(error)) throw error;
      leftAloneUntil = performance.now() + PAUSE_MS;
      tell(false, { error });
      return undefined;
    }
  }

  /** One attempt for all who ask; it outlives the request that began it. */
  function connected(): Promise<Store> {
    opened ??= outsideRequestTime(async () => {
      const database = await open();
      return { database, store: createStore(database, () => {}) };
    });
    const mine = opened;
    mine.catch(() => {
      if (opened === mine) opened = undefined;
    });
    return mine.then(({ store: replica }) => replica);
  }

  /** Once for each change, not for each request. */
  function tell(used: boolean, details: Record<string, unknown>): void {
    if (used === isUsed) return;
    isUsed = used;
    if (used) log('info', 'lists, exports and statistics are read from the replica');
    else log('warn', 'lists, exports and statistics are read from the primary', details);
  }
}

/** What another statement at the primary may do better: everything but a fault of the statement itself. */
function isOfReplica(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  if (error instanceof TypeError) return false;
  // 40001: the replica had to remove rows that were being read. 42501: its role may read less than that of the primary.
  return (
    typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code) || /^(?:08|40001|42501|53|55|57|58|25006|28|3D)/.test(code)
  );
}

function createFigures(registry: Registry) {
  return {
    lag: new Gauge({
      name: 'replica_lag_seconds',
      help: 'How old what the replica of Database.ReadUrl shows is at most, when it was last asked; NaN when it cannot be told.',
      aggregator: 'max',
      registers: [registry],
    }),
    reads: new Counter({
      name: 'report_reads_total',
      help: 'Reads for lists, exports and statistics, by where they were done.',
      labelNames: ['from'],
      registers: [registry],
    }),
  };
}

/** Says how old what a replica shows is at most. */
interface LagRule {
  /** Seconds; undefined when it cannot be told, or when it is not a replica of the primary at all. */
  lagOf(replica: Store): Promise<number | undefined>;
}

/** Where a log is, and of which database, by two things that a standby shares with its primary. */
interface Place {
  lsn: string | null;
  database: string;
}

const DATABASE = sql`(select system_identifier from pg_control_system()) || ' ' || current_database() as database`;

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
function createLagRule(primary: Store, mostSeconds: number, now = () => performance.now()): LagRule {
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
    const [row] = await primary.read(
      (tx) => tx.sql<Place & { lsn: string }>`
        select cast(pg_current_wal_insert_lsn() - '0/0' as text) as lsn, ${DATABASE}`,
    );
    database = row!.database;
    samples.push({ at, lsn: BigInt(row!.lsn) });
    const oldest = at - (mostSeconds + 1) * 1000;
    // One that is too old stays as long as it is the newest of those.
    while (samples.length > 1 && samples[1]!.at < oldest) samples.shift();
  }
}

/** How far a replica is; null for a server that is none, whatever it may have copied once. */
async function placeOf(replica: Store): Promise<Place> {
  const [row] = await replica.read(
    (tx) => tx.sql<Place>`
      select case when pg_is_in_recovery() then cast(pg_last_wal_replay_lsn() - '0/0' as text) end as lsn, ${DATABASE}`,
  );
  return row!;
}
