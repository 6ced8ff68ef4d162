import test, { type ExecutionContext } from 'ava';
import { settlement, type Settlement } from '../../server/payments/bills/settlement.ts';
import { billedShop } from '../support/billed-shop.ts';
import { count } from '../support/counts.ts';
import { placeOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';
import { statementOf } from '../support/statements.ts';

type PayWay = 'alipay' | 'wechat';

/** Ten scenes, each on a day of its own: in the long run three times. */
const DAYS = 10 * count(3, 1);
/** Closed refunds come back a week later. */
const MORE_DAYS = 9;

/** A month of a shop: each of its days has other movements, and its bill is read on the next. */
async function month(t: ExecutionContext, payWay: PayWay) {
  const service = await startService(t);
  const shop = await billedShop(service, payWay);
  let merchant = await service.merchant();
  const days: string[] = [];
  let orders = 0;

  const refundsOf = (orderNo: string) => service.app.store.read((tx) => tx.refunds.list({ orderNo }));
  const self = {
    service,
    days,
    /** An order over some ten yuan, paid with what these bear of it. */
    async paid(offers: { merchant?: number; channel?: number; share?: number } = {}): Promise<string> {
      orders += 1;
      const orderNo = await placeOrder(merchant, { payWay, amount: Number((10 + orders * 1.37).toFixed(2)) });
      await service.sim('/sim/offers', { orderNo, ...offers });
      await shop.pay(orderNo);
      return orderNo;
    },
    /** Asks for a refund, and does not wait for it. */
    async ask(orderNo: string, refundAmount: number): Promise<string> {
      const { status, body } = await merchant.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount });
      t.true(status < 300, JSON.stringify(body));
      return body.data.refundNo;
    },
    async ended(orderNo: string, refundNo: string): Promise<void> {
      await until(`${refundNo} ended`, async () => {
        // What is not done yet is asked about some minutes later.
        await self.later(60);
        await service.app.sweep.once();
        const refund = (await refundsOf(orderNo)).find((one) => one.refundNo === refundNo);
        return refund?.state === 'succeeded' || refund?.state === 'failed';
      });
    },
    async refund(orderNo: string, amount: number): Promise<void> {
      await self.ended(orderNo, await self.ask(orderNo, amount));
      // Refunds of one order may not follow each other within a minute.
      await self.later(90);
    },
    async later(seconds: number): Promise<void> {
      await service.sim('/sim/clock', { advanceSeconds: seconds });
      service.clock.advance(seconds);
    },
    fault: (fault: string, more: object) => service.sim('/sim/faults', { payWay, call: 'refund', fault, ...more }),
    plant: (kind: string, orderNo?: string) =>
      service.sim('/sim/bills/plants', { kind, payWay, date: self.today(), ...(orderNo && { orderNo }) }),
    today: () => new Date(service.clock.now().getTime() + 8 * 3_600_000).toISOString().slice(0, 10),
    async nextDay(): Promise<void> {
      days.push(self.today());
      // Noon again, whatever the day took.
      const now = service.clock.now().getTime();
      const noon = (Math.floor((now - 4 * 3_600_000) / 86_400_000) + 1) * 86_400_000 + 4 * 3_600_000;
      await self.later((noon - now) / 1000);
      // The token of yesterday is over.
      merchant = await service.merchant();
      await service.app.bills.plan();
      for (let rest = 1; rest > 0;) rest = await service.app.bills.sweep.once();
      for (let rest = 1; rest > 0;) rest = await service.app.sweep.once();
    },
    settlement: (from: string, to: string): Promise<Settlement> =>
      settlement(service.app.ports)({ mode: 'simulator', payWay, from, to }),
    /** What the channel's own statement says that the account gained on a day, in fen. */
    statement: (day: string): Promise<number> => statementOf(service, payWay, day),
    open: async () => (await shop.openDifferences()).map((line) => line.split(' ')[0]),
  };
  return self;
}

type Month = Awaited<ReturnType<typeof month>>;

/** A refund that is to be made in three days. */
interface Slow {
  orderNo: string;
  refundNo: string;
}

/** What happens on a day. */
const SCENES: Readonly<Record<string, (on: Month, at: PayWay) => Promise<Slow | void>>> = {
  plain: async (on) => void (await on.paid()),
  discounted: async (on) => void (await on.paid({ merchant: 2.01, channel: 1.5 })),
  async 'given back in parts'(on) {
    const orderNo = await on.paid({ merchant: 3.33, channel: 0.77 });
    for (const amount of [1.01, 2.02, 0.5]) await on.refund(orderNo, amount);
  },
  async 'given back whole'(on) {
    const orderNo = await on.paid({ merchant: 1.11, channel: 1.11 });
    const order = await on.service.app.store.read((tx) => tx.orders.find({ orderNo }));
    await on.refund(orderNo, 3.3);
    await on.refund(orderNo, Number(order!.paid - 330n) / 100);
  },
  async shared(on, at) {
    const orderNo = await on.paid({ merchant: 1, ...(at === 'alipay' && { share: 3.21 }) });
    await on.refund(orderNo, 4);
  },
  async 'given back in the portal'(on) {
    const orderNo = await on.paid({ merchant: 2.5 });
    await on.plant('refund_unknown_to_us', orderNo);
  },
  async 'of another system'(on) {
    await on.paid();
    await on.plant('order_not_ours');
  },
  async 'refund that fails'(on, at) {
    const orderNo = await on.paid({ merchant: 2 });
    if (at === 'alipay') {
      await on.fault('refused', { orderNo, word: 'SELLER_BALANCE_NOT_ENOUGH', times: 9 });
      await on.ended(orderNo, await on.ask(orderNo, 5));
      return;
    }
    await on.fault('closed-refund', { orderNo });
    const refundNo = await on.ask(orderNo, 5);
    await on.later(3600);
    await on.service.sim('/sim/refund-state', { orderNo, refundNo, state: 'failed' });
    await on.ended(orderNo, refundNo);
  },
  async 'refund that takes days'(on, at) {
    const orderNo = await on.paid({ merchant: 2, channel: 1 });
    if (at === 'alipay') return on.refund(orderNo, 4.44);
    await on.fault('closed-refund', { orderNo });
    return { orderNo, refundNo: await on.ask(orderNo, 4.44) };
  },
  async 'refund that is closed after a week'(on, at) {
    const orderNo = await on.paid({ merchant: 2, channel: 1 });
    if (at === 'alipay') return;
    await on.fault('closed-refund', { orderNo });
    await on.ask(orderNo, 3.21);
  },
};

for (const payWay of ['alipay', 'wechat'] as const)
  test(`${payWay}: what days of every kind settle is what the channel's own statement says, to the fen`, async (t) => {
    const on = await month(t, payWay);
    const scenes = Object.values(SCENES);
    const ends: (Slow & { day: number })[] = [];
    for (let day = 0; day < DAYS + MORE_DAYS; day += 1) {
      const slow = day < DAYS ? await scenes[day % scenes.length]!(on, payWay) : undefined;
      if (slow) ends.push({ ...slow, day: day + 3 });
      for (const { day: _day, ...refund } of ends.filter((one) => one.day === day))
        await on.service.sim('/sim/refund-state', { ...refund, state: 'succeeded' });
      await on.nextDay();
    }
    const { days, totals, missing, shrunk, disagreements, pendingRefunds } = await on.settlement(
      on.days[0]!,
      on.days[DAYS - 1]!,
    );
    t.deepEqual({ missing, shrunk, disagreements }, { missing: [], shrunk: [], disagreements: [] });
    const statements = new Map<string, number>();
    for (const day of on.days) statements.set(day, await on.statement(day));
    const sum = (of: Iterable<number>) => [...of].reduce((all, one) => all + one, 0);
    t.is(totals[0]!.netMinor, sum(statements.values()), 'all of them');
    t.true((totals[0]?.discountsMinor ?? 0) > 0 && (totals[0]?.sharesMinor ?? 0) > 0 === (payWay === 'alipay'));
    t.true(pendingRefunds.every(({ end }) => end === 'failed'));
    t.is(pendingRefunds.length, payWay === 'wechat' ? DAYS / 10 : 0);
    for (const day of on.days.slice(0, DAYS)) {
      const net = sum(days.filter((one) => one.day === day).map(({ netMinor }) => netMinor));
      const closed = pendingRefunds.some((one) => one.day === day);
      if (!closed && !isReturned(pendingRefunds, day)) t.is(net, statements.get(day)!, day);
    }
    t.deepEqual(await on.open(), [], 'no difference is made up');
  });

/** A refund of a week before came back on this day. */
function isReturned(pending: Settlement['pendingRefunds'], day: string): boolean {
  return pending.some((one) => Date.parse(day) - Date.parse(one.day) === 7 * 86_400_000);
}
