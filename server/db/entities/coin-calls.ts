import { defineEntity, p } from '@mikro-orm/core';
import type { SkillResource } from './catalog.ts';
import { code, instant, json, minor, text, type RowOf } from './columns.ts';

/** A pay-per-call order that was paid with coins: no channel and no money; it is written with its debit. */
export const CoinCallEntity = defineEntity({
  name: 'CoinCall',
  tableName: 'coin_calls',
  properties: {
    orderNo: code().primary(),
    clientId: code(),
    project: code(),
    userId: code(),
    resource: code(),
    productVersion: p.integer(),
    subject: p.string().length(128),
    bodyDigest: p.string().length(64),
    input: json<unknown>().nullable(),
    handler: json<SkillResource>(),
    coin: code(),
    amount: minor(),
    refundAfterFulfilment: p.boolean(),
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
    createdAt: instant(),
    fulfilledAt: instant().nullable(),
    /** When the coins came back. */
    refundedAt: instant().nullable(),
  },
  indexes: [
    { properties: ['project', 'coin', 'createdAt'] },
    {
      name: 'coin_calls_due',
      expression: `create index "coin_calls_due" on "coin_calls" ("next_attempt_at") where next_attempt_at is not null`,
    },
    {
      name: 'coin_calls_due_lanes',
      expression: `create index "coin_calls_due_lanes" on "coin_calls" ("project", "next_attempt_at") where next_attempt_at is not null`,
    },
  ],
  checks: [{ name: 'coin_calls_amount_check', expression: 'amount > 0' }],
});

export type CoinCallRow = RowOf<typeof CoinCallEntity>;
