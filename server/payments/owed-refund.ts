import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/store.ts';
import { apply } from './apply.ts';
import { newRefund, type RefundIntent } from './core/open-refund.ts';
import type { Ports } from './ports.ts';

/** Opens a refund that the service itself owes, in the caller's transaction and under the order's lock. */
export async function openOwedRefund(ports: Ports, tx: Tx, order: OrderRow, intent: RefundIntent): Promise<void> {
  const { cause, actor } = intent;
  const open = newRefund(order, intent, ports.now());
  await apply(ports, tx, { order }, { rule: null, open }, { cause, actor });
}
