import type { OrderRow } from '../db/entities/orders.ts';
import type { Via } from './apply.ts';
import { ask, placeOrder } from './ask.ts';
import { canRenew } from './core/wish-order.ts';
import type { Ports } from './ports.ts';
import { lockOrder, settle, settleLocked } from './settle.ts';

/**
 * Renews what a payer needs where it has died before its order (WeChat Pay's h5_url): the same create again, byte for byte.
 * The order as it is then; without a new credential when the channel gave none.
 */
export function renewCredential(ports: Ports) {
  return async (order: OrderRow, via: Via): Promise<OrderRow> => {
    if (!canRenew(order, ports.now())) return order;
    const { locked, mine } = await ports.store.transaction(async (tx) => {
      const found = await lockOrder(tx, order.orderNo, 'any');
      const isMine = canRenew(found, ports.now());
      return {
        mine: isMine,
        locked: isMine ? await settleLocked(ports, tx, found, { wish: 'send_again' }, via) : found,
      };
    });
    if (!mine) return locked;
    const call = placeOrder(locked, ports.publicUrl);
    const outcome = await ask(ports, locked, (channel) => channel.place(call));
    ports.checkpoint('renew.asked');
    return settle(ports, order.orderNo, { outcome }, via);
  };
}
