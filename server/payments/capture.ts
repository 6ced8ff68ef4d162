import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/tx.ts';
import { ask, orderRef } from './ask.ts';
import type { Outcome } from './channel.ts';
import type { Via } from './journal.ts';
import { isOpen } from './order-state.ts';
import { lockOrder } from './owner.ts';
import type { Ports } from './ports.ts';
import { refreshOrder } from './query.ts';
import { later } from './schedule.ts';
import { settleLocked } from './settle/order.ts';

/** A capture call is somebody's for this long; afterwards the channel is asked before anyone tries again (C2). */
const LEASE_SECONDS = 30;

/** Takes approved money (PayPal). Return page, webhook, query and jobs may all call it at once: one capture is made. */
export function capturePayment(ports: Ports) {
  const refresh = refreshOrder(ports);
  return async (orderNo: string, via: Via): Promise<OrderRow> => {
    const { order, mine } = await ports.store.transaction((tx) => claimCapture(ports, tx, orderNo));
    if (!mine) return isDoubtful(order, ports.now()) ? resolveDoubt(ports, refresh, order, via) : order;
    ports.checkpoint('capture.intent');
    const call = { ...orderRef(order), captureNo: captureNo(order) };
    const outcome = await ask(ports, orderNo, async (): Promise<Outcome> => {
      const channel = await ports.channels.forOrder(order);
      return channel.capture ? channel.capture(call) : { kind: 'unknown', cause: 'misconfigured' };
    });
    ports.checkpoint('capture.asked');
    return ports.store.transaction((tx) => settleCapture(ports, tx, order, outcome, via));
  };
}

/** C1: the capture row is written under the order's lock and refused in any state but created and pending. */
async function claimCapture(ports: Ports, tx: Tx, orderNo: string): Promise<{ order: OrderRow; mine: boolean }> {
  const order = await lockOrder(tx, orderNo, 'any');
  const takesMoney = order.state === 'created' || order.state === 'pending';
  if (!takesMoney || order.closeAsked || order.captureState !== null || order.channelOrderId === null)
    return { order, mine: false };
  const now = ports.now();
  const patch = {
    captures: order.captures + 1,
    captureState: 'live' as const,
    captureLeasedUntil: later(now, LEASE_SECONDS),
    nextCheckAt: later(now, LEASE_SECONDS + 1),
  };
  await tx.orders.update({ orderNo }, patch);
  return { order: { ...order, ...patch }, mine: true };
}

/** Settles what the capture said; only a certain answer ends the intent, silence leaves it `unknown` (C2). */
async function settleCapture(
  ports: Ports,
  tx: Tx,
  { orderNo, captures }: OrderRow,
  outcome: Outcome,
  via: Via,
): Promise<OrderRow> {
  const order = await lockOrder(tx, orderNo, 'any');
  // An answer that outlived its lease says nothing about a later try, unless it brings money.
  if (order.captures !== captures && outcome.kind !== 'paid') return order;
  const doubt = outcome.kind === 'unknown' || (outcome.kind === 'declined' && !outcome.definite);
  const state = outcome.kind === 'pending' && outcome.capturePending ? 'pending' : doubt ? 'unknown' : null;
  const patch = { captureState: state, captureLeasedUntil: null, nextCheckAt: later(ports.now(), 5) } as const;
  if (isOpen(order.state)) await tx.orders.update({ orderNo }, patch);
  return settleLocked(ports, tx, { ...order, ...patch }, outcome.kind === 'approved' ? { kind: 'pending' } : outcome, {
    ...via,
    cause: 'capture',
  });
}

/** C2: ask first. When the channel shows no capture the doubt is over and the next try gets a new number. */
async function resolveDoubt(
  ports: Ports,
  refresh: ReturnType<typeof refreshOrder>,
  order: OrderRow,
  via: Via,
): Promise<OrderRow> {
  const seen = await refresh(order, via);
  if (seen.stale || seen.order.state === 'paid') return seen.order;
  return ports.store.transaction(async (tx) => {
    const locked = await lockOrder(tx, order.orderNo, 'any');
    const still = locked.captures === order.captures && isDoubtful(locked, ports.now());
    if (!still) return locked;
    await tx.orders.update(
      { orderNo: order.orderNo },
      { captureState: null, captureLeasedUntil: null, nextCheckAt: ports.now() },
    );
    return { ...locked, captureState: null, captureLeasedUntil: null };
  });
}

/** Whether a capture's outcome is open and nobody is working on it. */
export function isDoubtful(order: OrderRow, now: Date): boolean {
  if (order.captureState === 'unknown') return true;
  return order.captureState === 'live' && (order.captureLeasedUntil === null || order.captureLeasedUntil <= now);
}

function captureNo({ orderNo, captures }: OrderRow): string {
  return `${orderNo}-c${captures}`;
}
