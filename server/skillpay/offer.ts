// Offers. An offer is the unpaid order that the first call of a resource creates. If an offer ends unpaid, a new order
// may replace it (its successor).
import type { OrderRow } from '../db/entities/orders.ts';
import type { OfferEntry, SkillOrderRow } from '../db/entities/skillpay.ts';
import { countOpenOffers } from '../db/queries/skillpay.ts';
import type { Tx } from '../db/store.ts';
import { AppError, Conflict, NotFound } from '../errors.ts';
import { afterIntent } from '../payments/call-channel.ts';
import type { Channel, PayWay } from '../payments/channel.ts';
import { queueKeyOf } from '../payments/core/plan.ts';
import { type KeyClaim, digest, withIntentKey } from '../payments/idempotency.ts';
import { majorNumber } from '../money.ts';
import { payeeOf } from '../payments/orders/place.ts';
import { lockPair, readPair } from './claim.ts';
import { agentBill } from './schemes/alipay.ts';
import { termsOf } from './schemes/x402.ts';
import type { SkillCaller, SkillPair, SkillPorts, SkillRequest } from './ports.ts';
import { TooManyOffers } from './errors.ts';
import { type Skill, findSkill, payableWays } from './resource.ts';

interface Offered {
  request: SkillRequest;
  entries: OfferEntry[];
  inPlaceOf: string | undefined;
  channel: Channel;
}

/** If fewer offers than this are left before the limit, the offers are counted under a lock. */
const NEAR = 100;

interface OfferOptions {
  claim?: KeyClaim | undefined;
  /** The order number of the ended offer that the new offer replaces. */
  inPlaceOf?: string;
}

/** Creates the order of a first call, with price, handler and payment code, which then never change. */
export type MakeOffer = (caller: SkillCaller, request: SkillRequest, options?: OfferOptions) => Promise<SkillPair>;

/** Whether an open order has no payment data yet, so the channel must be called again with the same order number. */
export function isUnplaced({ state, credential, expiresAt }: OrderRow, now: Date): boolean {
  return (state === 'created' || (state === 'pending' && credential === null)) && expiresAt > now;
}

/** Creates the function that makes offers. An offer is the unpaid order that the first call of a resource creates. */
export function makeOffer(ports: SkillPorts): MakeOffer {
  const { store, payments, codes, now } = ports;
  return async (caller, request, { claim, inPlaceOf } = {}) => {
    const payee = await payeeOf(ports, caller);
    const skill = await findSkill(ports, caller.project, request.resource);
    const ways = await payableWays(ports, skill, request.payWay);
    const [{ payWay, mode, active }] = ways;
    await codes.prepare(mode);
    const entries = ways.map((way) => ({ payWay: way.payWay, mode: way.mode }));
    let written: SkillOrderRow | undefined;
    const also = async (tx: Tx, of: OrderRow) => {
      written = await writeOffer(tx, of, skill, { request, entries, inPlaceOf, channel: active.channel });
    };
    const order = await payments.place(
      payee,
      {
        subject: skill.name.slice(0, 127),
        amount: majorNumber({ minor: skill.priceMinor, currency: skill.currency }),
        currency: skill.currency,
        payWay,
        expireSeconds: skill.offerTtlSeconds ?? ports.offerTtlSeconds,
        product: skill.code,
      },
      { kind: 'skillpay', active, claim, also },
    );
    const { orderNo } = order;
    // The pay-per-call row was just written and does not change while the order is pending, so it is not read again.
    if (written && order.state === 'pending') return { order, skill: written };
    return afterIntent({ orderNo }, () => store.read((tx) => readPair(tx, orderNo)));
  };

  async function writeOffer(tx: Tx, order: OrderRow, skill: Skill, of: Offered): Promise<SkillOrderRow> {
    const { request, entries, inPlaceOf, channel } = of;
    if (inPlaceOf !== undefined) await replace(tx, inPlaceOf, order.orderNo);
    await requireRoom(tx, order.clientId);
    const input = request.input ?? null;
    const bodyDigest = digest({ resource: skill.code, input });
    const row: SkillOrderRow = {
      orderNo: order.orderNo,
      clientId: order.clientId,
      project: order.project,
      resource: skill.code,
      productVersion: skill.version,
      bodyDigest,
      input,
      handler: skill.resource,
      refundAfterFulfilment: skill.refundAfterFulfilment,
      paymentCode: await codes.code(order, { resource: skill.code, bodyDigest }),
      agentCode: null,
      agentCodeUntil: null,
      entries,
      signedOffer: null,
      signedReceipt: null,
      paymentNeeded: order.payWay === 'alipay' ? await billOf(channel, order, skill.code) : null,
      agentTradeNo: null,
      confirmAt: null,
      confirmTries: 0,
      queueKey: queueKeyOf(order),
      successor: null,
      fulfilment: 'none',
      fencing: 0,
      attempts: 0,
      firstAttemptAt: null,
      leasedUntil: null,
      nextAttemptAt: null,
      content: null,
      contentType: null,
      receipt: null,
      failureCode: null,
      failureMessage: null,
      refundNo: null,
      offeredAt: now(),
      fulfilledAt: null,
    };
    const [terms] = termsOf({ order, skill: row }, ports.publicUrl);
    const signedOffer = terms ? await ports.terms.offer(terms, order, skill.code) : null;
    const offered = { ...row, signedOffer };
    await tx.skillOrders.insert(offered);
    await ports.recordEvent(tx, {
      type: 'skillpay.offered',
      clientId: order.clientId,
      project: order.project,
      objectNo: order.orderNo,
      dedupe: 'once',
      since: order.createdAt,
      object: {
        outTradeNo: order.orderNo,
        orderNo: order.orderNo,
        resource: skill.code,
        amountMinor: Number(order.amount),
        currency: order.currency,
        payWay: order.payWay,
        expiresAt: order.expiresAt.toISOString(),
      },
      notifyUrl: order.notifyUrl,
    });
    return offered;
  }

  /** A failure is only logged, because the offer can also be paid in other ways. The next 402 tries again. */
  async function billOf(channel: Channel, order: OrderRow, resource: string): Promise<string | null> {
    return agentBill(channel, order, resource).catch((error: unknown) => {
      ports.log('warn', 'an offer has no bill for Alipay agents; the next 402 tries again', {
        orderNo: order.orderNo,
        error,
      });
      return null;
    });
  }

  /**
   * Stores the number of the successor in the row of the ended offer, while its order is locked. Throws if the offer
   * was paid or already has a successor.
   */
  async function replace(tx: Tx, ended: string, successor: string): Promise<void> {
    const { order, skill } = await lockPair(tx, ended);
    const isEnded = order.state === 'closed' || (order.state === 'closing' && order.closeReason === 'payer');
    if (!isEnded || order.paid > 0n || skill.successor !== null)
      throw new Conflict('changed_meanwhile', 'Another request has just changed the order. Repeat the request.', {
        retryable: true,
        retryAfter: 1,
      });
    await tx.skillOrders.update({ orderNo: ended }, { successor });
  }

  /**
   * Throws if the application has too many unpaid offers, including the new one. Near the limit the offers are counted
   * under a lock, so that concurrent requests cannot exceed the limit. Far below the limit no lock is needed.
   */
  async function requireRoom(tx: Tx, clientId: string): Promise<void> {
    const limit = ports.unpaidOffersPerApp;
    let open = await countOpenOffers(tx, clientId, now());
    if (open <= limit && open + NEAR > limit) {
      await tx.advisoryLock(`offers:${clientId}`);
      open = await countOpenOffers(tx, clientId, now());
    }
    if (open > limit) throw new TooManyOffers(limit);
  }
}

const route = 'offer in place of another';

interface Wanted {
  /** Absent = all channels of the product. If the ended offer had only one channel, absent means that channel. */
  payWay?: PayWay | undefined;
}

/** Returns the one order that replaces an offer that ended unpaid; undefined if no order can be created. */
export type SuccessorOf = (caller: SkillCaller, ended: SkillPair, wanted: Wanted) => Promise<SkillPair | undefined>;

/** Creates the function that replaces ended offers. The row of the ended offer stores the successor's order number. */
export function offerSuccessor(ports: SkillPorts, offer: MakeOffer): SuccessorOf {
  const { store, now, log } = ports;
  return async (caller, ended, wanted) => {
    const { orderNo, successor } = ended.skill;
    const known = await find(successor);
    if (known && !isUnplaced(known.order, now())) return known;
    try {
      const keyed = { scope: `app:${caller.clientId}`, route, key: orderNo, body: null } as const;
      return await withIntentKey(store, keyed, (claim) => make(caller, ended, wanted, claim));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log('info', 'an ended offer could not be replaced', { orderNo, code: error.code });
      // A concurrent request may have created the successor.
      return find((await store.read((tx) => tx.skillOrders.find({ orderNo })))?.successor ?? null);
    }
  };

  async function make(caller: SkillCaller, ended: SkillPair, { payWay }: Wanted, claim: KeyClaim): Promise<SkillPair> {
    const { resume } = claim;
    const known = resume === null ? undefined : await store.read((tx) => readPair(tx, resume));
    if (known && !isUnplaced(known.order, now())) return known;
    const { resource, input, orderNo } = ended.skill;
    const all = ended.skill.entries.length > 1;
    const request = { resource, input: input ?? undefined, payWay: payWay ?? (all ? undefined : ended.order.payWay) };
    return offer(caller, request, { claim, inPlaceOf: orderNo });
  }

  /** Returns undefined if the offer no longer exists: old unpaid offers are deleted. */
  async function find(orderNo: string | null): Promise<SkillPair | undefined> {
    if (orderNo === null) return undefined;
    return store
      .read((tx) => readPair(tx, orderNo))
      .catch((error: unknown) => {
        if (error instanceof NotFound) return undefined;
        throw error;
      });
  }
}
