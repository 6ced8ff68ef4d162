import type { OrderRow } from '../db/entities/orders.ts';
import { ask, placeOrder } from './ask.ts';
import type { Outcome } from './channel.ts';
import { claimOrder } from './claim-order.ts';
import { draftOrder } from './draft-order.ts';
import type { Payee, PayRequest, PlaceOptions } from './pay-request.ts';
import type { Ports } from './ports.ts';
import { afterIntent, ChannelAnswerUnusable, ChannelRefused, unknownOutcome } from './refusals.ts';
import { settle } from './settle.ts';

/** Places an order: intent, channel, settle. A retry with the same key or merchantOrderNo gets the same order. */
export type PlacePayment = (payee: Payee, request: PayRequest, options?: PlaceOptions) => Promise<OrderRow>;

/** The operation over its ports. */
export function placePayment(ports: Ports): PlacePayment {
  return async (payee, request, options = {}) => {
    const active = await ports.channels.forNew(payee.project, request.payWay);
    const draft = draftOrder(active, payee, request, options, ports.now());
    const { order, send, fresh } = await ports.store.transaction((tx) =>
      claimOrder(ports, tx, draft, request, options),
    );
    ports.checkpoint('place.intent');
    if (!send) return refuseOrReturn(order);
    return afterIntent({ orderNo: order.orderNo }, async () => {
      const call = placeOrder(order, ports.publicUrl);
      const outcome = await ask(ports, order, (channel) => channel.place(call), fresh ? active.channel : undefined);
      ports.checkpoint('place.asked');
      const heard = { outcome, firstWord: fresh };
      const settled = await settle(ports, order.orderNo, heard, { cause: 'place', actor: payee.actor });
      ports.checkpoint('place.settled');
      return answer(settled, outcome);
    });
  };
}

function refuseOrReturn(order: OrderRow): OrderRow {
  if (order.state === 'failed') throw refusal(order);
  return order;
}

function refusal(order: OrderRow): ChannelRefused {
  return new ChannelRefused(order.payWay, order.failureCode ?? 'refused', order.failureMessage ?? '', {
    orderNo: order.orderNo,
  });
}

/** What the caller hears: the state of the row decides, the outcome only explains why there is nothing to pay with. */
function answer(order: OrderRow, outcome: Outcome): OrderRow {
  if (order.state === 'failed') throw refusal(order);
  if (order.state !== 'created' && (order.credential !== null || order.state !== 'pending')) return order;
  // A refusal that ended nothing (not for certain, or of a re-send) is no answer to keep: the order lives, and a retry goes on.
  if (outcome.kind === 'declined') {
    const { code, reason: message } = outcome;
    throw new ChannelAnswerUnusable(order.orderNo, 'rejected', { payWay: order.payWay, code, message });
  }
  throw unknownOutcome(order.orderNo, outcome.kind === 'unknown' ? outcome.cause : 'in_progress');
}
