// Tables of the service itself: its processes, its rate limits, and the instants up to which retention has removed old
// rows.

import { defineEntity, p } from '@mikro-orm/core';
import type { PayWay } from '../../domain.ts';
import { type RowOf, code, instant, json } from './columns.ts';

/** The calls of one process to one channel in the last minute, and the channel's last response and notification. */
export interface ChannelCalls {
  payWay: PayWay;
  calls: number;
  /** Calls whose result is unknown. */
  unknown: number;
  /** The number of calls by duration interval; `boundOf` returns the upper bound of an interval. */
  spread: [place: number, calls: number][];
  answeredAt: string | null;
  noticedAt: string | null;
}

export interface ProcessFigures {
  /** Delay of the event loop since the previous report, in milliseconds. */
  loopDelayMs: { p99: number; max: number };
  /** Average number of busy processors since the previous report. */
  cpu: number;
  memoryBytes: number;
  /** The length of the period that `channels` covers, in seconds. */
  seconds: number;
  channels: ChannelCalls[];
  /** How many rows (such as orders to query) the background jobs of the process are working on, by kind of job. */
  underWay: Record<string, number>;
}

/**
 * A process of the service. A process reports itself only while the live feed of the console has subscribers. Times are
 * by the database's clock. The table is unlogged: after a crash of the database it is empty, and the processes fill it
 * again within seconds.
 */
export const ReplicaEntity = defineEntity({
  name: 'Replica',
  tableName: 'replicas',
  properties: {
    id: p.uuid().primary(),
    host: p.string().length(128),
    pid: p.integer(),
    /** The number of the process among the workers of its supervisor; null = the service runs as a single process. */
    worker: p.integer().nullable(),
    version: p.string().length(64),
    startedAt: instant(),
    seenAt: instant(),
    /** Until this instant the process counts as having subscribers of the live feed; null = it has none. */
    followedUntil: instant().nullable(),
    figures: json<ProcessFigures>(),
  },
});

export type ReplicaRow = RowOf<typeof ReplicaEntity>;

/** The instant before which rows may have been removed; a check does not report missing rows from before it. */
export const RemovedHistoryEntity = defineEntity({
  name: 'RemovedHistory',
  tableName: 'removed_history',
  properties: {
    /** The name of the table whose rows were removed. */
    kind: code().primary(),
    before: instant(),
  },
});

/**
 * A counter of a rate limit, shared by all replicas. `key` names what is limited, `points` is how often it was used in
 * the time window, and `expire` is the end of the window (Unix time in ms). The table also stores when each scheduled
 * task is due, and until when the calls to each channel account are already scheduled (queries/due.ts).
 */
export const RateLimitEntity = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    key: p.string().length(255).primary(),
    points: p.integer().default(0),
    expire: p.bigint().nullable(),
  },
});
