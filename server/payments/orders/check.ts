import type { OrderRow } from '../../db/entities/orders.ts';
import { inSpan } from '../../tracing.ts';
import { ask, orderRef } from '../ask.ts';
import { nextStep } from '../core/plan.ts';
import type { Via } from '../ledger.ts';
import type { Ports } from '../ports.ts';
import { settle } from '../settle.ts';
import { capturePayment } from './capture.ts';
import { intendClose, pursueClose } from './close.ts';
import { refreshOrder } from './query.ts';

const CHECK = { cause: 'check', actor: 'service' };
const EXPIRY = { cause: 'expiry', actor: 'service' };
const LATE = { cause: 'late-check', actor: 'service' };

/** Does for one order whatever is due: asks, expires, closes, captures, looks for late money. Jobs never place. `via`: somebody else than a job looks. */
export function checkOrder(ports: Ports) {
  const refresh = refreshOrder(ports);
  const capture = capturePayment(ports);
  const pursue = pursueClose(ports);

  return async (orderNo: string, via: Via = CHECK): Promise<void> => {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
    if (order) await inSpan('check order', { parent: order.traceParent }, () => check(order, via));
  };

  async function check(order: OrderRow, via: Via): Promise<void> {
    if (order.state === 'closing') return close(order);
    const step = nextStep(order, ports.now());
    if (step === 'rest') return rest(order);
    if (step === 'look_for_late_money') return lookForLateMoney(order);
    const { order: seen, said } = await refresh(order, via);
    await follow(seen, nextStep(seen, ports.now(), said), via);
  }

  /** What the channel's answer makes due at once; the order was open when it was asked. */
  async function follow(order: OrderRow, step: ReturnType<typeof nextStep>, via: Via): Promise<void> {
    if (order.state === 'closing') return;
    if (step === 'capture' || step === 'settle_capture') await capture(order.orderNo, via);
    if (step !== 'expire') return;
    const closing = await intendClose(ports, order.orderNo, 'expired', EXPIRY, { owner: 'any' });
    if (closing.state === 'closing') await close(closing);
  }

  /** The channel confirms, or its expiry is past and it knows nothing, twice. */
  async function close(order: OrderRow): Promise<void> {
    if (nextStep(order, ports.now()) === 'settle_capture') await capture(order.orderNo, CHECK);
    const seen = await pursue(order, order.closeReason === 'expired' ? EXPIRY : CHECK);
    if (seen.state === 'closing') await settle(ports, order.orderNo, { wish: 'give_up' }, CHECK);
  }

  /** Money that the channel took after the end is found here when its notice was lost; a trade that can still be paid is closed again. */
  async function lookForLateMoney(order: OrderRow): Promise<void> {
    const { order: seen, said } = await refresh(order, LATE);
    if (seen.paid > 0n) return rest(seen);
    if (said?.kind === 'pending') await ask(ports, seen, (channel) => channel.close(orderRef(seen)));
    const silent = said?.kind === 'unknown';
    await settle(ports, order.orderNo, { wish: 'plan_late_check', dueAt: seen.nextCheckAt, silent }, LATE);
  }

  async function rest({ orderNo }: OrderRow): Promise<void> {
    await settle(ports, orderNo, { wish: 'rest' }, CHECK);
  }
}
