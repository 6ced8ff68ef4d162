import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/tx.ts';
import { apply, type Via } from './apply.ts';
import type { RefundOutcome } from './channel.ts';
import { decideForeignRefund } from './core/decide-refund.ts';
import { newNumber } from './numbers.ts';
import type { Ports } from './ports.ts';

/** A refund that was made elsewhere (portal, dispute) becomes known: its own row, inside the sums, with an exception. */
export async function settleForeignRefund(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  channelNumber: string | null,
  via: Via,
): Promise<OrderRow> {
  const now = ports.now();
  const channelRefundNo = outcome.channelRefundNo ?? channelNumber;
  const known = channelRefundNo && (await tx.refunds.find({ orderNo: order.orderNo, channelRefundNo }));
  const also = { ...via, refundNo: newNumber('R', now), channelRefundNo };
  const change = decideForeignRefund(order, { isKnown: Boolean(known) }, outcome, also, now);
  return (await apply(ports, tx, { order }, change, via)).order;
}
