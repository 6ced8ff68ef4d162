import { hash } from 'node:crypto';
import type { AppLimits, LatePayment } from '../../db/entities/identity.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { Tx } from '../../db/store.ts';
import type { ChannelOptions } from '../../domain.ts';
import { AppError, InvalidRequest, NotFound } from '../../errors.ts';
import { traceParent } from '../../work.ts';
import { afterIntent, callChannel, recordIntent, orderRef, placeOrder } from '../call-channel.ts';
import type { Channel, Outcome, PayWay, PlaceOrder, Scene } from '../channel.ts';
import { canCapture, canSendAgain } from '../core/decide-order.ts';
import { later, nextOrderCheck } from '../core/plan.ts';
import { type AuditEntry, addAuditEntry } from '../side-effects.ts';
import { type AppTerms, type KeyClaim, canonicalJson, claimKey, givingUp } from '../idempotency.ts';
import { insertOrder } from '../ledger.ts';
import { countOrder } from '../limits.ts';
import { readAmount } from '../../money.ts';
import { newNumber } from '../numbers.ts';
import type { ActiveChannel, Requester, Ports } from '../ports.ts';
import {
  ChannelAnswerUnusable,
  ChannelRefusalInconclusive,
  ChannelRefused,
  MerchantNumberUsed,
  unknownOutcome,
} from '../errors.ts';
import { settle, settleLocked } from '../settle.ts';
import { capturePayment } from './order.ts';
import { hasCredential } from '../core/transitions.ts';

/** Builds the order row of a request; throws 400 for options that the channel does not support. */
function draftOrder(
  active: ActiveChannel,
  payee: Payee,
  request: PayRequest,
  options: PlaceOptions,
  now: Date,
): OrderRow {
  refuseFrozen(request);
  const { kind } = active;
  const scene = request.scene ?? kind.defaultScene;
  const spec = kind.scenes[scene];
  if (!spec) throw invalid('/scene', `${request.payWay} does not support the scene ${scene}.`);
  for (const need of spec.needs)
    if (!request[need]) throw invalid(`/${need}`, `${need} is required for ${request.payWay} in the scene ${scene}.`);
  const currency = request.currency ?? kind.defaultCurrency;
  if (!kind.currencies.includes(currency))
    throw invalid('/currency', `${request.payWay} does not support ${currency}.`);
  if (request.amount === undefined && !request.product) throw invalid('/amount', 'amount or product is required.');
  const amount = request.amount === undefined ? 0n : readAmount(request.amount, currency).minor;
  const seconds = Math.max(kind.limits.minExpirySeconds, Math.min(request.expireSeconds ?? 7200, spec.maxSeconds));
  const appId = appOf(active, scene, request);
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
    effectsDue: false,
    latePayment: acceptedAfter(payee.latePayment),
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
    credentialUntil: null,
    returnUrl: request.returnUrl ?? null,
    notifyUrl: request.notifyUrl ?? null,
    clientIp: request.clientIp ?? null,
    openId: request.openId ?? null,
    appId,
    payCode: request.payCode ?? null,
    channelOptions: ownOptions(request),
    sequence: 1,
    placeTries: 1,
    absentCount: 0,
    absentFirstAt: null,
    captures: 0,
    captureState: null,
    captureLeasedUntil: null,
    captureReason: null,
    approvalsAsked: 0,
    approvalAskedAt: null,
    reverseDoubtAt: null,
    settlement: null,
    limited: payee.limits !== null,
    traceParent: traceParent(),
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

/**
 * The id of the merchant's app (WeChat Pay's APPID) that the order stores, so that a later change of the configuration
 * does not affect the order. Null = the channel has no apps.
 */
function appOf({ channel }: ActiveChannel, scene: Scene, { payWay, appId }: PayRequest): string | null {
  const known = channel.appIds?.(scene) ?? [];
  if (appId === undefined) return known[0] ?? null;
  if (known.includes(appId)) return appId;
  throw invalid('/appId', known.length > 0 ? `appId must be one of ${known.join(', ')}.` : `${payWay} takes no appId.`);
}

/** Fields that may differ when a request is repeated with the same merchantOrderNo. */
type MayDiffer = 'merchantOrderNo' | 'clientIp' | 'returnUrl' | 'notifyUrl' | 'expireSeconds';

/** Hash of the fields that must be equal when a request is repeated with the same merchantOrderNo. */
function factsHash(request: PayRequest, scene: Scene, amount: bigint, currency: string): string {
  const { subject, payWay, orderType, userId, extra, openId, appId, payCode, product } = request;
  const facts: Record<Exclude<keyof PayRequest, MayDiffer>, unknown> = {
    subject,
    payWay,
    orderType,
    userId,
    extra,
    openId,
    appId,
    payCode,
    product,
    scene,
    amount: String(amount),
    currency,
    channelOptions: ownOptions(request) ?? undefined,
  };
  return hash('sha256', canonicalJson(facts), 'base64url');
}

/** The ends of an order after which the policy accepts a late payment, as the order stores them. */
function acceptedAfter({ afterExpiry, afterClose, afterFailed }: LatePayment): string {
  const ends = { expiry: afterExpiry, close: afterClose, failed: afterFailed };
  return Object.keys(ends)
    .filter((end) => ends[end as keyof typeof ends] === 'accept')
    .join(' ');
}

function ownOptions({ payWay, channelOptions }: PayRequest): ChannelOptions | null {
  const byChannel: Partial<Record<PayWay, object>> = channelOptions ?? {};
  const own = byChannel[payWay];
  return own === undefined ? null : { [payWay]: own };
}

/**
 * Rejects WeChat Pay's option `profitSharing`. With it, WeChat Pay freezes the money until the merchant shares it (分账)
 * or releases it (解冻剩余资金), and this service has no call for either. The option is rejected for every channel, because
 * the payer may later choose WeChat Pay.
 */
function refuseFrozen({ channelOptions }: PayRequest): void {
  if (channelOptions?.wechat?.profitSharing !== true) return;
  const detail = 'would freeze the money: this service neither shares it nor releases it';
  const pointer = '/channelOptions/wechat/profitSharing';
  const code = 'profit_sharing_unsupported';
  throw new InvalidRequest(`profitSharing ${detail}.`, [{ pointer, code, detail }], code);
}

function invalid(pointer: string, detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer, code: 'invalid', detail }]);
}

/**
 * Places an order: stores it, calls the channel, stores the outcome. A retry with the same Idempotency-Key or
 * merchantOrderNo returns the same order.
 */
export type PlacePayment = (payee: Payee, request: PayRequest, options?: PlaceOptions) => Promise<OrderRow>;

/** Creates the function that places orders. */
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
      await addAuditEntry(ports, tx, payee, placed(claimed.order));
      return claimed;
    };
    const { order, send, fresh } = await recordIntent(ports, claim, (claimed) => claimed.order);
    ports.checkpoint('place.intent');
    if (!send) return refuseOrReturn(order);
    return afterIntent({ orderNo: order.orderNo }, async () => {
      const call = placeOrder(order, ports.publicUrl);
      const create = (channel: Channel) => (fresh ? channel.place(call) : createAgain(channel, order, call));
      const outcome = await callChannel(ports, order, create, fresh ? active.channel : undefined);
      ports.checkpoint('place.asked');
      const report = { outcome, isFirstResponse: fresh };
      const via = { cause: 'place', actor: payee.actor };
      const settled = await settle(ports, order.orderNo, report, via);
      ports.checkpoint('place.settled');
      // The payer has already approved (PayPal), so the money is captured now.
      if (outcome.kind === 'approved' && canCapture(settled, ports.now())) return capture(order.orderNo, via);
      return answer(settled, outcome, ports.now());
    });
  };
}

/** A payer's code is valid only once, so the channel is queried before the create call is repeated. */
async function createAgain(channel: Channel, order: OrderRow, call: PlaceOrder): Promise<Outcome> {
  if (order.scene !== 'code') return channel.place(call);
  const known = await channel.query(orderRef(order));
  return known.kind === 'absent' ? channel.place(call) : known;
}

function requireUrl({ urlFault }: Ports, { notifyUrl }: PayRequest): void {
  const fault = notifyUrl === undefined ? undefined : urlFault(notifyUrl);
  if (fault) throw new InvalidRequest(`notifyUrl ${fault.detail}.`, [{ pointer: '/notifyUrl', ...fault }]);
}

function placed({ orderNo: target, project, payWay, subject, amount, currency }: OrderRow): AuditEntry {
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

/** Returns the order or throws, depending on its stored state. `outcome` explains why a payment link is missing. */
function answer(order: OrderRow, outcome: Outcome, now: Date): OrderRow {
  const supportId = 'supportId' in outcome ? outcome.supportId : undefined;
  if (order.state === 'failed') throw refusal(order, supportId);
  if (order.state !== 'created' && (hasCredential(order, now) || order.state !== 'pending')) return order;
  // The payer has approved, so no payment link is needed. Another request or a job captures the payment, or the channel
  // still reviews the capture.
  if (outcome.kind === 'approved' || (outcome.kind === 'pending' && outcome.capturePending)) return order;
  // If the refusal is uncertain, or answers a repeated call, the error is not stored under the Idempotency-Key. The
  // order stays open, and a retry continues with the same order.
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

interface Claimed {
  order: OrderRow;
  send: boolean;
  /** Whether the create call is the first call about the order. */
  fresh: boolean;
}

/**
 * Stores the Idempotency-Key and the order in one transaction. Unique indexes let only one of several concurrent
 * requests pass.
 */
async function claimOrder(
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

/** The order could not be inserted, because its merchantOrderNo or its order number is in use. */
class NumberTaken extends Error {}

/**
 * Inserts the order; returns the error if the order is rejected. If the order is for a product, a rejection rolls back
 * to a savepoint. This undoes the stock reservation and releases the lock of the stock.
 */
async function enter(
  ports: Ports,
  tx: Tx,
  draft: OrderRow,
  request: PayRequest,
): Promise<AppError | NumberTaken | undefined> {
  const attempt = async (part: Tx) => {
    await ports.effects.admit(part, draft, request);
    const hold = () => ports.effects.hold(part, draft, request);
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

/**
 * Throws the refusal; no order is stored. If another request uses the Idempotency-Key at the same time, throws a 409
 * for the key instead.
 */
async function refuse(
  tx: Tx,
  { merchantOrderNo }: OrderRow,
  refusal: Error,
  claim: KeyClaim | undefined,
  now: Date,
): Promise<never> {
  if (refusal instanceof NumberTaken && merchantOrderNo !== null)
    throw new MerchantNumberUsed('merchantOrderNo', merchantOrderNo);
  if (refusal instanceof NumberTaken) throw new Error('the generated order number already exists; repeat the request');
  if (claim) {
    await claimKey(tx, claim, '', now);
    claim.taken = false;
  }
  throw refusal;
}

/** The create call is repeated only while the order has no payment link and may still be paid. */
async function resumed(
  ports: Ports,
  tx: Tx,
  orderNo: string,
  clientId: string,
  claim: KeyClaim | undefined,
): Promise<Claimed> {
  const order = await tx.orders.lock({ orderNo });
  if (!order) throw new Error('the order of a repeated request does not exist');
  if (claim) await claimKey(tx, claim, orderNo, ports.now());
  const send = canSendAgain(order, ports.now());
  const via = { cause: 'place', actor: `app:${clientId}` };
  return { order: await settleLocked(ports, tx, order, { command: 'send_again' }, via), send, fresh: false };
}

/** The open or paid order with the same merchantOrderNo; throws 409 if it was requested with other data. */
async function liveSibling(tx: Tx, draft: OrderRow): Promise<OrderRow | undefined> {
  const { clientId, merchantOrderNo } = draft;
  if (merchantOrderNo === null) return undefined;
  const state = ['created', 'pending', 'paid'] as const;
  const sibling = await tx.orders.find({ clientId, merchantOrderNo, state });
  if (sibling && sibling.factsHash !== draft.factsHash)
    throw new MerchantNumberUsed('merchantOrderNo', merchantOrderNo);
  return sibling;
}

/** A pay request, validated by its schema: amounts in major units, durations in seconds. */
export interface PayRequest {
  subject: string;
  /** The amount in major units; may be absent if `product` has the price. */
  amount?: number | string | undefined;
  payWay: PayWay;
  currency?: string | undefined;
  scene?: Scene | undefined;
  orderType?: string | undefined;
  userId?: string | undefined;
  extra?: string | undefined;
  merchantOrderNo?: string | undefined;
  openId?: string | undefined;
  appId?: string | undefined;
  /** The code that the payer showed (scene `code`). */
  payCode?: string | undefined;
  channelOptions?: ChannelOptions | undefined;
  clientIp?: string | undefined;
  returnUrl?: string | undefined;
  notifyUrl?: string | undefined;
  expireSeconds?: number | undefined;
  product?: string | undefined;
}

interface Payee {
  clientId: string;
  project: string;
  latePayment: LatePayment;
  /** The limits of the application; null = none. */
  limits: AppLimits | null;
  actor: string;
  /** The administrator who places the order from the console. */
  person?: Requester['person'];
}

/** Options for placing an order. They come from this service; the caller's pay request cannot contain them. */
interface PlaceOptions {
  claim?: KeyClaim | undefined;
  kind?: OrderRow['kind'];
  /** The channel, if the caller has just looked it up. */
  active?: ActiveChannel;
  orderNo?: string;
  /** Additional writes in the transaction that stores the order. */
  also?: (tx: Tx, order: OrderRow) => Promise<void>;
}

/**
 * `project` and `terms` (the application's limits and its policy for late payments) are set if they were read together
 * with the access token.
 */
export interface PayingApp extends Pick<Requester, 'person'> {
  clientId: string;
  /** The project of the application; absent = `payeeOf` reads it from the database. */
  project?: string;
  terms?: AppTerms | undefined;
}

/**
 * The application that owns the new order, with its limits and its policy for late payments. Throws NotFound if the
 * application was deleted.
 */
export async function payeeOf(
  { store }: Pick<Ports, 'store'>,
  { clientId, person, project, terms }: PayingApp,
): Promise<Payee> {
  const by = { clientId, actor: `app:${clientId}`, ...(person && { person }) };
  if (project !== undefined && terms) return { ...by, project, ...terms };
  const app = await store.read((tx) => tx.apps.find({ clientId }));
  if (!app) throw new NotFound('application');
  return { ...by, project: app.project, latePayment: app.latePayment, limits: app.limits };
}
