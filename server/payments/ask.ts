import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/store.ts';
import { AppError, CommitUnknown } from '../errors.ts';
import type { Channel, OrderRef, Outcome, PlaceOrder, RefundOrder, RefundRef } from './channel.ts';
import { inChannelCall, numberAtChannel } from './numbers.ts';
import type { Ports } from './ports.ts';
import { OutcomeNotKept } from './refusals.ts';
import { withinWork } from '../work.ts';

/** Outcomes about which a person may have to talk to the channel. */
const NO_SUCCESS: ReadonlySet<string> = new Set(['unknown', 'declined', 'refused', 'failed', 'abnormal']);

/**
 * Asks an order's channel, outside any transaction. Whatever is thrown (a configuration that cannot be used, a fault of an
 * adapter) becomes `unknown`, so that a settle always follows. `known` spares the look-up of a channel at hand.
 */
export async function ask<Said extends { kind: string }>(
  ports: Pick<Ports, 'log' | 'channels' | 'asked'>,
  order: OrderRow,
  call: (channel: Channel) => Promise<Said>,
  known?: Channel,
): Promise<Said | Extract<Outcome, { kind: 'unknown' }>> {
  const begun = performance.now();
  const said = await askSafely(ports, order, call, known);
  ports.asked?.({ payWay: order.payWay, isUnknown: said.kind === 'unknown', ms: performance.now() - begun });
  return said;
}

async function askSafely<Said extends { kind: string }>(
  ports: Pick<Ports, 'log' | 'channels'>,
  order: OrderRow,
  call: (channel: Channel) => Promise<Said>,
  known?: Channel,
): Promise<Said | Extract<Outcome, { kind: 'unknown' }>> {
  const { payWay, orderNo } = order;
  try {
    const channel = known ?? (await ports.channels.forOrder(order));
    const { said, supportId } = await withinWork({ payWay, orderNo }, () => inChannelCall(() => call(channel)));
    return supportId !== null && NO_SUCCESS.has(said.kind) ? { ...said, supportId } : said;
  } catch (error) {
    ports.log('error', 'a channel call failed unexpectedly', { orderNo, error });
    return { kind: 'unknown', cause: 'misconfigured', detail: error instanceof Error ? error.message : String(error) };
  }
}

/** An order as its channel must be asked about it. */
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

/** The create call of an order: the same for every re-send. */
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

/** The refund call of a refund: the same for every re-send. */
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

/** A refund as its channel must be asked about it. */
export function refundRef(order: OrderRow, refund: RefundRow, publicUrl: string): RefundRef {
  return { ...refundOrder(order, refund, publicUrl), channelRefundNo: refund.channelRefundNo };
}

/** An order as its channel must be asked about a refund that somebody else made. */
export function foreignRef(order: OrderRow): OrderRef {
  const minor = order.paid > 0n ? order.paid : order.amount;
  return { ...orderRef(order), amount: { minor, currency: order.currency } };
}

/** What the channel took in all: a surplus refund gives back the whole of what came. */
function totalOf(order: OrderRow, refund: RefundRow): bigint {
  if (refund.surplus) return refund.amount;
  return order.paid > 0n ? order.paid : order.amount;
}

function notifyUrl({ payWay, project }: OrderRow, publicUrl: string): string {
  return `${publicUrl}/notify/${payWay}/${project}`;
}

/** What an order and its refund are called. */
interface Numbers {
  orderNo: string;
  refundNo?: string;
}

/** The transaction that writes an intent: when the connection breaks at COMMIT the caller hears its number (504), and a retry finds it if it is there. */
export async function intend<T>(
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

/** Does what follows a committed intent; a fault of our own there is told with its numbers. */
export async function afterIntent<T>(numbers: Numbers, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isRefusal = error instanceof AppError && !(error instanceof CommitUnknown);
    throw isRefusal ? error : notKept(numbers, error);
  }
}
