import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/store.ts';
import { AppError, CommitUnknown } from '../errors.ts';
import type { Channel, OrderRef, Outcome, PlaceOrder, RefundOrder, RefundRef } from './channel.ts';
import { inChannelCall, numberAtChannel } from './numbers.ts';
import type { Ports } from './ports.ts';
import { OutcomeNotKept } from './errors.ts';
import { withinWork } from '../work.ts';

/**
 * The support id (by which the channel's support finds a request) is added to these kinds of outcomes, because an
 * operator may have to contact the channel.
 */
const NO_SUCCESS: ReadonlySet<string> = new Set(['unknown', 'declined', 'refused', 'failed', 'abnormal']);

/**
 * Calls an order's channel, outside any transaction. Any error (an unusable configuration, a fault of the adapter)
 * becomes the outcome `unknown`, so that the caller always has an outcome to store.
 */
export async function callChannel<Answer extends { kind: string }>(
  ports: Pick<Ports, 'log' | 'channels' | 'onChannelCall'>,
  order: OrderRow,
  call: (channel: Channel) => Promise<Answer>,
  known?: Channel,
): Promise<Answer | Extract<Outcome, { kind: 'unknown' }>> {
  const begun = performance.now();
  const answer = await callChannelSafely(ports, order, call, known);
  ports.onChannelCall?.({ payWay: order.payWay, isUnknown: answer.kind === 'unknown', ms: performance.now() - begun });
  return answer;
}

async function callChannelSafely<Answer extends { kind: string }>(
  ports: Pick<Ports, 'log' | 'channels'>,
  order: OrderRow,
  call: (channel: Channel) => Promise<Answer>,
  known?: Channel,
): Promise<Answer | Extract<Outcome, { kind: 'unknown' }>> {
  const { payWay, orderNo } = order;
  try {
    const channel = known ?? (await ports.channels.forOrder(order));
    const { answer, supportId } = await withinWork({ payWay, orderNo }, () => inChannelCall(() => call(channel)));
    return supportId !== null && NO_SUCCESS.has(answer.kind) ? { ...answer, supportId } : answer;
  } catch (error) {
    ports.log('error', 'a channel call failed unexpectedly', { orderNo, error });
    return { kind: 'unknown', cause: 'misconfigured', detail: error instanceof Error ? error.message : String(error) };
  }
}

/** Returns the data (ids, amount and dates) with which a channel is queried about an order. */
export function orderRef(order: OrderRow): OrderRef {
  return {
    orderNo: order.orderNo,
    amount: { minor: order.amount, currency: order.currency },
    scene: order.scene,
    sentAt: order.sentAt,
    expiresAt: order.expiresAt,
    channelOrderId: order.channelOrderId,
    channelTradeNo: order.channelTradeNo,
    ...appOf(order),
  };
}

/** Builds the create call of an order. A repeated call is identical, so that the channel recognizes it. */
export function placeOrder(order: OrderRow, publicUrl: string): PlaceOrder {
  const page = `${publicUrl}/return/${order.payWay}/${order.orderNo}`;
  return {
    orderNo: order.orderNo,
    subject: order.subject,
    amount: { minor: order.amount, currency: order.currency },
    scene: order.scene,
    expiresAt: order.expiresAt,
    sentAt: order.sentAt,
    notifyUrl: notifyUrl(order, publicUrl),
    returnUrl: page,
    cancelUrl: `${page}?cancelled=1`,
    clientIp: order.clientIp,
    openId: order.openId,
    ...appOf(order),
    payCode: order.payCode,
    options: order.channelOptions ?? {},
    ...(order.kind === 'skillpay' && { isForCall: true }),
  };
}

function appOf({ appId }: OrderRow): { appId?: string } {
  return appId === null ? {} : { appId };
}

/** Builds the refund call of a refund. A repeated call is identical, so that the channel recognizes it. */
export function refundOrder(order: OrderRow, refund: RefundRow, publicUrl: string): RefundOrder {
  return {
    ...orderRef(order),
    amount: { minor: totalOf(order, refund), currency: refund.currency },
    refundNo: numberAtChannel(refund),
    refundAmount: { minor: refund.amount, currency: refund.currency },
    reason: refund.reason ?? '',
    notifyUrl: notifyUrl(order, publicUrl),
    refundSentAt: refund.sentAt ?? refund.createdAt,
    ...(refund.paymentNo === null ? {} : { paymentNo: refund.paymentNo }),
  };
}

/** Returns the data with which a channel is queried about a refund. */
export function refundRef(order: OrderRow, refund: RefundRow, publicUrl: string): RefundRef {
  return { ...refundOrder(order, refund, publicUrl), channelRefundNo: refund.channelRefundNo };
}

/** Returns the data with which a channel is queried about a refund that was made outside this service. */
export function externalRefundRef(order: OrderRow): OrderRef {
  const minor = order.paid > 0n ? order.paid : order.amount;
  return { ...orderRef(order), amount: { minor, currency: order.currency } };
}

/** A surplus refund returns a whole payment that is outside the order's sums, for example a second payment. */
function totalOf(order: OrderRow, refund: RefundRow): bigint {
  if (refund.surplus) return refund.amount;
  return order.paid > 0n ? order.paid : order.amount;
}

function notifyUrl({ payWay, project }: OrderRow, publicUrl: string): string {
  return `${publicUrl}/notify/${payWay}/${project}`;
}

interface Numbers {
  orderNo: string;
  refundNo?: string;
}

/**
 * Runs the transaction that stores an operation before the channel is called. If the connection breaks at COMMIT, the
 * caller receives a 504 with the order number. A retry finds the row if the COMMIT succeeded.
 */
export async function recordIntent<T>(
  { store }: Pick<Ports, 'store'>,
  work: (tx: Tx) => Promise<T>,
  numbersOf: (intent: T) => Numbers,
): Promise<T> {
  let intent: { made: T } | undefined;
  try {
    return await store.transaction(async (tx) => (intent = { made: await work(tx) }).made);
  } catch (error) {
    throw intent && error instanceof CommitUnknown ? notKept(numbersOf(intent.made), error) : error;
  }
}

function notKept({ orderNo, refundNo }: Numbers, error: unknown): OutcomeNotKept {
  return new OutcomeNotKept(refundNo === undefined ? { orderNo } : { orderNo, refundNo }, error);
}

/**
 * Runs the steps that follow a stored operation. An internal error in these steps becomes a 504 that contains the order
 * number and the refund number.
 */
export async function afterIntent<T>(numbers: Numbers, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isRefusal = error instanceof AppError && !(error instanceof CommitUnknown);
    throw isRefusal ? error : notKept(numbers, error);
  }
}
