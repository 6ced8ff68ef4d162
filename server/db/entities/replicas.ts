import { defineEntity, p } from '@mikro-orm/core';
import type { ProcessFigures } from '../../live/process-figures.ts';
import { instant, json, type RowOf } from './columns.ts';

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
