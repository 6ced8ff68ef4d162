import type { OrderRow } from '../../db/entities/orders.ts';
import { type Change, STAY } from './change.ts';
import { later } from './plan.ts';

/** A call that may give the money back is somebody's for this long; afterwards nobody knows what became of it. */
const REVERSE_LEASE_SECONDS = 30;

/**
 * Whether a close may be sent. `plain`: it moves no money. Of a payer's code it gives back what was paid, so one call at a time:
 * `first`; `again` when nobody knows what became of an earlier one; `running` while somebody waits for its answer.
 */
export type Reverse = 'plain' | 'first' | 'again' | 'running';

/** What the close of an order means now. */
export function reverseOf({ scene, state, reverseDoubtAt }: OrderRow, now: Date): Reverse {
  if (scene !== 'code' || state !== 'closing') return 'plain';
  if (reverseDoubtAt === null) return 'first';
  return reverseDoubtAt <= now ? 'again' : 'running';
}

/** The intent to give back what may have been paid, with a lease; whoever finds somebody at it comes back later. */
export function claimReverse(order: OrderRow, now: Date): Change {
  const reverse = reverseOf(order, now);
  if (reverse === 'plain') return STAY;
  if (reverse === 'running') return { rule: null, order: { nextCheckAt: order.reverseDoubtAt, leasedUntil: null } };
  const reverseDoubtAt = later(now, REVERSE_LEASE_SECONDS);
  return { rule: null, order: { reverseDoubtAt, nextCheckAt: later(reverseDoubtAt, 1), leasedUntil: null } };
}

/** Any answer to a reverse ends the doubt that it began; silence leaves it to the next one. */
export function afterReverse(
  { reverseDoubtAt }: OrderRow,
  own: Date | undefined,
  isAnswered: boolean,
  now: Date,
): Pick<Partial<OrderRow>, 'reverseDoubtAt'> {
  const isOwn = own !== undefined && reverseDoubtAt?.getTime() === own.getTime();
  return isOwn ? { reverseDoubtAt: isAnswered ? null : now } : {};
}

/** A payment that may be on its way back counts only when the close was answered; it is due as soon as it can be sent again. */
export function awaitReverse({ reverseDoubtAt }: OrderRow, now: Date): Change {
  const nextCheckAt = reverseDoubtAt !== null && reverseDoubtAt > now ? reverseDoubtAt : now;
  return { rule: null, order: { checkedAt: now, nextCheckAt, leasedUntil: null } };
}
