// Rows of the service itself: its processes, what it counts for limits, and what it has removed.

import { defineEntity, p } from '@mikro-orm/core';
import type { PayWay } from '../../domain.ts';
import { type RowOf, code, instant, json } from './columns.ts';

/** The calls of one channel in the last minute of one process, and when it was last heard. */
export interface ChannelCalls {
  payWay: PayWay;
  calls: number;
  /** Those after which nobody knows what the channel did. */
  unknown: number;
  /** How many calls took how long: the place of a bound (`boundOf`) and a count. */
  spread: [place: number, calls: number][];
  answeredAt: string | null;
  noticedAt: string | null;
}

/** What a process says of itself. */
export interface ProcessFigures {
  /** How long the event loop was late, in milliseconds, since the report before. */
  loopDelayMs: { p99: number; max: number };
  /** Processors that were kept busy since the report before. */
  cpu: number;
  memoryBytes: number;
  /** Seconds that `channels` is about. */
  seconds: number;
  channels: ChannelCalls[];
  /** Due rows under way, by kind. */
  underWay: Record<string, number>;
}

/**
 * A process of the service that reported itself while somebody followed the live feed; times are the database's. The table is not
 * logged: after a crash of the database it is empty, and filled again within seconds.
 */
export const ReplicaEntity = defineEntity({
  name: 'Replica',
  tableName: 'replicas',
  properties: {
    id: p.uuid().primary(),
    host: p.string().length(128),
    pid: p.integer(),
    /** Its number among the workers of its supervisor; null = it serves alone. */
    worker: p.integer().nullable(),
    version: p.string().length(64),
    startedAt: instant(),
    seenAt: instant(),
    /** Until then somebody follows the live feed at this process; null = nobody does. */
    followedUntil: instant().nullable(),
    figures: json<ProcessFigures>(),
  },
});

export type ReplicaRow = RowOf<typeof ReplicaEntity>;

/** Up to when rows of a table may have been removed because their time was over: what is missing before is no fault. */
export const RemovedHistoryEntity = defineEntity({
  name: 'RemovedHistory',
  tableName: 'removed_history',
  properties: {
    /** The name of the table. */
    kind: code().primary(),
    before: instant(),
  },
});

/** Uses of a key within a window, counted by all replicas; `expire` is its end in ms. Also when a task of the timetable is due (queries/due.ts). */
export const RateLimitEntity = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    key: p.string().length(255).primary(),
    points: p.integer().default(0),
    expire: p.bigint().nullable(),
  },
});
