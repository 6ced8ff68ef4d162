import type { Effects } from '../payments/ports.ts';
import { later } from '../payments/core/plan.ts';
import { isLive, PATIENCE_SECONDS } from './claim.ts';
import { FulfilmentInProgress, PartialRefundBeforeDelivery, RefundAfterFulfilment } from './refusals.ts';

/**
 * What pay-per-call does when its orders move. `refundReserved` runs in R1's commit under the order's lock, on every way to
 * a refund: no refund while the work is being done; when the product says so, the consumer gets none after it and all or nothing before.
 */
export function skillEffects({ now }: { now: () => Date }): Effects {
  return {
    admit: async () => {},
    hold: async () => undefined,
    readmit: async () => true,
    async paid(tx, { orderNo, kind }) {
      if (kind !== 'skillpay') return;
      await tx.skillOrders.update({ orderNo, fulfilment: 'none' }, { nextAttemptAt: later(now(), PATIENCE_SECONDS) });
    },
    ended: async () => {},
    async refundReserved(tx, { orderNo, kind, paid, refunded, refunding }, { origin }, forced) {
      if (kind !== 'skillpay' || forced) return;
      const skill = await tx.skillOrders.lock({ orderNo });
      if (!skill) return;
      if (isLive(skill, now())) throw new FulfilmentInProgress(orderNo, 2);
      if (origin !== 'merchant' || skill.refundAfterFulfilment) return;
      if (skill.fulfilment === 'done') throw new RefundAfterFulfilment(orderNo);
      if (refunded + refunding < paid) throw new PartialRefundBeforeDelivery(orderNo);
    },
    async refundSucceeded(tx, { orderNo, kind, paid, refunded }) {
      if (kind !== 'skillpay' || refunded < paid) return;
      const resolved = { state: 'resolved', resolution: 'refunded', resolvedBy: 'service', resolvedAt: now() } as const;
      await tx.exceptions.update({ orderNo, kind: ['unclaimed', 'fulfilment_failed'], state: 'open' }, resolved);
      await tx.skillOrders.update({ orderNo, fulfilment: 'none' }, { nextAttemptAt: null });
    },
    refundFailed: async () => {},
  };
}
