import { defineEntity } from '@mikro-orm/core';
import { code, instant, type RowOf } from './columns.ts';

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

export type RemovedHistoryRow = RowOf<typeof RemovedHistoryEntity>;
