import { Counter, Gauge, type Registry } from 'prom-client';
import type { DueRows } from '../db/queries/due.ts';
import type { ReadTx } from '../db/store.ts';
import type { DueKind, QueueTally } from './queues.ts';
import { type Task, type TimetablePorts, createTimetable } from './timetable.ts';
import { type WorkerPorts, createWorkers } from './workers.ts';

export interface SchedulerParts extends WorkerPorts, TimetablePorts {
  kinds: readonly DueKind[];
  tasks: readonly Task[];
  /** Returns the seconds since the oldest row of each kind became due. Ignores leased rows. undefined = none is due. */
  lookForDue: (tx: ReadTx, rows: readonly Pick<DueRows, 'oldestLag'>[], now: Date) => Promise<(number | undefined)[]>;
  /** Called after each successful query for due rows. `lags`: seconds since the oldest row of each kind became due. */
  looked?: (lags: Record<string, number>) => void;
  /** Interval between queries for due rows (ms); set only by tests. */
  lookMs?: number;
}

/** Processes rows until no row of the chosen kinds is due. Returns the number of processed rows. */
export interface Sweep {
  once(): Promise<number>;
}

/**
 * Processes due rows. Every replica queries the due rows once a second, in one statement. If a commit makes a row due
 * immediately, the same replica processes the row without waiting for the next query.
 */
export interface Scheduler {
  readonly kinds: readonly DueKind[];
  /** Leases and processes a row that a commit has just made due. Does nothing before `start`. */
  wake(by: string, row: object): void;
  /** Creates a sweep, which processes the due rows of some kinds when it is called. It also works before `start`. */
  sweep(...kinds: string[]): Sweep;
  busy(): Record<string, number>;
  /**
   * Returns how many queues of each kind are `full` or `held`. Kinds that call a channel have a count for each group.
   */
  queues(): Record<string, QueueTally[]>;
  start(): void;
  /**
   * Leases no new rows, and waits up to `deadlineMs` for the rows in progress. Their leases are renewed meanwhile. A
   * row that does not finish in time is processed again when its lease expires.
   */
  stop(deadlineMs: number): Promise<void>;
}

const LOOK_MS = 1_000;

/** Creates the scheduler of due rows and periodic tasks. It begins to work when `start` is called. */
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
      // The error is logged only once per outage, not every second.
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

/** Adds up the numbers of all groups, so that the metrics do not contain the names of groups. */
function inOne(tallies: readonly QueueTally[]): QueueTally[] {
  return (['full', 'held'] as const).map((state) => ({
    group: '',
    state,
    count: tallies.reduce((sum, tally) => sum + (tally.state === state ? tally.count : 0), 0),
  }));
}

interface JobMetrics {
  worked(kind: string, failed: boolean): void;
  looked(lags: Record<string, number>): void;
  leaseLost(kind: string): void;
  /** Registers metrics that read the rows in progress and the queues at each scrape. */
  observe(scheduler: Pick<Scheduler, 'busy' | 'queues'>): void;
}

/** Registers the metrics about due rows and their processing. */
export function createJobMetrics(registry: Registry): JobMetrics {
  const rows = new Counter({
    name: 'jobs_rows_total',
    help: 'Number of due rows that were processed, by kind and result.',
    labelNames: ['kind', 'result'],
    registers: [registry],
  });
  const lookedAt = new Gauge({
    name: 'jobs_last_look_timestamp_seconds',
    help: 'Time when this replica last searched for due rows. If it is more than a few seconds ago, the replica cannot search.',
    // If several processes report this metric, the earliest time is used, so that a process whose queries fail is
    // noticed.
    aggregator: 'min',
    registers: [registry],
  });
  const lag = new Gauge({
    name: 'due_lag_seconds',
    help: 'Seconds since the oldest row that no replica is processing became due, by kind; 0 if there is no such row.',
    aggregator: 'max',
    labelNames: ['kind'],
    registers: [registry],
  });
  const lost = new Counter({
    name: 'jobs_leases_lost_total',
    help: 'Rows that another replica leased while this replica was still processing them, by kind.',
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
        help: 'Due rows that this replica is processing now, by kind.',
        labelNames: ['kind'],
        registers: [registry],
        collect: () => Object.entries(busy()).forEach(([kind, count]) => gauge.set({ kind }, count)),
      });
      const held: Gauge<'kind' | 'channel' | 'state'> = new Gauge({
        name: 'jobs_lanes',
        help: 'Queues (one for each channel account, webhook receiver or project) that are blocked, by kind and channel. full: rows are due, but all slots are in use. held: a row takes long, because the other side may not respond.',
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
