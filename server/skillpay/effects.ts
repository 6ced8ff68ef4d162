import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/store.ts';
import type { Raised } from '../payments/core/transitions.ts';
import type { Effects } from '../payments/ports.ts';
import { later } from '../payments/core/plan.ts';
import { isLive, PATIENCE_SECONDS } from './claim.ts';
import { FulfilmentInProgress, PartialRefundBeforeDelivery, RefundAfterFulfilment } from './errors.ts';

interface EffectPorts {
  now: () => Date;
  raise: (tx: Tx, order: OrderRow, raised: Raised) => Promise<void>;
}

/**
 * The side effects of pay-per-call when an order or a refund changes its state. `refundReserved` runs in the
 * transaction that creates a refund, and may refuse the refund. While the handler is running, it refuses every refund.
 * If the product forbids refunds after delivery, it also refuses refunds by the merchant, except a full refund before
 * delivery. A `forced` refund is never refused, because the channel or the service must make it.
 */
export function skillEffects({ now, raise }: EffectPorts): Effects {
  return {
    only: 'skillpay',
    admit: async () => {},
    hold: async () => undefined,
    readmit: async () => true,
    async paid(tx, { orderNo }) {
      await tx.skillOrders.update({ orderNo, fulfilment: 'none' }, { nextAttemptAt: later(now(), PATIENCE_SECONDS) });
    },
    ended: async () => {},
    async refundReserved(tx, order, refund, forced) {
      const { orderNo, paid, refunded, refunding } = order;
      const { origin } = refund;
      if (forced) return listDelivered(tx, order, refund);
      const skill = await tx.skillOrders.lock({ orderNo });
      if (!skill) return;
      if (isLive(skill, now())) throw new FulfilmentInProgress(orderNo, 2);
      if (origin !== 'merchant' || skill.refundAfterFulfilment) return;
      if (skill.fulfilment === 'done') throw new RefundAfterFulfilment(orderNo);
      if (refunded + refunding < paid) throw new PartialRefundBeforeDelivery(orderNo);
    },
    async refundSucceeded(tx, { orderNo, paid, refunded }) {
      if (refunded < paid) return;
      const resolved = { state: 'resolved', resolution: 'refunded', resolvedBy: 'service', resolvedAt: now() } as const;
      await tx.exceptions.update({ orderNo, kind: ['unclaimed', 'fulfilment_failed'], state: 'open' }, resolved);
      await tx.skillOrders.update({ orderNo, fulfilment: 'none' }, { nextAttemptAt: null });
    },
    async refundFailed(tx, { orderNo }) {
      // While a refund is in progress, the job does not process the order (`nextAttemptAt` is null). This refund
      // failed, so the job processes the order again later.
      const rested = { orderNo, fulfilment: 'none', nextAttemptAt: null } as const;
      await tx.skillOrders.update(rested, { nextAttemptAt: later(now(), PATIENCE_SECONDS) });
    },
  };

  /** Opens an exception (a case for an operator) for a failed refund that later succeeds, after the delivery. */
  async function listDelivered(tx: Tx, order: OrderRow, { refundNo, createdAt }: RefundRow): Promise<void> {
    const skill = await tx.skillOrders.find({ orderNo: order.orderNo });
    if (!skill?.fulfilledAt || skill.fulfilledAt <= createdAt) return;
    await raise(tx, order, { kind: 'refund_after_delivery', dedupe: refundNo, refundNo });
  }
}
