import type { LatePayment } from '../db/entities/identity.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/tx.ts';
import { AppError, InvalidRequest } from '../errors.ts';
import { ask, placeOrder as placeCall } from './ask.ts';
import { type Outcome, type PayWay, type Scene } from './channel.ts';
import { claimKey, digest, type KeyClaim } from './idempotency.ts';
import { readAmount } from './money.ts';
import { newNumber } from './numbers.ts';
import type { ActiveChannel, Ports } from './ports.ts';
import { afterIntent, ChannelAnswerUnusable, ChannelRefused, MerchantNumberUsed, unknownOutcome } from './refusals.ts';
import { later, nextOrderCheck } from './schedule.ts';
import { settle } from './settle/order.ts';

/** A pay request after its schema: amounts in major units, times in seconds. */
export interface PayRequest {
  subject: string;
  /** Major units; may be left out when the product has the price. */
  amount?: number | string | undefined;
  payWay: PayWay;
  currency?: string | undefined;
  scene?: Scene | undefined;
  orderType?: string | undefined;
  userId?: string | undefined;
  extra?: string | undefined;
  merchantOrderNo?: string | undefined;
  openId?: string | undefined;
  clientIp?: string | undefined;
  returnUrl?: string | undefined;
  notifyUrl?: string | undefined;
  expireSeconds?: number | undefined;
  product?: string | undefined;
}

/** Who places, for which project, with which promises about late money. */
export interface Payee {
  clientId: string;
  project: string;
  latePayment: LatePayment;
  actor: string;
}

/** What an order is of beyond an ordinary payment. */
export interface PlaceOptions {
  claim?: KeyClaim | undefined;
  kind?: OrderRow['kind'];
  orderNo?: string;
  /** Written in the same transaction as the order. */
  also?: (tx: Tx, order: OrderRow) => Promise<void>;
}

/** Places an order: intent, channel, settle. A retry with the same key or merchantOrderNo gets the same order. */
export type PlacePayment = (payee: Payee, request: PayRequest, options?: PlaceOptions) => Promise<OrderRow>;

/** The operation over its ports. */
export function placePayment(ports: Ports): PlacePayment {
  return async (payee, request, options = {}) => {
    const active = await ports.channels.forNew(payee.project, request.payWay);
    const draft = draftOrder(ports, active, payee, request, options);
    const claimed = await ports.store.transaction((tx) => claimOrder(ports, tx, draft, request, options));
    ports.checkpoint('place.intent');
    if (!claimed.send) return refuseOrReturn(claimed.order);
    const { order } = claimed;
    const via = { cause: 'place', actor: payee.actor, firstWord: claimed.fresh };
    return afterIntent({ orderNo: order.orderNo }, async () => {
      const channel = claimed.fresh ? active.channel : await ports.channels.forOrder(order);
      const outcome = await ask(ports, order.orderNo, () => channel.place(placeCall(order, ports.publicUrl)));
      ports.checkpoint('place.asked');
      const settled = await ports.store.transaction((tx) => settle(ports, tx, order.orderNo, outcome, via));
      ports.checkpoint('place.settled');
      return answer(settled, outcome);
    });
  };
}

interface Claimed {
  order: OrderRow;
  /** Whether the channel must be called. */
  send: boolean;
  /** Whether this is the first call ever made about the order. */
  fresh: boolean;
}

/** Key row and order in one insert transaction; the unique indexes decide who is first. */
async function claimOrder(
  ports: Ports,
  tx: Tx,
  draft: OrderRow,
  request: PayRequest,
  options: PlaceOptions,
): Promise<Claimed> {
  const now = ports.now();
  const { claim } = options;
  if (claim?.resume) {
    await claimKey(tx, claim, claim.resume, now);
    return resumed(tx, claim.resume, now);
  }
  const refusal = await enter(ports, tx, draft, request);
  if (refusal !== undefined) {
    const sibling = await liveSibling(tx, draft);
    if (!sibling) return refuse(tx, draft, refusal, claim, now);
    await claimKey(tx, claim, sibling.orderNo, now);
    return resumed(tx, sibling.orderNo, now);
  }
  await claimKey(tx, claim, draft.orderNo, now);
  await tx.moves.insert({
    orderNo: draft.orderNo,
    refundNo: null,
    sequence: 1,
    fromState: null,
    toState: 'created',
    rule: 'O1',
    cause: 'place',
    outcome: null,
    actor: draft.clientId,
    at: now,
  });
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
    if (!(await part.orders.insertIfNew(draft))) throw new NumberTaken();
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
async function resumed(tx: Tx, orderNo: string, now: Date): Promise<Claimed> {
  const order = await tx.orders.lock({ orderNo });
  if (!order) throw new Error('a claimed intent has no order');
  const waits = order.state === 'created' || (order.state === 'pending' && order.credential === null);
  if (!waits || order.expiresAt <= now) return { order, send: false, fresh: false };
  await tx.orders.update({ orderNo }, { placeTries: order.placeTries + 1 });
  return { order, send: true, fresh: false };
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

function refuseOrReturn(order: OrderRow): OrderRow {
  if (order.state === 'failed') throw refusal(order);
  return order;
}

function refusal(order: OrderRow): ChannelRefused {
  return new ChannelRefused(order.payWay, order.failureCode ?? 'refused', order.failureMessage ?? '', {
    orderNo: order.orderNo,
  });
}

/** What the caller hears: the state of the row decides, the outcome only explains why there is nothing to pay with. */
function answer(order: OrderRow, outcome: Outcome): OrderRow {
  if (order.state === 'failed') throw refusal(order);
  if (order.state !== 'created' && (order.credential !== null || order.state !== 'pending')) return order;
  // A refusal that ended nothing (not for certain, or of a re-send) is no answer to keep: the order lives, and a retry goes on.
  if (outcome.kind === 'declined') {
    const { code, reason: message } = outcome;
    throw new ChannelAnswerUnusable(order.orderNo, 'rejected', { payWay: order.payWay, code, message });
  }
  throw unknownOutcome(order.orderNo, outcome.kind === 'unknown' ? outcome.cause : 'in_progress');
}

function draftOrder(
  ports: Ports,
  active: ActiveChannel,
  payee: Payee,
  request: PayRequest,
  options: PlaceOptions,
): OrderRow {
  const now = ports.now();
  const { kind } = active;
  const scene = request.scene ?? kind.defaultScene;
  const spec = kind.scenes[scene];
  if (!spec) throw invalid('/scene', `${request.payWay} has no scene ${scene}.`);
  for (const need of spec.needs)
    if (!request[need]) throw invalid(`/${need}`, `${request.payWay} needs ${need} for the scene ${scene}.`);
  const currency = request.currency ?? kind.defaultCurrency;
  if (!kind.currencies.includes(currency)) throw invalid('/currency', `${request.payWay} does not take ${currency}.`);
  if (request.amount === undefined && !request.product) throw invalid('/amount', 'An amount or a product is needed.');
  const amount = request.amount === undefined ? 0n : readAmount(request.amount, currency, request.payWay).minor;
  const seconds = Math.max(kind.limits.minExpirySeconds, Math.min(request.expireSeconds ?? 7200, spec.maxSeconds));
  const order: OrderRow = {
    orderNo: options.orderNo ?? newNumber(options.kind === 'skillpay' ? 'X' : 'P', now),
    kind: options.kind ?? 'payment',
    clientId: payee.clientId,
    project: payee.project,
    merchantOrderNo: request.merchantOrderNo ?? null,
    mode: active.mode,
    payWay: request.payWay,
    account: active.account,
    configVersion: active.configVersion,
    scene,
    subject: request.subject,
    orderType: request.orderType ?? null,
    userId: request.userId ?? null,
    extra: request.extra ?? null,
    amount,
    currency,
    factsHash: factsHash(request, scene, amount, currency),
    product: null,
    productCode: request.product ?? null,
    stockHeld: false,
    latePayment: payee.latePayment,
    state: 'created',
    closeReason: null,
    closeAsked: false,
    closeAnswered: false,
    failureCode: null,
    failureMessage: null,
    payer: null,
    paid: 0n,
    refunded: 0n,
    refunding: 0n,
    overrun: 0n,
    channelOrderId: null,
    channelTradeNo: null,
    credential: null,
    returnUrl: request.returnUrl ?? null,
    notifyUrl: request.notifyUrl ?? null,
    clientIp: request.clientIp ?? null,
    openId: request.openId ?? null,
    sequence: 1,
    placeTries: 1,
    absentCount: 0,
    absentFirstAt: null,
    captures: 0,
    captureState: null,
    captureLeasedUntil: null,
    checks: 0,
    nextCheckAt: null,
    leasedUntil: null,
    checkedAt: null,
    createdAt: now,
    sentAt: now,
    expiresAt: later(now, seconds),
    paidAt: null,
    closedAt: null,
  };
  order.nextCheckAt = nextOrderCheck(order, now);
  return order;
}

/** The facts that make two requests with one merchantOrderNo the same request. */
function factsHash(request: PayRequest, scene: Scene, amount: bigint, currency: string): string {
  const { subject, payWay, orderType, userId, extra, openId, product } = request;
  return digest({
    subject,
    payWay,
    orderType,
    userId,
    extra,
    openId,
    product,
    scene,
    amount: String(amount),
    currency,
  });
}

function invalid(pointer: string, detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer, code: 'invalid', detail }]);
}
