import type { OrderRow } from '../../db/entities/orders.ts';
import type { Via } from '../ledger.ts';
import { ask, orderRef } from '../ask.ts';
import type { Outcome } from '../channel.ts';
import { isDoubtful } from '../core/plan.ts';
import { canCapture } from '../core/decide-order.ts';
import type { Ports } from '../ports.ts';
import { refreshOrder } from './query.ts';
import { lockOrder, settle, settleLocked } from '../settle.ts';

/** When the payer was asked to agree once more, as the caller knows it. */
type Refused = Pick<OrderRow, 'approvalAskedAt'>;

/**
 * Takes approved money (PayPal). Return page, webhook, query and jobs may all call it at once: one capture is made. `agreed`: the order
 * as the caller knew it when the payer had just agreed, which counts when a capture was refused before.
 */
export function capturePayment(ports: Ports) {
  const refresh = refreshOrder(ports);
  return async (orderNo: string, via: Via, agreed?: Refused): Promise<OrderRow> => {
    const { order, mine } = await intend(orderNo, via, agreed);
    if (!mine) return isDoubtful(order, ports.now()) ? settleDoubt(order, via) : order;
    ports.checkpoint('capture.intent');
    const outcome = await askForMoney(order);
    ports.checkpoint('capture.asked');
    const answer = { wish: 'settle_capture', captures: order.captures, outcome } as const;
    return settle(ports, orderNo, answer, { ...via, cause: 'capture' });
  };

  /** The intent, written under the order's lock: one capture at a time, and only of an order that nobody wants closed. */
  function intend(orderNo: string, via: Via, agreed?: Refused): Promise<{ order: OrderRow; mine: boolean }> {
    return ports.store.transaction(async (tx) => {
      const found = await lockOrder(tx, orderNo, 'any');
      const again = agreed && ({ wish: 'approved_again', refusedAt: agreed.approvalAskedAt } as const);
      const order = again ? await settleLocked(ports, tx, found, again, via) : found;
      const mine = canCapture(order, ports.now());
      return { order: await settleLocked(ports, tx, order, { wish: 'capture' }, via), mine };
    });
  }

  function askForMoney(order: OrderRow): Promise<Outcome> {
    const call = { ...orderRef(order), captureNo: `${order.orderNo}-c${order.captures}` };
    return ask(ports, order, async (channel): Promise<Outcome> =>
      channel.capture ? channel.capture(call) : { kind: 'unknown', cause: 'misconfigured' },
    );
  }

  /** The channel is asked first; when it shows no capture the doubt is over and the next try gets a new number. */
  async function settleDoubt(order: OrderRow, via: Via): Promise<OrderRow> {
    const seen = await refresh(order, via);
    if (seen.stale || seen.order.state === 'paid') return seen.order;
    return settle(ports, order.orderNo, { wish: 'forget_capture', captures: order.captures }, via);
  }
}
