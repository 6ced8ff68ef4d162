import { sql } from 'kysely';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { OpenDatabase } from './orm.ts';
import { type Requests, outsideRequestTime } from './pool.ts';
import { type ReadTx, type Store, createStore } from './store.ts';

/** Reads for lists, exports and statistics, maybe from a read replica. A decision must read the primary (`Store`). */
export interface Reports {
  /**
   * Reads from the read replica if its data is fresh enough, otherwise from the primary. The possible age of the data
   * is noted for the current request, so that its response can name the age in the header Replica-Lag.
   */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface ReportParts {
  store: Store;
  /** Opens the read replica. If this fails, it is tried again after a pause. */
  open: () => Promise<OpenDatabase>;
  /** Maximum age of the data (s); with older data the primary is used. */
  mostLagSeconds: number;
  requests: Pick<Requests, 'noteLag'>;
  log: (level: 'info' | 'warn', message: string, details?: Record<string, unknown>) => void;
  registry: Registry;
}

/** Pause (ms) after a failure, before the read replica is used again. */
const PAUSE_MS = 10_000;

/** Creates reports that read from the primary only. */
export function primaryReports(store: Store): Reports {
  return { read: (work) => store.read(work), close: async () => {} };
}

/** Creates reports that read from the primary while the replica does not respond or its data is too old. */
export function createReports({ store, open, mostLagSeconds, requests, log, registry }: ReportParts): Reports {
  const figures = createFigures(registry);
  const rule = createLagRule(store, mostLagSeconds);
  let opened: Promise<{ database: OpenDatabase; store: Store }> | undefined;
  let pausedUntil = 0;
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

  /** Reads from the read replica. Returns undefined if the primary must be used instead. */
  async function atReplica<T>(work: (tx: ReadTx) => Promise<T>): Promise<{ result: T } | undefined> {
    if (performance.now() < pausedUntil) return undefined;
    try {
      const replica = await connected();
      const lag = await rule.lagOf(replica);
      figures.lag.set(lag ?? Number.NaN);
      if (lag === undefined || lag > mostLagSeconds) {
        logChange(false, { lagSeconds: lag });
        return undefined;
      }
      const result = await replica.read(work);
      requests.noteLag(lag);
      figures.reads.inc({ from: 'replica' });
      logChange(true, {});
      return { result };
    } catch (error) {
      if (!isOfReplica(error)) throw error;
      pausedUntil = performance.now() + PAUSE_MS;
      logChange(false, { error });
      return undefined;
    }
  }

  /** Opens the read replica once for all callers. Opening continues even if the request that started it ends. */
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

  /** Logs only when the source of the reads changes, not for each request. */
  function logChange(used: boolean, details: Record<string, unknown>): void {
    if (used === isUsed) return;
    isUsed = used;
    if (used) log('info', 'lists, exports and statistics are read from the replica');
    else log('warn', 'lists, exports and statistics are read from the primary', details);
  }
}

/**
 * Whether the read replica may be the cause of an error. If the statement were wrong, it would fail on the primary too.
 */
function isOfReplica(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  if (error instanceof TypeError) return false;
  // 40001: the read replica removed rows that were being read. 42501: the database role of the read replica has fewer
  // rights than the role of the primary.
  return (
    typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code) || /^(?:08|40001|42501|53|55|57|58|25006|28|3D)/.test(code)
  );
}

function createFigures(registry: Registry) {
  return {
    lag: new Gauge({
      name: 'replica_lag_seconds',
      help: 'Maximum age of the data on the database replica (Database.ReadUrl) at the last read, in seconds; NaN if unknown.',
      aggregator: 'max',
      registers: [registry],
    }),
    reads: new Counter({
      name: 'report_reads_total',
      help: 'Reads for lists, exports and statistics, by the database that served them.',
      labelNames: ['from'],
      registers: [registry],
    }),
  };
}

interface LagRule {
  /** The maximum age in seconds; undefined if it is unknown, or if the server is not a replica of the primary. */
  lagOf(replica: Store): Promise<number | undefined>;
}

/** A position in the write-ahead log. A replica has the same `database` identity as its primary. */
interface Place {
  lsn: string | null;
  database: string;
}

const DATABASE = sql`(select system_identifier from pg_control_system()) || ' ' || current_database() as database`;

interface Sample {
  at: number;
  lsn: bigint;
}

/** Minimum interval (ms) between two samples of the primary's log position. */
const SAMPLE_MS = 250;

/**
 * Measures the age of a replica's data without comparing clocks, so a replica that has lost its primary cannot appear
 * fresh. The log position of the primary is sampled regularly. The age of the data is the age of the newest sample that
 * the replica has already replayed.
 */
function createLagRule(primary: Store, mostSeconds: number, now = () => performance.now()): LagRule {
  const samples: Sample[] = [];
  let sampling: Promise<void> | undefined;
  let database: string | undefined;
  return { lagOf };

  async function lagOf(other: Store): Promise<number | undefined> {
    const pending = freshSample();
    // Only the first call must wait for a sample. Later calls use the samples that exist.
    if (samples.length === 0) await pending;
    else pending?.catch(() => {});
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
    // The time is read before the position, so that the position includes all writes before this time.
    const at = now();
    // The insert position is used, because with `synchronous_commit = off` a commit returns before its log is written.
    const [row] = await primary.read(
      (tx) => tx.sql<Place & { lsn: string }>`
        select cast(pg_current_wal_insert_lsn() - '0/0' as text) as lsn, ${DATABASE}`,
    );
    database = row!.database;
    samples.push({ at, lsn: BigInt(row!.lsn) });
    const oldest = at - (mostSeconds + 1) * 1000;
    // One sample older than the limit is kept, so that an age above the limit can still be measured.
    while (samples.length > 1 && samples[1]!.at < oldest) samples.shift();
  }
}

/** The position that a replica has replayed; `lsn` is null if the server is not a replica. */
async function placeOf(replica: Store): Promise<Place> {
  const [row] = await replica.read(
    (tx) => tx.sql<Place>`
      select case when pg_is_in_recovery() then cast(pg_last_wal_replay_lsn() - '0/0' as text) end as lsn, ${DATABASE}`,
  );
  return row!;
}
