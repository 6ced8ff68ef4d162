import type { OrderRow } from '../../db/entities/orders.ts';
import type { Around, ShownOrder } from '../../db/queries/orders.ts';
import type { Tx } from '../../db/store.ts';
import type { CloseReason } from '../../domain.ts';
import { inSpan } from '../../work.ts';
import { afterIntent, callChannel, recordIntent, orderRef, placeOrder } from '../call-channel.ts';
import type { Outcome } from '../channel.ts';
import { canCapture, canRenew } from '../core/decide-order.ts';
import { type Reverse, reverseOf } from '../core/apply-order-outcome.ts';
import { isOpen } from '../core/transitions.ts';
import { isDoubtful, later, nextStep } from '../core/plan.ts';
import { addAuditEntry } from '../side-effects.ts';
import { type KeyClaim, claimKey } from '../idempotency.ts';
import type { Via } from '../ledger.ts';
import { type Requester, type Ports, within } from '../ports.ts';
import { findShown } from '../view.ts';
import { OrderAlreadyPaid } from '../errors.ts';
import { lockOrder, settle, settleLocked } from '../settle.ts';

/**
 * Renews an expired payment link of an open order (WeChat Pay's h5_url) by repeating the create call with the same
 * content. Returns the order. If the channel returned no link, the stored link stays.
 */
export function renewCredential(ports: Ports) {
  return async (order: OrderRow, via: Via): Promise<OrderRow> => {
    if (!canRenew(order, ports.now())) return order;
    const { locked, mine } = await ports.store.transaction(async (tx) => {
      const found = await lockOrder(tx, order.orderNo, 'any');
      const isMine = canRenew(found, ports.now());
      return {
        mine: isMine,
        locked: isMine ? await settleLocked(ports, tx, found, { command: 'send_again' }, via) : found,
      };
    });
    if (!mine) return locked;
    const call = placeOrder(locked, ports.publicUrl);
    const outcome = await callChannel(ports, locked, (channel) => channel.place(call));
    ports.checkpoint('renew.asked');
    return settle(ports, order.orderNo, { outcome }, via);
  };
}

/** If the channel answered less than this many seconds ago, a query does not call the channel. */
const FRESH_SECONDS = 5;

/** An order after a query; `stale`: the channel did not answer in time. */
export interface Seen {
  order: OrderRow;
  stale: boolean;
  /** The channel's outcome, if it was queried. */
  reported?: Outcome;
  /** The refunds, exceptions and fees, if they were read together with the order and are still current. */
  around?: Around;
}

/** Returns an order. If it is open, the channel is queried first, and an expired payment link is renewed. */
export type QueryPayment = (requester: Requester, orderNo: string, ahead?: ReadAhead) => Promise<Seen>;

/** The read of the order, if it began while the caller was authenticated. */
export type ReadAhead = Promise<ShownOrder | undefined>;

/** Creates the function that queries orders. */
export function queryPayment(ports: Ports): QueryPayment {
  const refresh = refreshOrder(ports);
  const renew = renewCredential(ports);

  async function look(order: OrderRow, via: Via): Promise<Seen> {
    const seen = isFresh(order, ports.now()) ? { order, stale: false } : await refresh(order, via);
    return { ...seen, order: await renew(seen.order, via) };
  }

  return async (requester, orderNo, ahead) => {
    const { order, around } = await findShown(ahead ?? ports.readShown(orderNo), requester.owner);
    const now = ports.now();
    if (!isOpen(order.state) || (isFresh(order, now) && !canRenew(order, now))) return { order, stale: false, around };
    const refreshed = await within(ports.patience.query, look(order, { cause: 'query', actor: requester.actor }));
    if (refreshed) return refreshed;
    return { ...(await findShown(ports.readShown(orderNo), requester.owner)), stale: true };
  };
}

/** Queries the channel about one order and stores the outcome. `stale` = the answer was unusable. */
export function refreshOrder(ports: Ports) {
  return async (order: OrderRow, via: Via): Promise<Seen> => {
    const outcome = await callChannel(ports, order, (channel) => channel.query(orderRef(order)));
    ports.checkpoint('query.asked');
    const settled = await settle(ports, order.orderNo, { outcome }, via);
    return { order: settled, stale: outcome.kind === 'unknown', reported: outcome };
  };
}

function isFresh(order: OrderRow, now: Date): boolean {
  return order.checkedAt !== null && now < later(order.checkedAt, FRESH_SECONDS);
}

/** Identifies a refused capture: the time at which the service began to wait for a new approval by the payer. */
type Refused = Pick<OrderRow, 'approvalAskedAt'>;

/**
 * Captures approved money (PayPal). The return page, the webhook, a query and jobs may call this function concurrently;
 * only one capture is made. `agreed`: the order as the caller read it when the payer approved. It shows whether the
 * payer approved again after a refused capture.
 */
export function capturePayment(ports: Ports) {
  const refresh = refreshOrder(ports);
  return async (orderNo: string, via: Via, agreed?: Refused): Promise<OrderRow> => {
    const { order, mine } = await recordCaptureIntent(orderNo, via, agreed);
    if (!mine) return isDoubtful(order, ports.now()) ? settleDoubt(order, via) : order;
    ports.checkpoint('capture.intent');
    const outcome = await captureAtChannel(order);
    ports.checkpoint('capture.asked');
    const answer = { command: 'settle_capture', captures: order.captures, outcome } as const;
    return settle(ports, orderNo, answer, { ...via, cause: 'capture' });
  };

  /** Runs under the order's lock, so that only one capture starts; none starts after a close was requested. */
  function recordCaptureIntent(
    orderNo: string,
    via: Via,
    agreed?: Refused,
  ): Promise<{ order: OrderRow; mine: boolean }> {
    return ports.store.transaction(async (tx) => {
      const found = await lockOrder(tx, orderNo, 'any');
      const again = agreed && ({ command: 'approved_again', refusedAt: agreed.approvalAskedAt } as const);
      const order = again ? await settleLocked(ports, tx, found, again, via) : found;
      const mine = canCapture(order, ports.now());
      return { order: await settleLocked(ports, tx, order, { command: 'capture' }, via), mine };
    });
  }

  function captureAtChannel(order: OrderRow): Promise<Outcome> {
    const call = { ...orderRef(order), captureNo: `${order.orderNo}-c${order.captures}` };
    return callChannel(ports, order, async (channel): Promise<Outcome> =>
      channel.capture ? channel.capture(call) : { kind: 'unknown', cause: 'misconfigured' },
    );
  }

  /** If the channel does not know the capture, the next attempt uses a new number for the capture. */
  async function settleDoubt(order: OrderRow, via: Via): Promise<OrderRow> {
    const seen = await refresh(order, via);
    if (seen.stale || seen.order.state === 'paid') return seen.order;
    return settle(ports, order.orderNo, { command: 'forget_capture', captures: order.captures }, via);
  }
}

/** Closes an order: `closed` if the channel confirmed, otherwise `closing`. Throws 409 for a paid order. */
export type ClosePayment = (requester: Requester, orderNo: string, claim?: KeyClaim) => Promise<OrderRow>;

/** Creates the function that closes orders. */
export function closePayment(ports: Ports): ClosePayment {
  const pursue = pursueClose(ports);
  return async ({ owner, actor, person }, orderNo, claim) => {
    const via = { cause: 'close', actor };
    const reason = actor === 'payer' ? 'payer' : owner === 'any' ? 'admin' : 'merchant';
    const order = await recordCloseIntent(ports, orderNo, reason, via, { owner, person, claim });
    ports.checkpoint('close.intent');
    if (order.state === 'paid') throw new OrderAlreadyPaid(orderNo);
    if (order.state !== 'closing') return order;
    return afterIntent({ orderNo }, async () => {
      await pursue(order, via);
      // The answer `closing` is stored under the order's lock: a payment that arrives later is a late payment.
      const answered = await settle(ports, orderNo, { command: 'answer_closing' }, via);
      if (answered.state === 'paid') throw new OrderAlreadyPaid(orderNo);
      return answered;
    });
  };
}

/** Records that the order is to be closed, before the channel is called. */
function recordCloseIntent(
  ports: Ports,
  orderNo: string,
  reason: CloseReason,
  via: Via,
  { owner, person, claim }: Pick<Requester, 'owner' | 'person'> & { claim?: KeyClaim | undefined },
): Promise<OrderRow> {
  const work = async (tx: Tx) => {
    const locked = await lockOrder(tx, orderNo, owner);
    if (claim) await claimKey(tx, claim, orderNo, ports.now());
    const closing = await settleLocked(ports, tx, locked, { command: 'close', reason }, via);
    await addAuditEntry(ports, tx, { person }, { action: 'order.close', target: orderNo });
    return closing;
  };
  return recordIntent(ports, work, (order) => order);
}

/** If the channel does not confirm the close, the order is queried. */
function pursueClose(ports: Ports) {
  const refresh = refreshOrder(ports);
  return async (order: OrderRow, via: Via): Promise<OrderRow> => {
    if (order.captureState !== null) return (await refresh(order, via)).order;
    const { claimed, reverse } = await claim(order, via);
    if (reverse === 'running' || claimed.state !== 'closing') return claimed;
    ports.checkpoint('close.claimed');
    const outcome = await callChannel(ports, claimed, (channel) =>
      channel.close(orderRef(claimed), reverse === 'again'),
    );
    ports.checkpoint('close.asked');
    const own = reverse === 'plain' ? undefined : (claimed.reverseDoubtAt ?? undefined);
    const settled = await settle(ports, order.orderNo, { command: 'settle_close', outcome, reverse: own }, via);
    if (settled.state !== 'closing' || outcome.kind === 'unknown') return settled;
    return (await refresh(settled, via)).order;
  };

  /**
   * Records a close that may return a payment, before the close is sent. Therefore only one such close runs at a time.
   */
  async function claim(order: OrderRow, via: Via): Promise<{ claimed: OrderRow; reverse: Reverse }> {
    if (reverseOf(order, ports.now()) === 'plain') return { claimed: order, reverse: 'plain' };
    return ports.store.transaction(async (tx) => {
      const found = await lockOrder(tx, order.orderNo, 'any');
      const reverse = reverseOf(found, ports.now());
      return { claimed: await settleLocked(ports, tx, found, { command: 'reverse' }, via), reverse };
    });
  }
}

const CHECK = { cause: 'check', actor: 'service' };
const EXPIRY = { cause: 'expiry', actor: 'service' };
const LATE = { cause: 'late-check', actor: 'service' };

/** Runs the due steps of one order (query, expire, close, capture, late payment); never sends a create call. */
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
    const { order: seen, reported } = await refresh(order, via);
    await follow(seen, nextStep(seen, ports.now(), reported), via);
  }

  async function follow(order: OrderRow, step: ReturnType<typeof nextStep>, via: Via): Promise<void> {
    if (order.state === 'closing') return;
    if (step === 'capture' || step === 'settle_capture') await capture(order.orderNo, via);
    if (step !== 'expire') return;
    const closing = await recordCloseIntent(ports, order.orderNo, 'expired', EXPIRY, { owner: 'any' });
    if (closing.state === 'closing') await close(closing);
  }

  /** Repeats the close until the channel confirms it, or has answered "not found" twice after the expiry. */
  async function close(order: OrderRow): Promise<void> {
    if (nextStep(order, ports.now()) === 'settle_capture') await capture(order.orderNo, CHECK);
    const seen = await pursue(order, order.closeReason === 'expired' ? EXPIRY : CHECK);
    if (seen.state === 'closing') await settle(ports, order.orderNo, { command: 'give_up' }, CHECK);
  }

  /**
   * The notification of a late payment may be lost. If the order can still be paid at the channel, it is closed there.
   */
  async function lookForLateMoney(order: OrderRow): Promise<void> {
    const { order: seen, reported } = await refresh(order, LATE);
    if (seen.paid > 0n) return rest(seen);
    if (reported?.kind === 'pending') await callChannel(ports, seen, (channel) => channel.close(orderRef(seen)));
    const silent = reported?.kind === 'unknown';
    await settle(ports, order.orderNo, { command: 'plan_late_check', dueAt: seen.nextCheckAt, silent }, LATE);
  }

  async function rest({ orderNo }: OrderRow): Promise<void> {
    await settle(ports, orderNo, { command: 'rest' }, CHECK);
  }
}
