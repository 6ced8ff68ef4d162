import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createTransport } from '../../../../server/channels/transport.ts';
import {
  TransportFailed,
  type Channel,
  type ChannelInput,
  type ChannelKind,
  type OrderRef,
  type Outcome,
  type PlaceOrder,
  type RefundOrder,
  type RefundRef,
  type Transport,
} from '../../../../server/payments/channel.ts';
import type { Driver } from './driver.ts';

/** One adapter with one simulated account. */
export interface Subject {
  kind: ChannelKind;
  /** A valid configuration; the suite adds its own transport. */
  input: Omit<ChannelInput, 'send' | 'now'>;
  driver: Driver;
  /** A channel that calls the simulator. */
  channel: Channel;
  /** The same channel for calls without a response. */
  impatient: Channel;
  /** A channel with the keys of another account, for which messages of this account are not genuine. */
  stranger?: Channel;
  /** Queries an order whose genuine response has an unlisted status. */
  unknownWord(order: OrderRef): Promise<Outcome>;
  /** Set if placing calls no channel: the order starts when the payer opens its URL. */
  isPlacedUnasked?: boolean;
  /** Set if the payment is captured without a query, as soon as the payer has approved. */
  takesAtOnce?: boolean;
  /** Members of each order; the default scene needs none. */
  order?: (() => Partial<PlaceOrder>) | undefined;
}

/** A real transport with a long timeout for a loaded machine. */
const patient = createTransport({ timeoutMs: 60_000 });

/** Creates a channel with this configuration on a real transport. */
export function connect(kind: ChannelKind, input: Subject['input'], send: Transport = patient): Channel {
  return kind.create({ ...input, now: () => new Date(), send });
}

/** A transport that times out once a fault has struck its order; a clock could time out before the request is sent on a loaded machine. */
export function givingUpOnceStruck({ struck }: Pick<Driver, 'struck'>): Transport {
  return async (request) => {
    const { orderNo = '' } = request.about;
    const before = await struck(orderNo);
    const answer = patient(request);
    let isOver = false;
    const end = () => void (isOver = true);
    answer.then(end, end);
    while (!isOver) {
      if ((await struck(orderNo)) > before) throw new TransportFailed('timeout', 'A fault has struck.');
      await delay(10);
    }
    return answer;
  };
}

/** A new order of 1234 minor units in the default currency and scene, with `changes`. */
export function newOrder(kind: ChannelKind, changes: Partial<PlaceOrder> = {}): PlaceOrder & OrderRef {
  const now = Date.now();
  return {
    orderNo: `T${randomBytes(10).toString('hex').toUpperCase()}`,
    subject: 'A cup of tea',
    amount: { minor: 1234n, currency: kind.defaultCurrency },
    scene: kind.defaultScene,
    expiresAt: new Date(now + 3_600_000),
    sentAt: new Date(now),
    notifyUrl: 'http://127.0.0.1:9/notify',
    returnUrl: 'http://127.0.0.1:9/return',
    cancelUrl: 'http://127.0.0.1:9/cancel',
    clientIp: '127.0.0.1',
    openId: null,
    payCode: null,
    options: {},
    channelOrderId: null,
    channelTradeNo: null,
    ...changes,
  };
}

/** A refund of 2.34 of the order. */
export function newRefund(order: OrderRef): RefundOrder & RefundRef {
  return {
    ...order,
    refundNo: `R${randomBytes(10).toString('hex').toUpperCase()}`,
    refundAmount: { minor: 234n, currency: order.amount.currency },
    reason: 'cold',
    notifyUrl: 'http://127.0.0.1:9/notify',
    refundSentAt: new Date(),
    channelRefundNo: null,
  };
}

/** Places the order, repeating it after a broken connection as the service does, and adds the channel's order number. */
export async function placed<T extends PlaceOrder & OrderRef>({ channel }: Subject, order: T): Promise<T> {
  const isBroken = (said: Outcome) => said.kind === 'unknown' && said.cause === 'network';
  let outcome = await channel.place(order);
  for (let tries = 1; tries < 3 && isBroken(outcome); tries += 1) outcome = await channel.place(order);
  if (outcome.kind !== 'pending') throw new Error(`place: ${show(outcome)}`);
  return { ...order, channelOrderId: outcome.channelOrderId ?? null };
}

/** A new order that the payer has paid, captured at PayPal. */
export async function paid(subject: Subject): Promise<PlaceOrder & OrderRef> {
  const order = await placed(subject, newOrder(subject.kind, subject.order?.()));
  await subject.driver.pay(order.orderNo);
  const outcome = await settle(subject, order);
  if (outcome.kind !== 'paid') throw new Error(`pay: ${show(outcome)}`);
  return { ...order, channelTradeNo: outcome.channelNo };
}

/** Queries the order, and captures an approved payment where the service does that. */
export async function settle({ channel, takesAtOnce }: Subject, order: OrderRef): Promise<Outcome> {
  if (takesAtOnce) return capture(channel, order);
  const outcome = await channel.query(order);
  return outcome.kind === 'approved' && channel.capture ? capture(channel, order) : outcome;
}

/** Captures an approved payment under the capture number of this attempt. */
export async function capture(channel: Channel, order: OrderRef, attempt = 1): Promise<Outcome> {
  if (!channel.capture) throw new Error('The channel takes money by itself.');
  return channel.capture({ ...order, captureNo: `${order.orderNo}-c${attempt}` });
}

/** Repeats a call until its result is good, because some channel effects are delayed. */
export async function until<T>(ask: () => Promise<T>, isGood: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (isGood(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`Waited in vain; the last answer was ${show(answer)}`);
    await delay(50);
  }
}

/** JSON for test messages. */
export function show(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
}
