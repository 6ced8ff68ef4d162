// Fulfilment: runs the handler of a paid order, which returns the content. Each order gets one result. A job resumes
// interrupted work.
import { claimDueRefund } from '../db/queries/due.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { later } from '../payments/core/plan.ts';
import {
  type Claimed,
  MAX_ATTEMPTS,
  claimWork,
  isForfeited,
  isLive,
  isOverdue,
  isRefunded,
  lockPair,
  nextAttempt,
  readPair,
} from './claim.ts';
import { type Content, HandlerFailed, asFailure, runHandler } from './handlers.ts';
import type { SkillPair, SkillPorts } from './ports.ts';

/** Seconds until the next refund attempt while an open exception (a case for an operator) blocks refunds. */
const BLOCKED_SECONDS = 3600;

export interface Fulfilment {
  /**
   * Claims an order, so that no other process runs its handler, and starts the handler. If the order cannot be claimed,
   * returns the reason. `work` resolves when the handler has ended, and never rejects.
   */
  begin(orderNo: string, options?: { due?: boolean }): Promise<{ claimed: Claimed; work?: Promise<void> }>;
  /** The promise of the handler that this process runs for an order; undefined = it runs none. */
  underWay(orderNo: string): Promise<void> | undefined;
  /**
   * Marks the order as failed permanently and refunds it. If the order failed before and its refund was blocked,
   * creates the refund now.
   */
  giveUp(orderNo: string): Promise<void>;
  /** Sends a refund to the channel immediately if it is due, instead of waiting for the job. */
  hurryRefund(refundNo: string): Promise<void>;
  /** Resolves when this process runs no more handlers of paid orders. */
  idle(): Promise<void>;
}

/**
 * Creates the functions that run the handlers of paid orders. A handler runs independently of the HTTP request, so a
 * closed connection does not stop it.
 */
export function createFulfilment(ports: SkillPorts): Fulfilment {
  const { store, now, payments, codes, log } = ports;
  const running = new Map<string, Promise<void>>();

  return {
    async begin(orderNo, options) {
      const claimed = await claimWork(ports, orderNo, options);
      if (claimed.kind !== 'claimed') return { claimed };
      ports.checkpoint('fulfil.claimed');
      const work = perform(claimed.pair)
        .catch((error: unknown) => log('error', 'a fulfilment was interrupted; its lease expires', { orderNo, error }))
        .finally(() => running.delete(orderNo));
      running.set(orderNo, work);
      return { claimed, work };
    },
    underWay: (orderNo) => running.get(orderNo),
    giveUp: (orderNo) => giveUp(orderNo),
    hurryRefund,
    async idle() {
      await Promise.all(running.values());
    },
  };

  async function perform({ order, skill }: SkillPair): Promise<void> {
    const { orderNo, fencing } = skill;
    await codes.prepare(order.mode);
    let content: Content;
    try {
      content = await runHandler(ports.send, skill);
    } catch (error) {
      return fail(orderNo, fencing, asFailure(error));
    }
    ports.checkpoint('fulfil.worked');
    await store.transaction((tx) => keep(tx, orderNo, fencing, content));
    ports.checkpoint('fulfil.kept');
  }

  /**
   * Stores the content that a handler returned. Does nothing if a newer claim (with another fencing number) exists. If
   * the content must not be delivered any more (`isForfeited`), the content is not stored.
   */
  async function keep(tx: Tx, orderNo: string, fencing: number, { text, contentType }: Content): Promise<void> {
    const pair = await lockPair(tx, orderNo);
    const { order, skill } = pair;
    if (skill.fencing !== fencing || skill.fulfilment !== 'running') return;
    if (await isForfeited(tx, pair)) {
      await tx.skillOrders.update({ orderNo }, { fulfilment: 'none', leasedUntil: null, nextAttemptAt: null });
      return;
    }
    const receipt = await codes.receipt(order, skill.resource, text);
    const at = now();
    await tx.skillOrders.update(
      { orderNo },
      {
        fulfilment: 'done',
        content: text,
        contentType,
        receipt,
        signedReceipt: await ports.terms.receipt(order, skill.resource, at),
        fulfilledAt: at,
        ...(skill.agentTradeNo !== null && { confirmAt: at }),
        leasedUntil: null,
        nextAttemptAt: null,
        failureCode: null,
        failureMessage: null,
      },
    );
    const resolved = { state: 'resolved', resolution: 'fulfilled', resolvedBy: 'service', resolvedAt: at } as const;
    await tx.exceptions.update({ orderNo, kind: 'unclaimed', state: 'open' }, resolved);
    await ports.recordEvent(tx, {
      type: 'skillpay.fulfilled',
      clientId: order.clientId,
      project: order.project,
      objectNo: orderNo,
      dedupe: 'once',
      since: order.createdAt,
      object: {
        outTradeNo: orderNo,
        orderNo,
        resource: skill.resource,
        amountMinor: Number(order.amount),
        currency: order.currency,
        payWay: order.payWay,
        fulfilledAt: at.toISOString(),
      },
      notifyUrl: order.notifyUrl,
    });
  }

  async function fail(orderNo: string, fencing: number, failure: HandlerFailed): Promise<void> {
    log('warn', 'a skill handler failed', { orderNo, code: failure.code, transient: failure.transient });
    const refundNo = await store.transaction(async (tx) => {
      const pair = await lockPair(tx, orderNo);
      const { skill } = pair;
      if (skill.fencing !== fencing || skill.fulfilment !== 'running') return undefined;
      if (!failure.transient || skill.attempts >= MAX_ATTEMPTS) return failForGood(tx, pair, failure);
      await tx.skillOrders.update(
        { orderNo },
        {
          fulfilment: 'none',
          leasedUntil: null,
          nextAttemptAt: nextAttempt(skill.attempts, now()),
          failureCode: failure.code,
          failureMessage: failure.message,
        },
      );
      return undefined;
    });
    ports.checkpoint('fulfil.failed');
    if (refundNo) await hurryRefund(refundNo);
  }

  async function giveUp(orderNo: string): Promise<void> {
    const refundNo = await store.transaction(async (tx) => {
      const pair = await lockPair(tx, orderNo);
      const { skill, order } = pair;
      if (skill.fulfilment === 'failed' && skill.refundNo === null) return giveBack(tx, pair);
      const isOver = skill.fulfilment === 'done' || skill.fulfilment === 'failed' || isLive(skill, now());
      if (isOver || order.state !== 'paid' || (await isForfeited(tx, pair))) return undefined;
      const code = skill.failureCode ?? 'broken_off';
      const message = skill.failureMessage ?? 'Fulfilment was interrupted repeatedly.';
      return failForGood(tx, pair, new HandlerFailed(code, message, { transient: false }));
    });
    if (refundNo) await hurryRefund(refundNo);
  }

  /** Stores the failure and the refund in one transaction. Returns undefined if no refund was created. */
  async function failForGood(tx: Tx, pair: SkillPair, failure: HandlerFailed): Promise<string | undefined> {
    const { order, skill } = pair;
    const { orderNo } = order;
    await tx.skillOrders.update(
      { orderNo },
      {
        fulfilment: 'failed',
        fencing: skill.fencing + 1,
        leasedUntil: null,
        failureCode: failure.code.slice(0, 64),
        failureMessage: failure.message,
      },
    );
    await payments.raise(tx, order, { kind: 'fulfilment_failed', dedupe: 'once', detail: { code: failure.code } });
    return giveBack(tx, pair);
  }

  /**
   * Creates the refund of a failed order. The refund number is derived from the order number, so the refund is created
   * only once. While an exception (a case for an operator) blocks refunds, the job tries again later.
   */
  async function giveBack(tx: Tx, pair: SkillPair): Promise<string | undefined> {
    const { order } = pair;
    const { orderNo } = order;
    const at = now();
    if (await tx.exceptions.find({ orderNo, state: 'open', blocksRefunds: true })) {
      await tx.skillOrders.update({ orderNo }, { nextAttemptAt: later(at, BLOCKED_SECONDS) });
      return undefined;
    }
    const refundNo = isRefunded(pair) ? null : `R${orderNo}F`;
    await tx.skillOrders.update({ orderNo }, { refundNo, nextAttemptAt: null });
    if (refundNo === null) return undefined;
    await payments.openRefund(tx, order, {
      refundNo,
      amount: order.paid - order.refunded - order.refunding,
      origin: 'skillpay',
      reason: 'The paid resource could not be delivered.',
      merchantRefundNo: null,
      actor: 'service',
      cause: 'skillpay',
      dueAt: at,
    });
    return refundNo;
  }

  async function hurryRefund(refundNo: string): Promise<void> {
    try {
      if (await store.transaction((tx) => claimDueRefund(tx, refundNo, now()))) await payments.checkRefund(refundNo);
    } catch (error) {
      log('warn', 'the refund could not be sent now; its job retries it', { refundNo, error });
    }
  }
}

/**
 * Creates the job that processes one paid order: resumes after a crash, retries after a pause, or gives up. If nobody
 * has fetched the content in time, opens the exception `unclaimed` (a case for an operator).
 */
export function resumeFulfilment({ store, now, payments }: SkillPorts, fulfilment: Fulfilment) {
  return async (orderNo: string): Promise<void> => {
    const { skill, isDone } = await store.read(async (tx) => {
      const pair = await readPair(tx, orderNo);
      return { skill: pair.skill, isDone: await isOver(tx, pair) };
    });
    if (isDone) return rest(orderNo);
    if (skill.fulfilment === 'failed') return fulfilment.giveUp(orderNo);
    if (skill.attempts === 0) return unclaimed(orderNo);
    if (skill.attempts >= MAX_ATTEMPTS || isOverdue(skill, now())) return fulfilment.giveUp(orderNo);
    const { work } = await fulfilment.begin(orderNo, { due: true });
    await work;
  };

  /** Opens the exception `unclaimed` (a case for an operator). The caller can still fetch the content. */
  async function unclaimed(orderNo: string): Promise<void> {
    await store.transaction(async (tx) => {
      const order = await tx.orders.lock({ orderNo });
      const isStill = await tx.skillOrders.update({ orderNo, attempts: 0 }, { nextAttemptAt: null });
      if (order && isStill === 1) await payments.raise(tx, order, { kind: 'unclaimed', dedupe: 'once' });
    });
  }

  /**
   * Removes an order from the work of the job, and removes an expired claim. The state is checked again while the order
   * is locked. If a refund has failed meanwhile, the order stays with the job.
   */
  async function rest(orderNo: string): Promise<void> {
    await store.transaction(async (tx) => {
      const pair = await lockPair(tx, orderNo);
      const { fulfilment: current } = pair.skill;
      if (isLive(pair.skill, now()) || !(await isOver(tx, pair))) return;
      const fulfilment = current === 'running' ? 'none' : current;
      await tx.skillOrders.update({ orderNo }, { fulfilment, nextAttemptAt: null, leasedUntil: null });
    });
  }
}

/** Whether the order needs no more work. If the handler failed permanently, the order must also have a refund. */
async function isOver(tx: ReadTx, pair: SkillPair): Promise<boolean> {
  const { order, skill } = pair;
  if (skill.fulfilment === 'failed') return skill.refundNo !== null || isRefunded(pair);
  return skill.fulfilment === 'done' || order.state !== 'paid' || isForfeited(tx, pair);
}
