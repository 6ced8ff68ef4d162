import { Counter, Gauge, type Registry } from 'prom-client';
import type { DueRows } from '../db/queries/due.ts';
import type { ReadTx } from '../db/store.ts';
import type { DueKind, QueueTally } from './queues.ts';
import { type Task, type TimetablePorts, createTimetable } from './timetable.ts';
import { type WorkerPorts, createWorkers } from './workers.ts';

/** The dependencies of the scheduler. */
export interface SchedulerParts extends WorkerPorts, TimetablePorts {
  kinds: readonly DueKind[];
  tasks: readonly Task[];
  /** For each kind, for how many seconds its oldest row without a lease has been due. */
  lookForDue: (tx: ReadTx, rows: readonly Pick<DueRows, 'oldestLag'>[], now: Date) => Promise<(number | undefined)[]>;
  /** Called after each successful query for due rows, with the lag of each kind in seconds. */
  looked?: (lags: Record<string, number>) => void;
  /** Interval between queries for due rows (ms); tests set it. */
  lookMs?: number;
}

/** Processes rows until no row of its kinds is due; returns the number of processed rows. */
export interface Sweep {
  once(): Promise<number>;
}

/**
 * Processes due rows. Every replica looks for due rows once a second, in one statement; the replica that commits a row which is due at once
 * processes it without waiting for its next query.
 */
export interface Scheduler {
  readonly kinds: readonly DueKind[];
  /** Leases and processes a row that a commit has just made due; a no-op before `start`. */
  wake(by: string, row: object): void;
  /** Processes some kinds on demand, also before `start`. */
  sweep(...kinds: string[]): Sweep;
  /** Rows in progress, by kind. */
  busy(): Record<string, number>;
  /** Full and held queues by kind; only kinds that call a channel are split by group. */
  queues(): Record<string, QueueTally[]>;
  start(): void;
  /**
   * Leases no new rows and waits up to `deadlineMs` for rows in progress, renewing their leases; unfinished rows resume when their leases
   * expire.
   */
  stop(deadlineMs: number): Promise<void>;
}

const LOOK_MS = 1_000;

/** Creates the scheduler. */
export function createScheduler(parts: SchedulerParts): Scheduler {
  const { kinds, store, now, log, lookForDue, looked, lookMs = LOOK_MS } = parts;
  const all = kinds.map((kind) => ({ ...kind, workers: createWorkers(kind, parts) }));
  const timetable = createTimetable(parts.tasks, parts);
  let state: 'new' | 'started' | 'stopping' | 'stopped' = 'new';
  let timer: NodeJS.Timeout | undefined;
  let blindSince: Date | undefined;
  let looking: Promise<void> | undefined;
  return { kinds, wake, sweep, busy, queues, start, stop };

  function wake(by: string, row: object): void {
    if (state !== 'started') return;
    const [id] = Object.values(row);
    for (const { wokenBy, workers } of all) if (wokenBy === by && typeof id === 'string') workers.wake(id);
  }

  function sweep(...names: string[]): Sweep {
    const chosen = all.filter(({ name }) => names.includes(name));
    return { once };

    async function once(): Promise<number> {
      let sum = 0;
      for (let worked = -1; worked !== 0; sum += worked) {
        worked = 0;
        for (const { workers } of chosen) worked += await workers.drain();
      }
      return sum;
    }
  }

  function busy(): Record<string, number> {
    return Object.fromEntries(all.map(({ name, workers }) => [name, workers.busy]));
  }

  function queues(): Record<string, QueueTally[]> {
    return Object.fromEntries(
      all.map(({ name, asksChannel, workers }) => [name, asksChannel ? workers.tally() : inOne(workers.tally())]),
    );
  }

  function start(): void {
    if (state !== 'new') return;
    state = 'started';
    looking = beat();
  }

  /** Once a second: renews the leases of rows in progress and looks for due rows. */
  async function beat(): Promise<void> {
    await Promise.all(all.map(({ workers }) => workers.renew()));
    if (state === 'started') await look();
    if (state === 'started' || state === 'stopping') timer = setTimeout(() => void (looking = beat()), lookMs).unref();
  }

  async function look(): Promise<void> {
    try {
      const due = await store.read((tx) =>
        lookForDue(
          tx,
          all.map(({ rows }) => rows),
          now(),
        ),
      );
      for (const [at, { workers }] of all.entries()) if (due[at] !== undefined) workers.wake();
      if (state === 'started') timetable.look();
      looked?.(Object.fromEntries(all.map(({ name }, at) => [name, Math.max(0, due[at] ?? 0)])));
      if (blindSince) log('info', 'jobs look for due rows again', { blindSince });
      blindSince = undefined;
    } catch (error) {
      // Logged once per outage, not every second.
      if (!blindSince) log('error', 'jobs could not look for due rows', { error });
      blindSince ??= now();
    }
  }

  async function stop(deadlineMs: number): Promise<void> {
    if (state === 'new') state = 'stopped';
    if (state === 'started') state = 'stopping';
    const ends = [looking, ...all.map(({ workers }) => workers.stop()), timetable.stop()];
    const done = Promise.all(ends).then(async () => {
      state = 'stopped';
      await looking;
      return true;
    });
    const deadline = Promise.withResolvers<boolean>();
    const deadlineTimer = setTimeout(() => deadline.resolve(false), deadlineMs);
    if (!(await Promise.race([done, deadline.promise])))
      log('warn', 'stopped before every job had ended; unfinished jobs resume when their leases expire', {
        busy: busy(),
      });
    clearTimeout(deadlineTimer);
    state = 'stopped';
    clearTimeout(timer);
  }
}

/** The tallies of all groups together, so that metrics do not name the groups. */
function inOne(tallies: readonly QueueTally[]): QueueTally[] {
  return (['full', 'held'] as const).map((state) => ({
    group: '',
    state,
    count: tallies.reduce((sum, tally) => sum + (tally.state === state ? tally.count : 0), 0),
  }));
}

/** The metrics of the scheduler. */
interface JobMetrics {
  worked(kind: string, failed: boolean): void;
  looked(lags: Record<string, number>): void;
  leaseLost(kind: string): void;
  /** Reads rows in progress and queues at each scrape. */
  observe(scheduler: Pick<Scheduler, 'busy' | 'queues'>): void;
}

/** Registers the metrics of the scheduler. */
export function createJobMetrics(registry: Registry): JobMetrics {
  const rows = new Counter({
    name: 'jobs_rows_total',
    help: 'Due rows that were worked, by kind and result.',
    labelNames: ['kind', 'result'],
    registers: [registry],
  });
  const lookedAt = new Gauge({
    name: 'jobs_last_look_timestamp_seconds',
    help: 'When this replica last looked for due rows; more than a few seconds ago means that it cannot.',
    // The minimum shows one failing process among healthy processes.
    aggregator: 'min',
    registers: [registry],
  });
  const lag = new Gauge({
    name: 'due_lag_seconds',
    help: 'For how long the oldest row that no replica is processing has been due, by kind; 0 when there is none.',
    aggregator: 'max',
    labelNames: ['kind'],
    registers: [registry],
  });
  const lost = new Counter({
    name: 'jobs_leases_lost_total',
    help: 'Rows that another replica has taken while this one was still working them, by kind.',
    labelNames: ['kind'],
    registers: [registry],
  });
  return {
    worked: (kind, failed) => rows.inc({ kind, result: failed ? 'failed' : 'done' }),
    looked(lags) {
      lookedAt.setToCurrentTime();
      for (const [kind, seconds] of Object.entries(lags)) lag.set({ kind }, seconds);
    },
    leaseLost: (kind) => lost.inc({ kind }),
    observe({ busy, queues }) {
      const gauge: Gauge<'kind'> = new Gauge({
        name: 'jobs_rows_under_way',
        help: 'Due rows that this replica is working, by kind.',
        labelNames: ['kind'],
        registers: [registry],
        collect: () => Object.entries(busy()).forEach(([kind, count]) => gauge.set({ kind }, count)),
      });
      const held: Gauge<'kind' | 'channel' | 'state'> = new Gauge({
        name: 'jobs_lanes',
        help: 'Lanes (an account of a channel, a receiver, a project) that have due rows and no free place (full), or whose rows take long (held), by kind and channel.',
        labelNames: ['kind', 'channel', 'state'],
        registers: [registry],
        collect() {
          held.reset();
          for (const [kind, tallies] of Object.entries(queues()))
            for (const { group, state, count } of tallies) held.set({ kind, channel: group, state }, count);
        },
      });
    },
  };
}
