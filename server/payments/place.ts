import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/store.ts';
import { AppError, InvalidRequest } from '../errors.ts';
import { insertOrder } from './apply.ts';
import { afterIntent, ask, intend, orderRef, placeOrder } from './ask.ts';
import { type Deed, noteDeed } from './follow-ups.ts';
import { capturePayment } from './capture.ts';
import type { Channel, Outcome, PlaceOrder } from './channel.ts';
import { canCapture } from './core/wish-capture.ts';
import { canSendAgain, hasCredential } from './core/wish-order.ts';
import { draftOrder } from './draft-order.ts';
import { claimKey, givingUp, type KeyClaim } from './idempotency.ts';
import { countOrder } from './limits.ts';
import type { Payee, PayRequest, PlaceOptions } from './pay-request.ts';
import type { Ports } from './ports.ts';
import {
  ChannelAnswerUnusable,
  ChannelRefusalInconclusive,
  ChannelRefused,
  MerchantNumberUsed,
  unknownOutcome,
} from './refusals.ts';
import { settle, settleLocked } from './settle.ts';

/** Places an order: intent, channel, settle. A retry with the same key or merchantOrderNo gets the same order. */
export type PlacePayment = (payee: Payee, request: PayRequest, options?: PlaceOptions) => Promise<OrderRow>;

/** The operation over its ports. */
export function placePayment(ports: Ports): PlacePayment {
  const capture = capturePayment(ports);
  return async (payee, request, options = {}) => {
    requireUrl(ports, request);
    const active = options.active ?? (await ports.channels.forNew(payee.project, request.payWay));
    const draft = draftOrder(active, payee, request, options, ports.now());
    const claim = async (tx: Tx) => {
      const claimed = await claimOrder(ports, tx, draft, request, options);
      if (claimed.fresh && payee.limits)
        await countOrder(tx, payee.limits, claimed.order).catch(givingUp(options.claim));
      await noteDeed(ports, tx, payee, placed(claimed.order));
      return claimed;
    };
    const { order, send, fresh } = await intend(ports, claim, (claimed) => claimed.order);
    ports.checkpoint('place.intent');
    if (!send) return refuseOrReturn(order);
    return afterIntent({ orderNo: order.orderNo }, async () => {
      const call = placeOrder(order, ports.publicUrl);
      const create = (channel: Channel) => (fresh ? channel.place(call) : createAgain(channel, order, call));
      const outcome = await ask(ports, order, create, fresh ? active.channel : undefined);
      ports.checkpoint('place.asked');
      const heard = { outcome, firstWord: fresh };
      const via = { cause: 'place', actor: payee.actor };
      const settled = await settle(ports, order.orderNo, heard, via);
      ports.checkpoint('place.settled');
      // Nothing is left for the payer to do (PayPal): the money is taken now.
      if (outcome.kind === 'approved' && canCapture(settled, ports.now())) return capture(order.orderNo, via);
      return answer(settled, outcome, ports.now());
    });
  };
}

/** The same create once more. A payer's code works once, so the channel is asked first what became of it. */
async function createAgain(channel: Channel, order: OrderRow, call: PlaceOrder): Promise<Outcome> {
  if (order.scene !== 'code') return channel.place(call);
  const known = await channel.query(orderRef(order));
  return known.kind === 'absent' ? channel.place(call) : known;
}

/** An address that is never called is refused, not kept in silence. */
function requireUrl({ urlFault }: Ports, { notifyUrl }: PayRequest): void {
  const fault = notifyUrl === undefined ? undefined : urlFault(notifyUrl);
  if (fault) throw new InvalidRequest(`notifyUrl ${fault.detail}.`, [{ pointer: '/notifyUrl', ...fault }]);
}

function placed({ orderNo: target, project, payWay, subject, amount, currency }: OrderRow): Deed {
  return { action: 'order.create', target, after: { project, payWay, subject, amountMinor: String(amount), currency } };
}

function refuseOrReturn(order: OrderRow): OrderRow {
  if (order.state === 'failed') throw refusal(order);
  return order;
}

function refusal(order: OrderRow, supportId?: string): ChannelRefused {
  const { payWay, failureCode: code, failureMessage: message, orderNo } = order;
  return new ChannelRefused({ payWay, code: code ?? 'refused', message: message ?? '', supportId }, { orderNo });
}

/** What the caller hears: the state of the row decides, the outcome only explains why there is nothing to pay with. */
function answer(order: OrderRow, outcome: Outcome, now: Date): OrderRow {
  const supportId = 'supportId' in outcome ? outcome.supportId : undefined;
  if (order.state === 'failed') throw refusal(order, supportId);
  if (order.state !== 'created' && (hasCredential(order, now) || order.state !== 'pending')) return order;
  // The payer has agreed, and somebody else is taking the money, or the channel looks at it: there is nothing to pay with.
  if (outcome.kind === 'approved' || (outcome.kind === 'pending' && outcome.capturePending)) return order;
  // A refusal that ended nothing (not for certain, or of a re-send) is no answer to keep: the order lives, and a retry goes on.
  if (outcome.kind === 'declined') {
    const { code, reason: message, definite, doubt } = outcome;
    const channel = { payWay: order.payWay, code, message, supportId };
    const inconclusive = definite ? 'repeated' : doubt;
    if (inconclusive) throw new ChannelRefusalInconclusive(order.orderNo, inconclusive, channel);
    throw new ChannelAnswerUnusable(order.orderNo, 'rejected', channel);
  }
  throw unknownOutcome(
    order,
    outcome.kind === 'unknown' ? outcome : { cause: 'in_progress', ...(supportId !== undefined && { supportId }) },
  );
}

/** The order that a request means. */
export interface Claimed {
  order: OrderRow;
  /** Whether the channel must be called. */
  send: boolean;
  /** Whether this is the first call ever made about the order. */
  fresh: boolean;
}

/** Key row and order in one insert transaction; the unique indexes decide who is first. */
export async function claimOrder(
  ports: Ports,
  tx: Tx,
  draft: OrderRow,
  request: PayRequest,
  options: PlaceOptions,
): Promise<Claimed> {
  const now = ports.now();
  const { claim } = options;
  if (claim?.resume) return resumed(ports, tx, claim.resume, draft.clientId, claim);
  const refusal = await enter(ports, tx, draft, request);
  if (refusal !== undefined) {
    const sibling = await liveSibling(tx, draft);
    if (!sibling) return refuse(tx, draft, refusal, claim, now);
    return resumed(ports, tx, sibling.orderNo, draft.clientId, claim);
  }
  if (claim) await claimKey(tx, claim, draft.orderNo, now);
  await options.also?.(tx, draft);
  return { order: draft, send: true, fresh: true };
}

/** The merchantOrderNo has a live order. */
class NumberTaken extends Error {}

/**
 * Admits and inserts the draft; gives the reason when it did not get in. Of an order with a product nothing remains then,
 * neither its stock nor the lock on it: both happen in a savepoint.
 */
async function enter(
  ports: Ports,
  tx: Tx,
  draft: OrderRow,
  asked: PayRequest,
): Promise<AppError | NumberTaken | undefined> {
  const attempt = async (part: Tx) => {
    await ports.effects.admit(part, draft, asked);
    const hold = () => ports.effects.hold(part, draft, asked);
    if (!(await insertOrder(part, draft, hold))) throw new NumberTaken();
  };
  try {
    await (draft.productCode === null ? attempt(tx) : tx.savepoint(attempt));
    return undefined;
  } catch (error) {
    if (error instanceof AppError || error instanceof NumberTaken) return error;
    throw error;
  }
}

/** A refused order keeps nothing; when its key is being worked on by another request, that one decides. */
async function refuse(
  tx: Tx,
  { merchantOrderNo }: OrderRow,
  refusal: Error,
  claim: KeyClaim | undefined,
  now: Date,
): Promise<never> {
  if (refusal instanceof NumberTaken && merchantOrderNo !== null)
    throw new MerchantNumberUsed('merchantOrderNo', merchantOrderNo);
  if (refusal instanceof NumberTaken) throw new Error('an order number was drawn twice');
  if (claim) {
    await claimKey(tx, claim, '', now);
    claim.taken = false;
  }
  throw refusal;
}

/** The order that a retry means; its create is re-sent only while nothing payable came of it and it may still be paid. */
async function resumed(
  ports: Ports,
  tx: Tx,
  orderNo: string,
  clientId: string,
  claim: KeyClaim | undefined,
): Promise<Claimed> {
  const order = await tx.orders.lock({ orderNo });
  if (!order) throw new Error('a claimed intent has no order');
  if (claim) await claimKey(tx, claim, orderNo, ports.now());
  const send = canSendAgain(order, ports.now());
  const via = { cause: 'place', actor: `app:${clientId}` };
  return { order: await settleLocked(ports, tx, order, { wish: 'send_again' }, via), send, fresh: false };
}

/** The live order with the same merchantOrderNo, if there is one: the same facts mean the same order, others are refused. */
async function liveSibling(tx: Tx, draft: OrderRow): Promise<OrderRow | undefined> {
  const { clientId, merchantOrderNo } = draft;
  if (merchantOrderNo === null) return undefined;
  const state = ['created', 'pending', 'paid'] as const;
  const sibling = await tx.orders.find({ clientId, merchantOrderNo, state });
  if (sibling && sibling.factsHash !== draft.factsHash)
    throw new MerchantNumberUsed('merchantOrderNo', merchantOrderNo);
  return sibling;
}
