import { defineEntity, p } from '@mikro-orm/core';
import type { EffectRun } from '../../payments/core/change.ts';
import { code, instant, minor, text, words, type RowOf } from './columns.ts';

/**
 * What others have still to do because an order or refund moved: an effect that could not be done in the move's own commit,
 * and those of the same order that come after it. Worked in the order of `sequence` and `place`, each once.
 */
export const DueEffectEntity = defineEntity({
  name: 'DueEffect',
  tableName: 'due_effects',
  properties: {
    id: p.uuid().primary(),
    orderNo: code(),
    refundNo: code().nullable(),
    project: code(),
    /** The order's move that it belongs to, and its place among the effects of that move. */
    sequence: p.integer(),
    place: p.integer(),
    name: p.string().length(128),
    run: words().$type<EffectRun['run'][number][]>(),
    /** The sums of the order as the move left them. */
    refunded: minor(),
    refunding: minor(),
    state: p.string().length(16).$type<'due' | 'done' | 'given_up'>(),
    tries: p.integer(),
    /** Null behind another one of the same order, and when a person has to say that it may run. */
    nextAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    lastError: text().nullable(),
    createdAt: instant(),
    finishedAt: instant().nullable(),
  },
  uniques: [{ properties: ['orderNo', 'sequence', 'name'] }],
  indexes: [
    {
      name: 'due_effects_due',
      expression: `create index "due_effects_due" on "due_effects" ("next_at") where state = 'due'`,
    },
    {
      name: 'due_effects_due_lanes',
      expression: `create index "due_effects_due_lanes" on "due_effects" ("project", "next_at") where state = 'due'`,
    },
    {
      name: 'due_effects_finished',
      expression: `create index "due_effects_finished" on "due_effects" ("finished_at") where finished_at is not null`,
    },
  ],
});

export type DueEffectRow = RowOf<typeof DueEffectEntity>;
