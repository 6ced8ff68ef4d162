// Repeated calls that contain an order number. After the payment they return the content. This file also checks the
// client's own key of a payment (`payment-identifier`).
import type { OrderRow } from '../db/entities/orders.ts';
import { AppError } from '../errors.ts';
import { afterIntent } from '../payments/call-channel.ts';
import { claimKey, digest, withIntentKey } from '../payments/idempotency.ts';
import { type Redeemed, contentAnswer, failedBy, paymentRequired, refundedAnswer } from './answers.ts';
import { type Claimed, LOOK_MS, isLive, isRefunded, ownPair, pause, readPair } from './claim.ts';
import { type Call, type Proof, firstFault } from './schemes/scheme.ts';
import type { Fulfilment } from './fulfil.ts';
import type { SuccessorOf } from './offer.ts';
import { type SkillCaller, type SkillPair, type SkillPorts, type SkillRequest, requesterOf } from './ports.ts';
import {
  FulfilmentFailed,
  FulfilmentInProgress,
  FulfilmentNotRefunded,
  FulfilmentUnavailable,
  OrderClosed,
  OrderRefunded,
  PaymentExpired,
  PaymentIdUsed,
  ResourceMismatch,
} from './errors.ts';

/**
 * An offer that ended may have been replaced by a new offer, and that one by another. One call follows at most this
 * many replacements.
 */
const MAX_LINKS = 8;

/** Returns the content, or throws the reason why the content is not returned. */
export type Redeem = (
  caller: SkillCaller,
  outTradeNo: string,
  request: SkillRequest | undefined,
  call: Call,
) => Promise<Redeemed>;

/** An offer with its current state at the channel. */
interface Look extends Omit<Seen, 'order'> {
  pair: SkillPair;
}

interface Seen {
  order: OrderRow;
  silent: boolean;
  scanSkipped: boolean;
}

interface Refused {
  call: Call;
  /** The offer whose number the caller sent. */
  named: SkillPair;
}

/** Creates the function that handles repeated calls. */
export function redeemOffer(ports: SkillPorts, fulfilment: Fulfilment, successorOf: SuccessorOf): Redeem {
  const { store, payments, now } = ports;

  return async (caller, outTradeNo, request, call) => {
    const stored = ownPair(await ports.readOffer(outTradeNo), caller);
    // If the simulator is disabled, `forOrder` always throws for an order of the simulator. Thus the caller gets an
    // error instead of the content.
    if (stored.order.mode === 'simulator' && !ports.simulated) await ports.channels.forOrder(stored.order);
    requireSameBody(stored, request);
    // Refuses a proof that belongs to another offer. Whether the order is paid is decided later, by the channel.
    const fault = firstFault(call, stored, now());
    if (fault !== 'unpaid') throw await paymentRequired(ports, stored, call, { why: fault });
    for (const { once } of call.proofs) if (once) await bindPaymentId(ports, caller, once, outTradeNo);
    let { pair, silent, scanSkipped } = await look(caller, stored);
    for (let links = 0; isReplaceable(pair, silent); links += 1) {
      const next = links < MAX_LINKS ? await successorOf(caller, pair, { payWay: request?.payWay }) : undefined;
      if (!next) throw new PaymentExpired(failedBy(ports.schemes, call, pair, 'expired'));
      ({ pair, silent, scanSkipped } = await look(caller, next));
    }
    const { order, skill } = pair;
    if (skill.fulfilment !== 'failed' && isRefunded(pair)) throw new OrderRefunded(order.orderNo);
    if (order.state !== 'paid') throw await refusalOf(pair, silent, { call, named: stored });
    return afterIntent({ orderNo: order.orderNo }, () => deliver(pair, scanSkipped, call));
  };

  function requireSameBody({ skill }: SkillPair, request: SkillRequest | undefined): void {
    if (!request) return;
    // `userId` selects a coin account. It is not compared, because this offer is paid with money.
    const { userId: _, ...sent } = request;
    if (Object.values(sent).every((member) => member === undefined)) return;
    const named = { resource: request.resource ?? skill.resource, input: request.input ?? null };
    if (digest(named) !== skill.bodyDigest) throw new ResourceMismatch();
  }

  /** The state comes from the channel and the stored notifications, never from the caller's request. */
  async function look(caller: SkillCaller, { order, skill }: SkillPair): Promise<Look> {
    const { order: now, ...seen } = await lookAt(caller, order);
    return { pair: { order: now, skill }, ...seen };
  }

  async function lookAt(caller: SkillCaller, order: OrderRow): Promise<Seen> {
    const skipped = { scanSkipped: false };
    if (order.state === 'paid' || order.state === 'failed') return { order, silent: false, ...skipped };
    if (order.state === 'closed') return { ...(await lookLate(order)), ...skipped };
    if (ports.paySimulated && order.mode === 'simulator' && !order.closeAsked)
      return skipScan(ports.paySimulated, order);
    const seen = await payments.query(requesterOf(caller), order.orderNo);
    // The order was open before this query, but the channel may have answered that it is closed.
    if (seen.order.state === 'closed') return { ...(await lookLate(seen.order)), ...skipped };
    return { order: seen.order, silent: seen.stale, ...skipped };
  }

  /** An expired order may have been paid late. One that the merchant or an administrator closed is not queried. */
  async function lookLate(order: OrderRow): Promise<{ order: OrderRow; silent: boolean }> {
    if (isOnPurpose(order) || order.paid > 0n) return { order, silent: false };
    const seen = await payments.refresh(order, { cause: 'redeem', actor: `app:${order.clientId}` });
    return { order: seen.order, silent: seen.stale };
  }

  /** DevMode: makes the simulator pay the order, which is then handled like any other paid order. */
  async function skipScan(pay: (orderNo: string) => Promise<void>, order: OrderRow): Promise<Seen> {
    const { orderNo } = order;
    await pay(orderNo).catch((error: unknown) => ports.log('warn', 'the simulator did not pay', { orderNo, error }));
    const via = { cause: 'dev-mode', actor: `app:${order.clientId}` };
    let seen = await payments.refresh(order, via);
    if (seen.reported?.kind === 'approved') {
      await payments.capture(seen.order, 'dev-mode');
      seen = await payments.refresh(seen.order, via);
    }
    return { order: seen.order, silent: seen.stale, scanSkipped: seen.order.state === 'paid' };
  }

  async function refusalOf(pair: SkillPair, silent: boolean, { call, named }: Refused): Promise<Error> {
    const { order } = pair;
    if (order.state === 'failed' || isOnPurpose(order)) return new OrderClosed(order.orderNo);
    if (silent) return paymentRequired(ports, pair, call, { why: 'unknown' });
    if (order.state === 'closed') return new PaymentExpired(failedBy(ports.schemes, call, pair, 'expired'));
    const isSame = named.order.orderNo === order.orderNo || named.order.closeReason === 'payer';
    return paymentRequired(ports, pair, call, isSame ? {} : { why: 'expired', ended: named });
  }

  /** Runs the handler, or waits while another process runs it. Every call returns the stored result. */
  async function deliver(found: SkillPair, scanSkipped: boolean, call: Call): Promise<Redeemed> {
    const { orderNo } = found.order;
    const end = performance.now() + ports.patience.work;
    let mine = false;
    for (let pair = found; ; pair = await store.read((tx) => readPair(tx, orderNo))) {
      if (pair.skill.fulfilment === 'done' && !isRefunded(pair))
        return contentAnswer(ports, pair, { replayed: !mine, scanSkipped });
      const left = end - performance.now();
      if (left <= 0) throw new FulfilmentInProgress(orderNo);
      if (isLive(pair.skill, now())) {
        const here = fulfilment.underWay(orderNo);
        await pause(here, here ? left : LOOK_MS);
        continue;
      }
      const { claimed, work } = await fulfilment.begin(orderNo);
      mine ||= claimed.kind === 'claimed';
      if (work) await pause(work, left);
      else if (claimed.kind !== 'claimed') await decline(claimed, call);
      if (claimed.kind === 'failed') return refundedAnswer(ports, claimed.pair);
    }
  }

  /** Throws the error that says why the handler cannot be run. If it returns, the caller must read the state again. */
  async function decline(claimed: Exclude<Claimed, { kind: 'claimed' }>, call: Call): Promise<void> {
    const { order, skill } = claimed.pair;
    if (claimed.kind === 'refunded') throw new OrderRefunded(order.orderNo);
    if (claimed.kind === 'unpaid') throw await paymentRequired(ports, claimed.pair, call);
    if (claimed.kind === 'later') throw new FulfilmentUnavailable(order.orderNo, claimed.seconds);
    if (claimed.kind === 'exhausted') return fulfilment.giveUp(order.orderNo);
    if (claimed.kind === 'failed' && order.refunded < order.paid) throw await notRefunded(order, skill);
  }

  /** Returns the error for a failed handler: the refund is in progress, or it failed too. */
  async function notRefunded({ orderNo }: OrderRow, { refundNo, failureMessage }: SkillPair['skill']): Promise<Error> {
    const reason = failureMessage ?? '';
    const refund = refundNo === null ? undefined : await store.read((tx) => tx.refunds.find({ refundNo }));
    const isStuck = refund?.state === 'failed' || refund?.state === 'abnormal';
    return isStuck
      ? new FulfilmentNotRefunded(orderNo, refund.refundNo, reason)
      : new FulfilmentFailed(orderNo, refundNo, reason);
  }

  function isOnPurpose({ state, closeAsked, closeReason }: OrderRow): boolean {
    const isEnding = state === 'closing' || state === 'closed';
    return isEnding && closeReason !== 'payer' && (closeAsked || closeReason === 'merchant' || closeReason === 'admin');
  }

  /**
   * Whether another order may replace this one. That is the case if the order ended unpaid and was not closed by the
   * merchant or an administrator, or if its payer chose another channel.
   */
  function isReplaceable({ order, skill }: SkillPair, silent: boolean): boolean {
    if (order.paid > 0n || isOnPurpose(order)) return false;
    if (order.closeReason === 'payer' && skill.successor !== null) return true;
    return order.state === 'closed' && !silent;
  }
}

const route = 'payment-identifier';

/**
 * Binds a client's own key of a payment to the first payload that the application sends with it. Throws PaymentIdUsed
 * if a later payload differs. No response is stored with the key, because the response depends on the order.
 */
async function bindPaymentId(
  { store, now }: Pick<SkillPorts, 'store' | 'now'>,
  { clientId }: SkillCaller,
  { key, payload }: NonNullable<Proof['once']>,
  orderNo: string,
): Promise<void> {
  const keyed = { scope: `app:${clientId}`, route, key, body: payload } as const;
  try {
    await withIntentKey(store, keyed, async (claim) => {
      if (claim.resume === null) await store.transaction((tx) => claimKey(tx, claim, orderNo, now()));
    });
  } catch (error) {
    throw error instanceof AppError && error.code === 'idempotency_conflict' ? new PaymentIdUsed() : error;
  }
}
