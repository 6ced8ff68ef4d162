// Refunds, approvals and disputes.

import { defineEntity, p } from '@mikro-orm/core';
import type { DisputeState, Mode, PayWay, RefundOrigin, RefundState } from '../../domain.ts';
import { type RowOf, code, instant, queueKey, minor, text } from './columns.ts';

/** A refund. `accepted` = it is certain that the channel has received the refund (server/README.md, "Refunds"). */
export const RefundEntity = defineEntity({
  name: 'Refund',
  tableName: 'refunds',
  properties: {
    refundNo: code().primary(),
    orderNo: code().index(),
    clientId: code(),
    project: code(),
    merchantRefundNo: code().nullable(),
    origin: p.string().length(16).$type<RefundOrigin>(),
    amount: minor(),
    currency: p.string().length(3),
    reason: text().nullable(),
    state: p.string().length(16).$type<RefundState>(),
    accepted: p.boolean(),
    /**
     * Whether the refund returns a payment that the order's sums do not contain, for example a second payment. The sums
     * do not contain this refund either.
     */
    surplus: p.boolean(),
    elsewhere: p.boolean(),
    failureCode: p.string().length(128).nullable(),
    failureMessage: text().nullable(),
    channelRefundNo: p.string().length(128).nullable(),
    /** The channel's number of the refunded payment; null = the refund is for the order's first payment. */
    paymentNo: p.string().length(128).nullable(),
    actor: p.string().length(128),
    /** The state of the approval by a second administrator; null = no approval is required. */
    approval: p.string().length(16).$type<'waiting' | 'approved' | 'rejected'>().nullable(),
    /**
     * The number of the attempt. It is part of the refund number at the channel, because a channel does not accept the
     * number of a failed refund again.
     */
    attempt: p.integer().default(1),
    tries: p.integer(),
    refusedAt: instant().nullable(),
    absentCount: p.integer(),
    absentFirstAt: instant().nullable(),
    unknownAt: instant().nullable(),
    checks: p.integer(),
    nextCheckAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    queueKey: queueKey(),
    /** W3C `traceparent` of the request that created the refund; null = not traced. */
    traceParent: p.string().length(55).nullable(),
    sentAt: instant().nullable(),
    createdAt: instant(),
    finishedAt: instant().nullable(),
  },
  checks: [{ name: 'refunds_amount_check', expression: 'amount > 0' }],
  indexes: [
    {
      name: 'refunds_merchant_no',
      expression: `create unique index "refunds_merchant_no" on "refunds" ("client_id", "merchant_refund_no") where merchant_refund_no is not null`,
    },
    {
      name: 'refunds_due',
      expression: `create index "refunds_due" on "refunds" ("next_check_at") where next_check_at is not null`,
    },
    {
      name: 'refunds_due_queues',
      expression: `create index "refunds_due_queues" on "refunds" ("queue_key", "next_check_at") where next_check_at is not null`,
    },
    { name: 'refunds_created', properties: ['createdAt', 'refundNo'] },
    { name: 'refunds_client_created', properties: ['clientId', 'createdAt', 'refundNo'] },
    { name: 'refunds_project_created', properties: ['project', 'createdAt', 'refundNo'] },
    { name: 'refunds_state_created', properties: ['state', 'createdAt', 'refundNo'] },
    { name: 'refunds_origin_created', properties: ['origin', 'createdAt', 'refundNo'] },
    {
      name: 'refunds_merchant_no_alone',
      expression: `create index "refunds_merchant_no_alone" on "refunds" ("merchant_refund_no") where merchant_refund_no is not null`,
    },
    {
      name: 'refunds_succeeded',
      expression: `create index "refunds_succeeded" on "refunds" ("finished_at") include ("order_no", "amount") where state = 'succeeded'`,
    },
  ],
});

/**
 * A refund that the channel reported, although this service did not create it or had already given it up. A job queries
 * the channel about the refund until there is a result.
 */
export const RefundLookupEntity = defineEntity({
  name: 'RefundLookup',
  tableName: 'refund_lookups',
  properties: {
    id: p.uuid().primary(),
    orderNo: code(),
    /** The refund number with which the channel is queried. */
    number: p.string().length(128),
    /** The total refunded amount of the order, in minor units, when the channel reported the refund. */
    total: minor().nullable(),
    state: p.string().length(16).$type<'open' | 'answered' | 'given_up'>(),
    checks: p.integer(),
    /**
     * Increases with each message about the refund. The response to a query that was sent earlier is then discarded.
     */
    revision: p.integer().default(1),
    nextAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    queueKey: queueKey(),
    lastAnswer: p.string().length(16).nullable(),
    createdAt: instant(),
    finishedAt: instant().nullable(),
  },
  uniques: [{ properties: ['orderNo', 'number'] }],
  indexes: [
    {
      name: 'refund_lookups_due',
      expression: `create index "refund_lookups_due" on "refund_lookups" ("next_at") where state = 'open'`,
    },
    {
      name: 'refund_lookups_due_queues',
      expression: `create index "refund_lookups_due_queues" on "refund_lookups" ("queue_key", "next_at") where state = 'open'`,
    },
    {
      name: 'refund_lookups_finished',
      expression: `create index "refund_lookups_finished" on "refund_lookups" ("finished_at") where finished_at is not null`,
    },
  ],
});

export type RefundLookupRow = RowOf<typeof RefundLookupEntity>;
export type RefundRow = RowOf<typeof RefundEntity>;

/**
 * A request for approval by a second administrator before money is returned. `refundNo` is the number of the refund, of
 * the dispute to accept, or of the exception (case) whose payment is to be refunded.
 */
export const ApprovalEntity = defineEntity({
  name: 'Approval',
  tableName: 'approvals',
  properties: {
    refundNo: code().primary(),
    kind: p.string().length(16).$type<'refund' | 'dispute' | 'exception'>(),
    orderNo: code(),
    clientId: code(),
    project: code(),
    payWay: p.string().length(16).$type<PayWay>(),
    amount: minor(),
    currency: p.string().length(3),
    reason: text().nullable(),
    /** The requester, `admin:alice` or `app:…`. The requester may not approve the request. */
    askedBy: p.string().length(128),
    state: p.string().length(16).$type<'waiting' | 'approved' | 'rejected'>(),
    decidedBy: p.string().length(128).nullable(),
    decision: text().nullable(),
    createdAt: instant(),
    decidedAt: instant().nullable(),
  },
  indexes: [
    { name: 'approvals_created', properties: ['createdAt', 'refundNo'] },
    {
      name: 'approvals_waiting',
      expression: `create index "approvals_waiting" on "approvals" ("created_at", "refund_no") where state = 'waiting'`,
    },
  ],
});

export type ApprovalRow = RowOf<typeof ApprovalEntity>;

/** A dispute that a payer has opened about a payment (server/README.md, "Disputes"). */
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
    /** The channel's reason code. */
    reason: p.string().length(128),
    amount: minor(),
    currency: p.string().length(3),
    state: p.string().length(16).$type<DisputeState>(),
    dueAt: instant().nullable(),
    /** The amount lost to the dispute. The order's refunded amount includes this amount. */
    amountLost: minor(),
    /** The refund row that adds the lost amount to the order's refunded amount. */
    refundNo: code().nullable(),
    answeredAt: instant().nullable(),
    acceptedAt: instant().nullable(),
    /** The number of changes of the dispute so far. Each event of the dispute is numbered with it. */
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
      name: 'disputes_due_queues',
      expression: `create index "disputes_due_queues" on "disputes" ((pay_way || ' ' || mode || ' ' || account), "next_check_at") where next_check_at is not null`,
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
