import type { OrderRow } from '../db/entities/orders.ts';
import type { Via } from './apply.ts';
import { ask, orderRef } from './ask.ts';
import type { Outcome } from './channel.ts';
import { isDoubtful } from './core/plan.ts';
import { canCapture } from './core/wish-order.ts';
import type { Ports } from './ports.ts';
import { refreshOrder } from './query.ts';
import { lockOrder, settle, settleLocked } from './settle.ts';

/** Takes approved money (PayPal). Return page, webhook, query and jobs may all call it at once: one capture is made. */
export function capturePayment(ports: Ports) {
  const refresh = refreshOrder(ports);
  return async (orderNo: string, via: Via): Promise<OrderRow> => {
    const { order, mine } = await intend(orderNo, via);
    if (!mine) return isDoubtful(order, ports.now()) ? settleDoubt(order, via) : order;
    ports.checkpoint('capture.intent');
    const outcome = await askForMoney(order);
    ports.checkpoint('capture.asked');
    const answer = { wish: 'settle_capture', captures: order.captures, outcome } as const;
    return settle(ports, orderNo, answer, { ...via, cause: 'capture' });
  };

  /** The intent, written under the order's lock: one capture at a time, and only of an order that nobody wants closed. */
  function intend(orderNo: string, via: Via): Promise<{ order: OrderRow; mine: boolean }> {
    return ports.store.transaction(async (tx) => {
      const order = await lockOrder(tx, orderNo, 'any');
      const mine = canCapture(order);
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
