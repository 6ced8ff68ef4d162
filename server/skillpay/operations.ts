// The pay-per-call operations that routes and jobs call. This file also has the first call, the payer's choice of
// another channel, and how the API shows an order.
import { hash } from 'node:crypto';
import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import { type SkillStatsFilter, skillStats } from '../db/queries/skillpay.ts';
import { AppError, NotFound } from '../errors.ts';
import { afterIntent } from '../payments/call-channel.ts';
import type { PayWay } from '../payments/channel.ts';
import { isOpen } from '../payments/core/transitions.ts';
import { type KeyClaim, withIntentKey } from '../payments/idempotency.ts';
import { majorNumber } from '../money.ts';
import type { PayerChoice } from '../payments/orders/payer.ts';
import { statusOf, viewRefund } from '../payments/view.ts';
import { type Redeemed, paymentRequired } from './answers.ts';
import { readPair } from './claim.ts';
import { type CoinCalls, coinCalls, coinWork, coinsWanted } from './coin-calls.ts';
import { type Call, type CallHeaders, type Proof, firstFault } from './schemes/scheme.ts';
import { createFulfilment, resumeFulfilment } from './fulfil.ts';
import { type MakeOffer, type SuccessorOf, isUnplaced, makeOffer, offerSuccessor } from './offer.ts';
import { type SkillCaller, type SkillPair, type SkillPorts, type SkillRequest, requesterOf } from './ports.ts';
import { type Redeem, redeemOffer } from './redeem.ts';
import { ProofInvalid } from './errors.ts';
import { findSkill, skillsOnSale } from './resource.ts';

interface CallFacts {
  headers: CallHeaders;
  /** The bytes of the request body before parsing. */
  rawBody: Uint8Array;
  /** Called only if no proof of payment contains an order number. Throws if the key is malformed. */
  idempotencyKey: () => string | undefined;
}

interface SkillRefundRequest {
  outTradeNo: string;
  /** The amount to refund in major units. Absent = the whole amount that is not refunded yet. */
  refundAmount?: number | string | undefined;
  reason?: string | undefined;
  merchantRefundNo?: string | undefined;
}

/** Creates the pay-per-call operations that routes and jobs call. */
export function skillOperations(ports: SkillPorts) {
  const { store, payments, now } = ports;
  const fulfilment = createFulfilment(ports);
  const offer = makeOffer(ports);
  const successorOf = offerSuccessor(ports, offer);
  const redeem = redeemOffer(ports, fulfilment, successorOf);
  const work = coinWork(ports);
  const coins = coinCalls(ports, work);
  const first = firstCall(ports, { offer, redeem, coins });

  return {
    /** Calls a resource: throws a 402 with the payment terms, or returns the content for a valid proof of payment. */
    async call(caller: SkillCaller, request: SkillRequest | undefined, facts: CallFacts): Promise<Redeemed> {
      const { headers, rawBody } = facts;
      const read = ports.schemes.map((scheme) => scheme.read?.(headers, caller)).filter((one) => one !== undefined);
      const proofs = await Promise.all(read.map(found));
      const bodyDigest = rawBody.length > 0 ? hash('sha256', rawBody, 'base64') : undefined;
      const outTradeNo = numberOf(proofs);
      const call = { headers, proofs, bodyDigest };
      if (outTradeNo === undefined) return first(caller, request ?? {}, facts.idempotencyKey(), call);
      return redeem(caller, outTradeNo, request, call).catch(async (error: unknown) => {
        // Orders paid with coins are searched last, because most calls are paid with money.
        const paid = error instanceof NotFound ? await coins.replay(caller, outTradeNo, request) : undefined;
        if (!paid) throw error;
        return paid;
      });
    },
    /** Returns one order with its refunds. If the order is open, the channel is queried first. */
    async query(caller: SkillCaller, outTradeNo: string) {
      const paidWithCoins = await coins.query(caller, outTradeNo);
      if (paidWithCoins) return paidWithCoins;
      await store.read((tx) => readPair(tx, outTradeNo, caller));
      const { stale } = await payments.query(requesterOf(caller), outTradeNo);
      return store.read(async (tx) => {
        const pair = await readPair(tx, outTradeNo, caller);
        const refunds = await tx.refunds.list({ orderNo: outTradeNo }, { orderBy: { createdAt: 'asc' } });
        return viewSkillOrder(pair, refunds, stale);
      });
    },
    /** Refunds an order at the request of its application. Refused while the handler of the order is running. */
    async refund(caller: SkillCaller, { outTradeNo, ...request }: SkillRefundRequest, claim?: KeyClaim) {
      const isPart = request.refundAmount !== undefined;
      const back = await coins.refund(caller, outTradeNo, { isPart, claim });
      if (back) return back;
      await store.read((tx) => readPair(tx, outTradeNo, caller));
      const refund = await payments.refund(requesterOf(caller), { orderNo: outTradeNo, ...request }, claim);
      return { outTradeNo, ...refund };
    },
    async resources({ project }: { project: string }) {
      const skills = await skillsOnSale(store, project, now());
      return skills.map(({ code, name, description, priceMinor, currency, payWays, offerTtlSeconds, ...skill }) => {
        const price = priceOf(priceMinor, currency);
        return {
          resource: code,
          name,
          description,
          price,
          amount: price,
          amountMinor: Number(priceMinor),
          currency,
          payWays,
          offerTtlSeconds: offerTtlSeconds ?? ports.offerTtlSeconds,
          coinPrice: skill.coinPrice ?? null,
          refundAfterFulfilment: skill.refundAfterFulfilment,
        };
      });
    },
    async stats(filter: SkillStatsFilter) {
      const rows = await ports.reports.read((tx) => skillStats(tx, filter));
      return rows.map(({ revenueMinor, ...row }) => ({
        ...row,
        revenue: majorNumber({ minor: BigInt(revenueMinor), currency: row.currency }),
        revenueMinor: Number(revenueMinor),
      }));
    },
    choice: chooseWay(ports, successorOf),
    /** Job: continues the work on one paid order, which the job has reserved for this process. */
    resume: resumeFulfilment(ports, fulfilment),
    /** Job: confirms to Alipay that the content was delivered. */
    confirmDelivery: (orderNo: string) => ports.confirmDelivery(orderNo),
    /** Job: resumes the fulfilment of one call that was paid with coins. */
    resumeCoinCall: (orderNo: string) => work.resume(orderNo),
    /** Resolves when this process runs no more handlers. */
    idle: async () => {
      await Promise.all([fulfilment.idle(), work.idle()]);
    },
  };
}

/** Adds the order number to a proof that does not contain it. The channel finds the order. */
async function found(proof: Proof): Promise<Proof> {
  return proof.find ? { ...proof, outTradeNo: await proof.find() } : proof;
}

/** Throws ProofInvalid if two proofs contain different order numbers. */
function numberOf(proofs: readonly Proof[]): string | undefined {
  const [first, ...others] = proofs.filter(({ outTradeNo }) => outTradeNo !== undefined);
  for (const { header, outTradeNo } of others)
    if (outTradeNo !== first?.outTradeNo)
      throw new ProofInvalid(header, `contains another order number than the header ${first?.header}`);
  return first?.outTradeNo;
}

export type SkillOperations = ReturnType<typeof skillOperations>;

function priceOf(minor: bigint, currency: string): number {
  return majorNumber({ minor, currency });
}

const route = 'POST /api/v2/skillpay/resource';

/**
 * Handles the first call of a resource: throws a 402 with the payment terms of a new order. If the Idempotency-Key was
 * used before, returns the current response for the order of that key.
 */
type FirstCall = (caller: SkillCaller, request: SkillRequest, key: string | undefined, call: Call) => Promise<Redeemed>;

interface Ways {
  offer: MakeOffer;
  redeem: Redeem;
  coins: CoinCalls;
}

/**
 * Creates the function that handles first calls. For an Idempotency-Key the service stores the order number, but not
 * the 402. So a repeated request gets the current response for the same order.
 */
function firstCall(ports: SkillPorts, { offer, redeem, coins }: Ways): FirstCall {
  const { store, now } = ports;
  return async (caller, request, key, call) => {
    if (key === undefined)
      return (await coins.pay(caller, request)) ?? refuse(caller, request, await offer(caller, request), call);
    const { resource, input, payWay, userId } = request;
    const keyed = { scope: `app:${caller.clientId}`, route, key, body: { resource, input, payWay, userId } } as const;
    return withIntentKey(store, keyed, async (claim) => {
      const { resume } = claim;
      if (resume !== null) {
        const paid = await coins.replay(caller, resume, request);
        if (paid) return paid;
      }
      const known = await orderOf(claim);
      if (known && !isUnplaced(known, now())) return redeem(caller, known.orderNo, request, call);
      const paid = resume === null ? await coins.pay(caller, request, claim) : undefined;
      return paid ?? refuse(caller, request, await offer(caller, request, { claim }), call);
    });
  };

  async function orderOf({ resume }: KeyClaim): Promise<OrderRow | undefined> {
    return resume === null ? undefined : store.read((tx) => tx.orders.find({ orderNo: resume }));
  }

  async function refuse(caller: SkillCaller, request: SkillRequest, pair: SkillPair, call: Call): Promise<never> {
    const { orderNo } = pair.order;
    throw await afterIntent({ orderNo }, async () =>
      paymentRequired(ports, pair, call, {
        why: firstFault(call, pair, now()),
        members: await coinsWanted(ports, caller, request),
      }),
    );
  }
}

/**
 * Lets the payer of an unpaid order choose another channel. The order is closed, and a new order on the other channel
 * replaces it. Money that arrives for the closed order is handled as a late payment.
 */
function chooseWay(ports: SkillPorts, successorOf: SuccessorOf): PayerChoice {
  const { store, payments } = ports;
  return {
    async others(orderNo) {
      const pair = await find(orderNo);
      return pair && isOpen(pair.order.state) ? otherWays(pair) : [];
    },
    async successor(orderNo) {
      const pair = await find(orderNo);
      return pair && !isOpen(pair.order.state) && pair.order.paid === 0n
        ? (pair.skill.successor ?? undefined)
        : undefined;
    },
    async choose(orderNo, payWay) {
      const pair = await find(orderNo);
      if (!pair || !otherWays(pair).includes(payWay)) return orderNo;
      if (pair.skill.successor !== null) return pair.skill.successor;
      if (isOpen(pair.order.state) && !(await isSamePrice(pair))) return orderNo;
      const { clientId, project } = pair.order;
      const order = await close(pair);
      if (order?.closeReason !== 'payer') return orderNo;
      const next = await successorOf({ clientId, project }, { order, skill: pair.skill }, { payWay });
      return next?.order.orderNo ?? orderNo;
    },
  };

  async function find(orderNo: string): Promise<SkillPair | undefined> {
    return store.read(async (tx) => {
      const skill = await tx.skillOrders.find({ orderNo });
      const order = skill && (await tx.orders.find({ orderNo }));
      return order && skill && { order, skill };
    });
  }

  /** Closes the order at the payer's request. Returns undefined if the order was paid before it could be closed. */
  async function close({ order }: SkillPair) {
    if (!isOpen(order.state)) return order;
    try {
      return await payments.close({ owner: { clientId: order.clientId }, actor: 'payer' }, order.orderNo);
    } catch (error) {
      if (error instanceof AppError && error.code === 'order_already_paid') return undefined;
      throw error;
    }
  }

  async function isSamePrice({ order, skill }: SkillPair): Promise<boolean> {
    const found = await findSkill(ports, order.project, skill.resource).catch((error: unknown) => {
      if (error instanceof AppError) return undefined;
      throw error;
    });
    return found?.version === skill.productVersion;
  }
}

function otherWays(pair: SkillPair): PayWay[] {
  return pair.skill.entries.flatMap(({ payWay }) => (payWay === pair.order.payWay ? [] : [payWay]));
}

function viewSkillOrder({ order, skill }: SkillPair, refunds: readonly RefundRow[], stale: boolean) {
  const major = (minor: bigint) => majorNumber({ minor, currency: order.currency });
  return {
    outTradeNo: order.orderNo,
    orderNo: order.orderNo,
    resource: skill.resource,
    subject: order.subject,
    status: statusOf(order),
    fulfilment: skill.fulfilment,
    successor: skill.successor,
    payWay: order.payWay,
    mode: order.mode,
    amount: major(order.amount),
    amountMinor: Number(order.amount),
    currency: order.currency,
    refundedAmount: major(order.refunded),
    refunds: refunds.map((refund) => viewRefund(refund)),
    createdAt: order.createdAt.toISOString(),
    paidAt: order.paidAt?.toISOString() ?? null,
    fulfilledAt: skill.fulfilledAt?.toISOString() ?? null,
    expiresAt: order.expiresAt.toISOString(),
    stale,
  };
}
