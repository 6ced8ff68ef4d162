import type { BillRow } from '../../server/db/entities/bills.ts';
import type { OrderExceptionRow } from '../../server/db/entities/orders.ts';
import { billRepairs } from '../../server/payments/bills/store.ts';
import type { PayWay } from '../../server/payments/channel.ts';
import { placeOrder, stateOf } from './orders.ts';
import { type Service, until } from './service.ts';

const DAY_SECONDS = 86_400;

/** A shop whose channel's bills are read, with the actions of a test's day. Jobs do not run by themselves. */
export interface BilledShop {
  service: Service;
  /** The day, in Beijing and in UTC. */
  day: string;
  place(): Promise<string>;
  /** The payer pays, and the channel notifies the service. */
  pay(orderNo: string): Promise<void>;
  paid(): Promise<string>;
  /** The payer pays, and no notification is sent. */
  payUntold(orderNo: string): Promise<void>;
  /** The merchant refunds 4.00. */
  refunded(orderNo: string): Promise<void>;
  /** Refunds half in the channel's portal without a notification; returns the channel's number. */
  refundElsewhere(orderNo: string): Promise<string>;
  knowsRefund(orderNo: string, channelRefundNo: string): Promise<boolean>;
  canPlant(kind: string): boolean;
  /** Returns an order in which a difference can be planted; undefined for a line without an order. */
  orderFor(kind: string): Promise<string | undefined>;
  plant(kind: string, orderNo?: string): Promise<{ number: string; orderNo: string }>;
  /** Removes the differences that exist in bills alone. */
  unplant(): Promise<void>;
  /** Advances to the afternoon two days later, when the bill of the day exists. */
  nextDay(): Promise<void>;
  /** The bill of the day. */
  bill(): Promise<BillRow>;
  rerun(): Promise<void>;
  /** Fetches the bill of the day again. */
  refetch(): Promise<void>;
  states(orders: readonly string[]): Promise<(string | undefined)[]>;
  /** Returns `kind order state` of every difference, sorted. */
  differences(): Promise<string[]>;
  /** The open and listed differences. */
  openDifferences(): Promise<string[]>;
  exceptions(orderNo?: string): Promise<OrderExceptionRow[]>;
}

/** Advances the clocks of a service and its simulator to noon in Beijing and stops the service's: so every test has the same day. */
export async function atNoon(service: Service): Promise<{ day: string; advance(seconds: number): Promise<void> }> {
  const advance = async (seconds: number) => {
    await service.sim('/sim/clock', { advanceSeconds: seconds });
    service.clock.advance(seconds);
  };
  const sinceNoon = (Math.floor(service.clock.now().getTime() / 1000) - 4 * 3600) % DAY_SECONDS;
  await advance(DAY_SECONDS - sinceNoon);
  // An order whose notification is lost is queried after some seconds; a running clock could reach the next day on a slow machine.
  service.clock.stop();
  return { day: service.clock.now().toISOString().slice(0, 10), advance };
}

/** Opens the shop at noon in Beijing, so that its day is always the same. */
export async function billedShop(service: Service, payWay: PayWay): Promise<BilledShop> {
  const { store } = service.app;
  const { advance, day } = await atNoon(service);
  const merchant = await service.merchant();

  const repairs = () =>
    billRepairs({ ...service.app.ports, openPatient: async () => ({ store, close: async () => {} }) });

  const shop: BilledShop = {
    service,
    day,
    place: () => placeOrder(merchant, { payWay, amount: 10, ...(payWay === 'paypal' && { currency: 'USD' }) }),
    async pay(orderNo) {
      await service.sim(payWay === 'paypal' ? '/sim/approve' : '/sim/pay', { orderNo });
      await until(`${orderNo} paid`, async () => {
        await service.app.sweep.once();
        return (await stateOf(service, orderNo)) === 'paid';
      });
    },
    async paid() {
      const orderNo = await shop.place();
      await shop.pay(orderNo);
      return orderNo;
    },
    payUntold: async (orderNo) => void (await shop.plant('paid_unknown_to_us', orderNo)),
    async refunded(orderNo) {
      const { body } = await merchant.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
      const { refundNo } = body.data;
      await until(`${refundNo} done`, async () => {
        await service.app.sweep.once();
        const refund = await store.read((tx) => tx.refunds.find({ refundNo }));
        return refund?.state === 'succeeded';
      });
    },
    refundElsewhere: async (orderNo) => (await shop.plant('refund_unknown_to_us', orderNo)).number,
    async knowsRefund(orderNo, number) {
      const rows = await store.read((tx) => tx.refunds.list({ orderNo, state: 'succeeded' }));
      return (
        rows.some(({ channelRefundNo, refundNo }) => [channelRefundNo, refundNo].includes(number)) || rows.length > 0
      );
    },
    // Alipay's bills have no currency, each transaction of PayPal's pages is read once, and only PayPal has disputes.
    canPlant: (kind) =>
      !(kind === 'currency_differs' && payWay === 'alipay') &&
      !(kind === 'line_twice' && payWay === 'paypal') &&
      !(kind === 'dispute_unknown_to_us' && payWay !== 'paypal'),
    async orderFor(kind) {
      if (kind === 'order_unknown_here') return undefined;
      if (kind === 'paid_unknown_to_us') return shop.place();
      const orderNo = await shop.paid();
      if (kind.startsWith('refund_') && kind !== 'refund_unknown_to_us') await shop.refunded(orderNo);
      return orderNo;
    },
    async plant(kind, orderNo) {
      const command = { kind, payWay, date: day, ...(orderNo !== undefined && { orderNo }) };
      const planted = await service.sim('/sim/bills/plants', command);
      return { number: String(planted['number']), orderNo: String(planted['orderNo']) };
    },
    async unplant() {
      const headers = { 'content-type': 'application/json' };
      await fetch(`${service.simulator.url}/sim/bills`, { method: 'DELETE', headers });
    },
    nextDay: () => advance(DAY_SECONDS + 4 * 3600),
    bill: async () => (await store.read((tx) => tx.bills.find({ payWay, day })))!,
    async rerun() {
      const { billNo } = await shop.bill();
      await repairs().rerunBill(merchant.requester, billNo);
      await service.app.bills.sweep.once();
    },
    async refetch() {
      await repairs().requestBill(merchant.requester, { project: 'default', payWay, day });
      await service.app.bills.sweep.once();
    },
    states: (orders) => Promise.all(orders.map((orderNo) => stateOf(service, orderNo))),
    async differences() {
      const rows = await store.read((tx) => tx.billDifferences.list({}));
      return rows.map(({ kind, orderNo, state }) => `${kind} ${orderNo} ${state}`).toSorted();
    },
    openDifferences: async () => (await shop.differences()).filter((line) => /(open|listed)$/.test(line)),
    exceptions: (orderNo) =>
      store.read((tx) => tx.exceptions.list({ state: 'open', ...(orderNo !== undefined && { orderNo }) })),
  };
  return shop;
}
