import { defineEntity, p } from '@mikro-orm/core';
import type { PayWay } from '../../payments/channel.ts';
import { code, instant, minor, text, type RowOf } from './columns.ts';

/**
 * Money that waits, or waited, for a second administrator before it goes back. Its number is that of the refund, or of the dispute that
 * is to be accepted, or of the exception whose money is to be given back.
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
    /** Who may not approve it: `admin:alice`, or `app:…`. */
    askedBy: p.string().length(128),
    state: p.string().length(16).$type<'waiting' | 'approved' | 'rejected'>(),
    decidedBy: p.string().length(128).nullable(),
    /** Why it was decided so. */
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
