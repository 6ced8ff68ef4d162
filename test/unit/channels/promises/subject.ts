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

/** One adapter in front of one simulated account. */
export interface Subject {
  kind: ChannelKind;
  /** A configuration that works; the suite brings its own transport. */
  input: Omit<ChannelInput, 'send' | 'now'>;
  driver: Driver;
  /** A channel that asks the simulator. */
  channel: Channel;
  /** The same channel for calls that nobody will answer. */
  impatient: Channel;
  /** The same fields with keys of another account, to whom nothing of this one is genuine. */
  stranger?: Channel;
  /** Asks about an order and hears, genuinely, a status that no table lists. */
  unknownWord(order: OrderRef): Promise<Outcome>;
  /** Placing asks the channel nothing: the order begins when the payer opens its address. */
  isPlacedUnasked?: boolean;
  /** The money is taken without a question before, as soon as the shop says that the payer has agreed. */
  takesAtOnce?: boolean;
  /** What is different about each of its orders; the default scene needs nothing. */
  order?: (() => Partial<PlaceOrder>) | undefined;
}

/** A real transport, patient enough for a busy machine. */
const patient = createTransport({ timeoutMs: 60_000 });

/** A channel of this configuration on a real transport. */
export function connect(kind: ChannelKind, input: Subject['input'], send: Transport = patient): Channel {
  return kind.create({ ...input, now: () => new Date(), send });
}

/**
 * A transport whose time is over when a fault has struck its order: by a clock, a busy machine gives up a request
 * before it has sent it, and then the fault waits for the next one.
 */
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

/** A new order of 1234 minor units of the default currency in the default scene, unless `changes` say otherwise. */
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

/** Places the order and gives it back with what the channel calls it. A connection that broke is answered as by the service: the same again. */
export async function placed<T extends PlaceOrder & OrderRef>({ channel }: Subject, order: T): Promise<T> {
  const isBroken = (said: Outcome) => said.kind === 'unknown' && said.cause === 'network';
  let outcome = await channel.place(order);
  for (let tries = 1; tries < 3 && isBroken(outcome); tries += 1) outcome = await channel.place(order);
  if (outcome.kind !== 'pending') throw new Error(`place: ${show(outcome)}`);
  return { ...order, channelOrderId: outcome.channelOrderId ?? null };
}

/** A new order that the payer has paid (PayPal: and that was captured). */
export async function paid(subject: Subject): Promise<PlaceOrder & OrderRef> {
  const order = await placed(subject, newOrder(subject.kind, subject.order?.()));
  await subject.driver.pay(order.orderNo);
  const outcome = await settle(subject, order);
  if (outcome.kind !== 'paid') throw new Error(`pay: ${show(outcome)}`);
  return { ...order, channelTradeNo: outcome.channelNo };
}

/** Asks how the order stands, unless the shop knows; takes approved money where that is ours to do. */
export async function settle({ channel, takesAtOnce }: Subject, order: OrderRef): Promise<Outcome> {
  if (takesAtOnce) return capture(channel, order);
  const outcome = await channel.query(order);
  return outcome.kind === 'approved' && channel.capture ? capture(channel, order) : outcome;
}

/** The call that takes approved money, under the first of our numbers unless another try is meant. */
export async function capture(channel: Channel, order: OrderRef, attempt = 1): Promise<Outcome> {
  if (!channel.capture) throw new Error('The channel takes money by itself.');
  return channel.capture({ ...order, captureNo: `${order.orderNo}-c${attempt}` });
}

/** Repeats a question until the answer is good; the channel does some things a moment later. */
export async function until<T>(ask: () => Promise<T>, isGood: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (isGood(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`Waited in vain; the last answer was ${show(answer)}`);
    await delay(50);
  }
}

/** JSON for messages of a test. */
export function show(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
}
