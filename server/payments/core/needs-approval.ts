import type { DisputeRow } from '../../db/entities/disputes.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';

/** A refund that nobody has approved yet is sent at the end of days: no release and no job takes it for due. */
export const NEVER = new Date('9000-01-01T00:00:00.000Z');

/** Whether people asked for it; what the service itself owes needs nobody. */
export function isAsked({ origin }: Pick<RefundRow, 'origin'>): boolean {
  return origin === 'merchant' || origin === 'admin';
}

/** Whether a refund was sent, or will be without more being said; one that waits for an approval is not under way. */
export function isUnderWay({ state, approval }: Pick<RefundRow, 'state' | 'approval'>): boolean {
  return (state === 'pending' || state === 'processing') && approval !== 'waiting';
}

/** Money of an order that went back, or shall. */
export interface GivenBack {
  refunds: readonly Pick<RefundRow, 'amount' | 'origin' | 'state' | 'approval'>[];
  /** Disputes that administrators accepted; `approved`: another one has approved it. */
  accepted: readonly (Pick<DisputeRow, 'amount' | 'amountLost' | 'state'> & { approved: boolean })[];
}

/** What people and applications gave back of an order without a second administrator, in minor units of its currency. */
export function unapprovedOf({ refunds, accepted }: GivenBack): bigint {
  const ofRefunds = refunds.filter((one) => isAsked(one) && one.state !== 'failed' && one.approval === null);
  const ofDisputes = accepted.filter(({ approved, state }) => !approved && state !== 'won');
  return [
    ...ofRefunds.map(({ amount }) => amount),
    // What a refund of ours had paid already, a lost dispute does not take again.
    ...ofDisputes.map(({ amount, amountLost, state }) => (state === 'lost' ? amountLost : amount)),
  ].reduce((sum, amount) => sum + amount, 0n);
}

/** Whether a refund waits for a second administrator: all of the order that nobody approved counts, so that parts are no way around. */
export function needsApproval(before: GivenBack, asked: Pick<RefundRow, 'amount' | 'origin'>, above: bigint): boolean {
  return isAsked(asked) && unapprovedOf(before) + asked.amount > above;
}
