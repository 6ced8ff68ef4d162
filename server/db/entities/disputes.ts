import { defineEntity, p } from '@mikro-orm/core';
import type { DisputeState, Mode, PayWay } from '../../payments/channel.ts';
import { code, instant, minor, type RowOf } from './columns.ts';

/** A dispute of a payer about a payment (server/README.md, "Disputes"). */
export const DisputeEntity = defineEntity({
  name: 'Dispute',
  tableName: 'disputes',
  properties: {
    disputeNo: code().primary(),
    orderNo: code().index(),
    clientId: code(),
    project: code(),
    payWay: p.string().length(16).$type<PayWay>(),
    account: p.string().length(128),
    mode: p.string().length(16).$type<Mode>(),
    channelDisputeNo: p.string().length(128),
    /** The channel's word. */
    reason: p.string().length(128),
    amount: minor(),
    currency: p.string().length(3),
    state: p.string().length(16).$type<DisputeState>(),
    dueAt: instant().nullable(),
    /** What the dispute took, inside the refunded amount of the order. */
    amountLost: minor(),
    /** The refund by which the order counts it. */
    refundNo: code().nullable(),
    answeredAt: instant().nullable(),
    acceptedAt: instant().nullable(),
    /** How often it changed, which numbers its events. */
    changes: p.integer(),
    checks: p.integer(),
    nextCheckAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    openedAt: instant(),
    createdAt: instant(),
    updatedAt: instant(),
    closedAt: instant().nullable(),
  },
  uniques: [{ properties: ['payWay', 'account', 'channelDisputeNo'] }],
  indexes: [
    {
      name: 'disputes_due',
      expression: `create index "disputes_due" on "disputes" ("next_check_at") where next_check_at is not null`,
    },
    {
      name: 'disputes_due_lanes',
      expression: `create index "disputes_due_lanes" on "disputes" ((pay_way || ' ' || mode || ' ' || account), "next_check_at") where next_check_at is not null`,
    },
    {
      name: 'disputes_refund',
      expression: `create index "disputes_refund" on "disputes" ("refund_no") where refund_no is not null`,
    },
    { name: 'disputes_created', properties: ['createdAt', 'disputeNo'] },
    { name: 'disputes_client_created', properties: ['clientId', 'createdAt', 'disputeNo'] },
  ],
});

export type DisputeRow = RowOf<typeof DisputeEntity>;
