import { z } from 'zod';
import { DISPUTE_STATES } from '../../payments/channel.ts';
import { Code, Id, Paging, Timestamp } from './fields.ts';
import { PayWayName } from './orders.ts';

/** One dispute as it appears on the wire. */
export const Dispute = z
  .object({
    disputeNo: z.string(),
    orderNo: z.string(),
    clientId: z.string(),
    project: z.string(),
    payWay: PayWayName,
    channelDisputeNo: z.string().describe('Number of the dispute at the channel.'),
    reason: z.string().describe('The word of the channel.'),
    amount: z.number().describe('What the payer disputes, in major units.'),
    amountMinor: z.int(),
    currency: z.string(),
    status: z
      .enum(DISPUTE_STATES)
      .describe('`needs_answer`: the channel waits for the merchant until `dueAt`; `won` and `lost` are decided.'),
    dueAt: Timestamp.nullable(),
    lostAmount: z.number().describe('What the dispute took, in major units; part of the refunded amount of the order.'),
    refundNo: z.string().nullable().describe('The refund by which the order counts it.'),
    answeredAt: Timestamp.nullable(),
    acceptedAt: Timestamp.nullable(),
    nextCheckAt: Timestamp.nullable(),
    openedAt: Timestamp,
    updatedAt: Timestamp,
    closedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Dispute' });

/** A dispute in a path. */
export const DisputeParams = z.object({ disputeNo: Id });

/** By what an application finds its own disputes. */
export const OwnDisputesQuery = z.object({
  ...Paging,
  orderNo: Id.optional(),
  status: z.enum(DISPUTE_STATES).optional(),
});

/** By what an administrator finds disputes. */
export const DisputesQuery = OwnDisputesQuery.extend({
  channelDisputeNo: Id.optional(),
  clientId: Id.optional(),
  project: Code.optional(),
  payWay: PayWayName.optional(),
});
