import { randomUUID } from 'node:crypto';
import type { Delivery } from '../../server/simulator/notice.ts';
import { deliver, messageAbout, paidUntold, type Shop } from './changed-identity.ts';
import { placeOrder, stateOf } from './orders.ts';
import type { Answer } from './service.ts';

/** An order on its way when the configuration changes. */
export interface Flight {
  orderNo: string;
  /** What the channel wrote before the change, and nobody delivered. */
  message?: Delivery;
  /** A refund that was asked for before the change. */
  refundNo?: string;
  /** The pay request once more, as a merchant repeats what was not answered. */
  repeat?: () => Promise<Answer>;
}

/**
 * How a payment became known after the change, or that it was known before. `not placed`: the repeated pay request was refused,
 * because the channel made an order of the new identity out of it, and the payer was handed nothing.
 */
export type Recognised = 'before' | 'notice' | 'asked' | 'not placed';

/** A moment in the life of an order: how it gets there, and how it goes on when the configuration is another. */
export interface Moment {
  name: string;
  arrive(on: Shop, order: Record<string, unknown>): Promise<Flight>;
  goOn(on: Shop, flight: Flight): Promise<Recognised>;
}

/** The moments at which a configuration may change, from the first thought of a payment to its refund. */
export const MOMENTS: readonly Moment[] = [
  { name: 'before it is placed', arrive: (on, order) => unanswered(on, order, '502'), goOn: repeated },
  { name: 'while it is placed', arrive: (on, order) => unanswered(on, order, '500-after-commit'), goOn: repeated },
  { name: 'placed', arrive: async (on, order) => ({ orderNo: await place(on, order) }), goOn: payAndTell },
  {
    name: 'the payer has opened it',
    async arrive(on, order) {
      const orderNo = await place(on, order);
      await on.service.sim('/sim/scan', { orderNo });
      return { orderNo };
    },
    goOn: payAndTell,
  },
  {
    name: 'paid, nobody told',
    async arrive(on, order) {
      const orderNo = await place(on, order);
      await on.service.sim('/sim/pay', { orderNo });
      return { orderNo };
    },
    goOn: ask,
  },
  {
    name: 'the notice is under way',
    async arrive(on, order) {
      const orderNo = await place(on, order);
      return { orderNo, message: await paidUntold(on, orderNo) };
    },
    goOn: async (on, flight) => tell(on, flight.orderNo, flight.message!),
  },
  { name: 'known to be paid', arrive: known, goOn: async () => 'before' },
  { name: 'a refund is meant', arrive: (on, order) => refunding(on, order, '502'), goOn: async () => 'before' },
  {
    name: 'a refund is sent',
    arrive: (on, order) => refunding(on, order, '500-after-commit'),
    goOn: async () => 'before',
  },
  {
    name: 'a refund is in the works',
    arrive: (on, order) => refunding(on, order, 'pending-refund'),
    async goOn({ service }, { orderNo, refundNo }) {
      await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'succeeded' });
      return 'before';
    },
  },
  { name: 'a refund is done', arrive: (on, order) => refunding(on, order), goOn: async () => 'before' },
];

function place({ shop, payWay }: Shop, order: Record<string, unknown>): Promise<string> {
  return placeOrder(shop, { payWay, ...order });
}

/** A pay request whose call at the channel ended in this fault. */
async function unanswered(
  { service, shop, payWay }: Shop,
  order: Record<string, unknown>,
  fault: string,
): Promise<Flight> {
  const request = { subject: 'Test', amount: 10, payWay, ...order };
  const send = () => shop.call('POST', '/api/v2/payment/pay', request, { 'idempotency-key': key });
  const key = randomUUID();
  await service.sim('/sim/faults', { payWay, call: 'create', fault, times: 1 });
  const { status, body } = await send();
  if (status !== 504) throw new Error(`pay: ${status} ${JSON.stringify(body)}`);
  return { orderNo: body.orderNo as string, repeat: send };
}

async function repeated(on: Shop, { orderNo, repeat }: Flight): Promise<Recognised> {
  const { status, body } = await repeat!();
  if (status === 502 && body.code === 'channel_answer_unusable' && body.cause === 'mismatch') return 'not placed';
  if (status !== 201) throw new Error(`the repeated pay of ${orderNo}: ${status} ${JSON.stringify(body)}`);
  return payAndTell(on, { orderNo });
}

async function payAndTell(on: Shop, { orderNo }: Flight): Promise<Recognised> {
  return tell(on, orderNo, await paidUntold(on, orderNo));
}

/** Delivers a message; what is not believed or says too little is asked about, as it is without any message. */
async function tell(on: Shop, orderNo: string, message: Delivery): Promise<Recognised> {
  await deliver(on, message);
  return (await stateOf(on.service, orderNo)) === 'paid' ? 'notice' : ask(on, { orderNo });
}

async function ask({ service, shop }: Shop, { orderNo }: Flight): Promise<Recognised> {
  for (let tries = 0; tries < 20; tries += 1) {
    service.clock.advance(61);
    await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
    if ((await stateOf(service, orderNo)) === 'paid') return 'asked';
    await service.app.sweep.once();
  }
  throw new Error(`${orderNo} is paid at its channel, and nobody here knows it`);
}

async function known(on: Shop, order: Record<string, unknown>): Promise<Flight> {
  const orderNo = await place(on, order);
  await on.service.sim('/sim/pay', { orderNo });
  await tell(on, orderNo, await messageAbout(on, orderNo));
  return { orderNo };
}

/** A paid order of which 4 of 10 are asked back, with a fault or without. */
async function refunding(on: Shop, order: Record<string, unknown>, fault?: string): Promise<Flight> {
  const { orderNo } = await known(on, order);
  const { service, shop, payWay } = on;
  if (fault) await service.sim('/sim/faults', { payWay, call: 'refund', orderNo, fault, times: 1 });
  const { status, body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const [refund] = await service.app.store.read((tx) => tx.refunds.list({ orderNo }));
  if (!refund) throw new Error(`refund: ${status} ${JSON.stringify(body)}`);
  return { orderNo, refundNo: refund.refundNo };
}
