import type { OrderRow } from '../../db/entities/orders.ts';
import type { Around } from '../../db/queries/orders.ts';
import { ask, orderRef, placeOrder } from '../ask.ts';
import type { Outcome } from '../channel.ts';
import { canRenew } from '../core/decide-order.ts';
import { isOpen } from '../core/moves.ts';
import { later } from '../core/plan.ts';
import type { Via } from '../ledger.ts';
import { type Asker, type Ports, within } from '../ports.ts';
import { findShown } from '../read.ts';
import { lockOrder, settle, settleLocked } from '../settle.ts';

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

/** An answer of the channel is fresh enough for this long. */
const FRESH_SECONDS = 5;

/** An order, and whether its channel could not be asked in time. */
export interface Seen {
  order: OrderRow;
  stale: boolean;
  /** What the channel said, when it was asked. */
  said?: Outcome;
  /** What is shown with it, when it was read and nothing has happened since. */
  around?: Around;
}

/**
 * Reads an order and, while it is open, asks the channel first: `stale` says that the channel did not answer in time. What the
 * payer needs is renewed when it has died.
 */
export type QueryPayment = (asker: Asker, orderNo: string) => Promise<Seen>;

/** The operation over its ports. */
export function queryPayment(ports: Ports): QueryPayment {
  const refresh = refreshOrder(ports);
  const renew = renewCredential(ports);

  async function look(order: OrderRow, via: Via): Promise<Seen> {
    const seen = isFresh(order, ports.now()) ? { order, stale: false } : await refresh(order, via);
    return { ...seen, order: await renew(seen.order, via) };
  }

  return async (asker, orderNo) => {
    const { order, around } = await ports.store.read((tx) => findShown(tx, orderNo, asker.owner));
    const now = ports.now();
    if (!isOpen(order.state) || (isFresh(order, now) && !canRenew(order, now))) return { order, stale: false, around };
    const refreshed = await within(ports.patience.query, look(order, { cause: 'query', actor: asker.actor }));
    if (refreshed) return refreshed;
    return { ...(await ports.store.read((tx) => findShown(tx, orderNo, asker.owner))), stale: true };
  };
}

/** Asks the channel about one order now and settles what it says. `stale` = it said nothing usable. */
export function refreshOrder(ports: Ports) {
  return async (order: OrderRow, via: Via): Promise<Seen> => {
    const outcome = await ask(ports, order, (channel) => channel.query(orderRef(order)));
    ports.checkpoint('query.asked');
    const settled = await settle(ports, order.orderNo, { outcome }, via);
    return { order: settled, stale: outcome.kind === 'unknown', said: outcome };
  };
}

function isFresh(order: OrderRow, now: Date): boolean {
  return order.checkedAt !== null && now < later(order.checkedAt, FRESH_SECONDS);
}
