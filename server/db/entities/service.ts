// Tables of the service itself: its processes, rate limits, and removed history.

import { defineEntity, p } from '@mikro-orm/core';
import type { PayWay } from '../../domain.ts';
import { type RowOf, code, instant, json } from './columns.ts';

/** The calls of one channel in the last minute of one process, and its last response and notification. */
export interface ChannelCalls {
  payWay: PayWay;
  calls: number;
  /** Calls whose result is unknown. */
  unknown: number;
  /** The distribution of call durations: the index of an upper bound (`boundOf`) and the number of calls. */
  spread: [place: number, calls: number][];
  answeredAt: string | null;
  noticedAt: string | null;
}

/** The figures that a process reports. */
export interface ProcessFigures {
  /** Delay of the event loop since the previous report, in milliseconds. */
  loopDelayMs: { p99: number; max: number };
  /** Average number of busy processors since the previous report. */
  cpu: number;
  memoryBytes: number;
  /** Seconds that `channels` covers. */
  seconds: number;
  channels: ChannelCalls[];
  /** Due rows in progress, by kind. */
  underWay: Record<string, number>;
}

/**
 * A process of the service that reported itself while the live feed had followers; times are by the database's clock. The table is
 * unlogged: after a crash of the database it is empty, and is filled again within seconds.
 */
export const ReplicaEntity = defineEntity({
  name: 'Replica',
  tableName: 'replicas',
  properties: {
    id: p.uuid().primary(),
    host: p.string().length(128),
    pid: p.integer(),
    /** Its number among the workers of its supervisor; null = a single process. */
    worker: p.integer().nullable(),
    version: p.string().length(64),
    startedAt: instant(),
    seenAt: instant(),
    /** Until when this process counts as having followers of the live feed; null = none. */
    followedUntil: instant().nullable(),
    figures: json<ProcessFigures>(),
  },
});

export type ReplicaRow = RowOf<typeof ReplicaEntity>;

/** The instant before which retention may have removed rows of a table, so that missing rows are no fault. */
export const RemovedHistoryEntity = defineEntity({
  name: 'RemovedHistory',
  tableName: 'removed_history',
  properties: {
    /** The name of the table. */
    kind: code().primary(),
    before: instant(),
  },
});

/** Uses of a key within a window, over all replicas; `expire` is its end in ms. Also stores task schedules and the call rate (queries/due.ts). */
export const RateLimitEntity = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    key: p.string().length(255).primary(),
    points: p.integer().default(0),
    expire: p.bigint().nullable(),
  },
});
