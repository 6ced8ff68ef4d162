import { Counter, Gauge, type Registry } from 'prom-client';
import type { Scheduler } from './scheduler.ts';

/** What the scheduler reports to the registry. */
export interface JobMetrics {
  worked(kind: string, failed: boolean): void;
  looked(lags: Record<string, number>): void;
  leaseLost(kind: string): void;
  /** Has rows under way and lanes read whenever the figures are asked for. */
  observe(scheduler: Pick<Scheduler, 'busy' | 'lanes'>): void;
}

/** Adds the figures of the scheduler to a registry. */
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
    // One that cannot must be seen among others that can.
    aggregator: 'min',
    registers: [registry],
  });
  const lag = new Gauge({
    name: 'due_lag_seconds',
    help: 'For how long the oldest row that nobody works has been due, by kind; 0 when there is none.',
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
    observe({ busy, lanes }) {
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
          for (const [kind, tallies] of Object.entries(lanes()))
            for (const { group, state, count } of tallies) held.set({ kind, channel: group, state }, count);
        },
      });
    },
  };
}
