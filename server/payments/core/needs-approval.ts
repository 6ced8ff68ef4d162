import type { RefundRow } from '../../db/entities/refunds.ts';

/** A refund that nobody has approved yet is sent at the end of days: no release and no job takes it for due. */
export const NEVER = new Date('9000-01-01T00:00:00.000Z');

/** Whether people asked for it; what the service itself owes needs nobody. */
export function isAsked({ origin }: Pick<RefundRow, 'origin'>): boolean {
  return origin === 'merchant' || origin === 'admin';
}

/** Whether a refund waits for a second administrator: all of the order that nobody approved counts, so that parts are no way around. */
export function needsApproval(
  earlier: readonly RefundRow[],
  asked: Pick<RefundRow, 'amount' | 'origin'>,
  above: bigint,
): boolean {
  if (!isAsked(asked)) return false;
  const counts = (one: RefundRow) => isAsked(one) && one.state !== 'failed' && one.approval === null;
  const sum = earlier.filter(counts).reduce((total, { amount }) => total + amount, asked.amount);
  return sum > above;
}
