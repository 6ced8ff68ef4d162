import { defineEntity, p } from '@mikro-orm/core';
import { code, instant, json, text, type RowOf } from './columns.ts';
import type { SkillResource } from './catalog.ts';

/** The pay-per-call part of an order: what was offered, and the one fulfilment. */
export const SkillOrderEntity = defineEntity({
  name: 'SkillOrder',
  tableName: 'skill_orders',
  properties: {
    orderNo: code().primary(),
    clientId: code(),
    project: code(),
    resource: code(),
    productVersion: p.integer(),
    bodyDigest: p.string().length(64),
    input: json<unknown>().nullable(),
    handler: json<SkillResource>(),
    refundAfterFulfilment: p.boolean(),
    /** The L1 code as it was issued, so that every 402 carries the same one. */
    paymentCode: text().nullable(),
    fulfilment: p.string().length(16).$type<'none' | 'running' | 'done' | 'failed'>(),
    fencing: p.integer(),
    attempts: p.integer(),
    firstAttemptAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    nextAttemptAt: instant().nullable(),
    content: text().nullable(),
    contentType: p.string().length(128).nullable(),
    receipt: text().nullable(),
    failureCode: code().nullable(),
    failureMessage: text().nullable(),
    refundNo: code().nullable(),
    offeredAt: instant(),
    fulfilledAt: instant().nullable(),
  },
  indexes: [
    { properties: ['clientId', 'resource', 'offeredAt'] },
    {
      name: 'skill_orders_due',
      expression: `create index "skill_orders_due" on "skill_orders" ("next_attempt_at") where next_attempt_at is not null`,
    },
  ],
});

export type SkillOrderRow = RowOf<typeof SkillOrderEntity>;
