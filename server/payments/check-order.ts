import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/tx.ts';
import { ask, orderRef } from './ask.ts';
import { capturePayment, isDoubtful } from './capture.ts';
import { beginClose, pursueClose } from './close.ts';
import { lockOrder } from './owner.ts';
import type { Ports } from './ports.ts';
import { refreshOrder } from './query.ts';
import { isOpen } from './order-state.ts';
import { endOf, later, nextOrderCheck } from './schedule.ts';
import { closeOrder } from './settle/order.ts';

const VIA = { cause: 'check', actor: 'service' };

/** A channel that says nothing about an ended order is asked again and again for this long after its end. */
const PATIENCE_SECONDS = 4 * 86_400;

/** Does for one order whatever is due: asks, expires, closes, captures, looks for late money. Jobs never place. */
export function checkOrder(ports: Ports) {
  const refresh = refreshOrder(ports);
  const capture = capturePayment(ports);
  const pursue = pursueClose(ports);

  return async (orderNo: string): Promise<void> => {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
    if (!order) return;
    if (order.state === 'closing') return close(order);
    if (order.state === 'closed' || order.state === 'failed') return lookForLateMoney(order);
    if (order.state === 'paid') return rest(order);
    const { order: seen, said } = await refresh(order, VIA);
    if (!takesMoney(seen) || seen.captureState === 'pending') return;
    if (said?.kind === 'approved' || isDoubtful(seen, ports.now())) await capture(orderNo, VIA);
    else if (seen.captureState === null && ports.now() >= endOf(seen)) await expire(seen);
  };

  async function expire(order: OrderRow): Promise<void> {
    const closing = await ports.store.transaction(async (tx) =>
      beginClose(ports, tx, await lockOrder(tx, order.orderNo, 'any'), 'expired', {
        cause: 'expiry',
        actor: 'service',
      }),
    );
    if (closing.state === 'closing') await close(closing);
  }

  /** O7: the channel confirms, or its expiry is past and it knows nothing, twice. */
  async function close(order: OrderRow): Promise<void> {
    if (isDoubtful(order, ports.now())) await capture(order.orderNo, VIA);
    const seen = await pursue(order, { cause: order.closeReason === 'expired' ? 'expiry' : 'check', actor: 'service' });
    if (seen.state !== 'closing') return;
    await ports.store.transaction(async (tx) => {
      const locked = await lockOrder(tx, order.orderNo, 'any');
      if (locked.state === 'closing' && isGone(locked))
        await closeOrder(ports, tx, locked, {
          rule: 'O7',
          via: VIA,
          now: ports.now(),
          reason: locked.closeReason ?? 'expired',
        });
    });
  }

  /** Money that the channel took after the end is found here when its notice was lost; a trade that can still be paid is closed again. */
  async function lookForLateMoney(order: OrderRow): Promise<void> {
    const { order: seen, said } = await refresh(order, { cause: 'late-check', actor: 'service' });
    if (seen.paid > 0n) return rest(seen);
    if (said?.kind === 'pending') await closeAgain(seen);
    await ports.store.transaction((tx) => planLateCheck(tx, seen, said?.kind === 'unknown'));
  }

  /** Silence is no answer: the step is asked again hourly, for a while. What somebody else planned meanwhile stays. */
  async function planLateCheck(tx: Tx, seen: OrderRow, silent: boolean): Promise<void> {
    const locked = await lockOrder(tx, seen.orderNo, 'any');
    const isMine = locked.nextCheckAt?.getTime() === seen.nextCheckAt?.getTime() && locked.paid === 0n;
    if (isOpen(locked.state) || locked.state === 'paid' || !isMine) return;
    const now = ports.now();
    const waits = silent && now < later(locked.closedAt ?? locked.createdAt, PATIENCE_SECONDS);
    const checks = locked.checks + (waits ? 0 : 1);
    const nextCheckAt = waits ? later(now, 3600) : nextOrderCheck({ ...locked, checks }, now);
    await tx.orders.update({ orderNo: seen.orderNo }, { checks, leasedUntil: null, nextCheckAt });
  }

  async function closeAgain(order: OrderRow): Promise<void> {
    await ask(ports, order.orderNo, async () => (await ports.channels.forOrder(order)).close(orderRef(order)));
  }

  async function rest(order: OrderRow): Promise<void> {
    await ports.store.read((tx) =>
      tx.orders.update(
        { orderNo: order.orderNo, state: ['paid', 'closed', 'failed'] },
        { nextCheckAt: null, leasedUntil: null },
      ),
    );
  }
}

/** The channel's own expiry is past and it knew nothing, twice, a minute apart. */
function isGone({ absentCount }: OrderRow): boolean {
  return absentCount >= 2;
}

function takesMoney({ state }: OrderRow): boolean {
  return state === 'created' || state === 'pending';
}
