import type { OrderRow } from '../../db/entities/orders.ts';
import type { Change } from './change.ts';
import { nextOrderCheck } from './plan.ts';

/** The order ends unpaid: final, unless money comes late. */
export function closed(
  order: OrderRow,
  closeReason: NonNullable<OrderRow['closeReason']>,
  now: Date,
  outcome?: object,
): Change {
  const patch = {
    state: 'closed',
    closeReason,
    closedAt: now,
    credential: null,
    reverseDoubtAt: null,
    checks: 0,
    leasedUntil: null,
  } as const;
  return {
    rule: order.state === 'closing' ? 'O7' : 'O6',
    order: { ...patch, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) },
    ...(outcome ? { outcome } : {}),
    tell: [{ type: 'order.closed' }],
    effects: [{ name: 'ended', run: ['ended'] }],
  };
}
