import type { OrderRow } from '../../db/entities/orders.ts';
import type { Tx } from '../../db/store.ts';
import type { Via } from '../ledger.ts';
import { afterIntent, ask, intend, orderRef } from '../ask.ts';
import { type Reverse, reverseOf } from '../core/hear-order.ts';
import { noteDeed } from '../follow-ups.ts';
import { claimKey, type KeyClaim } from '../idempotency.ts';
import type { CloseReason } from '../../domain.ts';
import type { Asker, Ports } from '../ports.ts';
import { refreshOrder } from './query.ts';
import { OrderAlreadyPaid } from '../refusals.ts';
import { lockOrder, settle, settleLocked } from '../settle.ts';

/** Closes an order: 'closed' when the channel confirmed it, 'closing' while it did not; a paid order is refused. */
export type ClosePayment = (asker: Asker, orderNo: string, claim?: KeyClaim) => Promise<OrderRow>;

/** The operation over its ports. */
export function closePayment(ports: Ports): ClosePayment {
  const pursue = pursueClose(ports);
  return async ({ owner, actor, person }, orderNo, claim) => {
    const via = { cause: 'close', actor };
    const reason = actor === 'payer' ? 'payer' : owner === 'any' ? 'admin' : 'merchant';
    const order = await intendClose(ports, orderNo, reason, via, { owner, person, claim });
    ports.checkpoint('close.intent');
    if (order.state === 'paid') throw new OrderAlreadyPaid(orderNo);
    if (order.state !== 'closing') return order;
    return afterIntent({ orderNo }, async () => {
      await pursue(order, via);
      // Decided under the lock: once 'closing' was said, later money is late money.
      const told = await settle(ports, orderNo, { wish: 'answer_closing' }, via);
      if (told.state === 'paid') throw new OrderAlreadyPaid(orderNo);
      return told;
    });
  };
}

/** The intent to close, committed before the channel is asked. */
export function intendClose(
  ports: Ports,
  orderNo: string,
  reason: CloseReason,
  via: Via,
  { owner, person, claim }: Pick<Asker, 'owner' | 'person'> & { claim?: KeyClaim | undefined },
): Promise<OrderRow> {
  const work = async (tx: Tx) => {
    const locked = await lockOrder(tx, orderNo, owner);
    if (claim) await claimKey(tx, claim, orderNo, ports.now());
    const closing = await settleLocked(ports, tx, locked, { wish: 'close', reason }, via);
    await noteDeed(ports, tx, { person }, { action: 'order.close', target: orderNo });
    return closing;
  };
  return intend(ports, work, (order) => order);
}

/** Asks the channel to close, and to say what happened when it refuses. Whatever it says is settled. */
export function pursueClose(ports: Ports) {
  const refresh = refreshOrder(ports);
  return async (order: OrderRow, via: Via): Promise<OrderRow> => {
    if (order.captureState !== null) return (await refresh(order, via)).order;
    const { claimed, reverse } = await claim(order, via);
    if (reverse === 'running' || claimed.state !== 'closing') return claimed;
    ports.checkpoint('close.claimed');
    const outcome = await ask(ports, claimed, (channel) => channel.close(orderRef(claimed), reverse === 'again'));
    ports.checkpoint('close.asked');
    const own = reverse === 'plain' ? undefined : (claimed.reverseDoubtAt ?? undefined);
    const settled = await settle(ports, order.orderNo, { wish: 'settle_close', outcome, reverse: own }, via);
    if (settled.state !== 'closing' || outcome.kind === 'unknown') return settled;
    return (await refresh(settled, via)).order;
  };

  /** What may give money back is written down before it is sent: one call at a time, and none that is forgotten. */
  async function claim(order: OrderRow, via: Via): Promise<{ claimed: OrderRow; reverse: Reverse }> {
    if (reverseOf(order, ports.now()) === 'plain') return { claimed: order, reverse: 'plain' };
    return ports.store.transaction(async (tx) => {
      const found = await lockOrder(tx, order.orderNo, 'any');
      const reverse = reverseOf(found, ports.now());
      return { claimed: await settleLocked(ports, tx, found, { wish: 'reverse' }, via), reverse };
    });
  }
}
