import type { OrderRow } from '../db/entities/orders.ts';
import { InvalidRequest } from '../errors.ts';
import type { ChannelOptions } from './channel-options.ts';
import type { Scene } from './channel.ts';
import { later, nextOrderCheck } from './core/plan.ts';
import { digest } from './idempotency.ts';
import { readAmount } from './money.ts';
import { newNumber } from './numbers.ts';
import type { Payee, PayRequest, PlaceOptions } from './pay-request.ts';
import type { ActiveChannel } from './ports.ts';
import { traceParent } from '../tracing.ts';

/** The order that a request means, as it would be inserted; refuses what its channel cannot do (400). */
export function draftOrder(
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
  const amount = request.amount === undefined ? 0n : readAmount(request.amount, currency, request.payWay).minor;
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

/** The app in whose name it is placed: pinned, so that a later change of the configuration strands nothing. Null = there are none. */
function appOf({ channel }: ActiveChannel, scene: Scene, { payWay, appId }: PayRequest): string | null {
  const known = channel.appIds?.(scene) ?? [];
  if (appId === undefined) return known[0] ?? null;
  if (known.includes(appId)) return appId;
  throw invalid('/appId', known.length > 0 ? `appId must be one of ${known.join(', ')}.` : `${payWay} takes no appId.`);
}

/** The facts that make two requests with one merchantOrderNo the same request. */
function factsHash(request: PayRequest, scene: Scene, amount: bigint, currency: string): string {
  const { subject, payWay, orderType, userId, extra, openId, appId, payCode, product } = request;
  return digest({
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
  });
}

/** Of what was asked of several channels only the order's own counts. */
function ownOptions({ payWay, channelOptions }: PayRequest): ChannelOptions | null {
  const own = channelOptions?.[payWay];
  return (own && { [payWay]: own }) || null;
}

/**
 * WeChat Pay keeps the money of such an order frozen until it is shared (分账) or released (解冻剩余资金), and no call of this service does
 * either. Throws InvalidRequest, whichever channel is asked: the payer may choose another one.
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
