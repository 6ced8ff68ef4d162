import test, { type ExecutionContext } from 'ava';
import { settlement, type Settlement } from '../../server/payments/bills/settlement.ts';
import { billedShop } from '../support/billed-shop.ts';
import { count } from '../support/counts.ts';
import { placeOrder } from '../support/orders.ts';
import { startService, until, type Service } from '../support/service.ts';
import { clientFor } from '../unit/simulator/alipay/client.ts';
import { askAlipay, targetOf, unzip } from '../unit/simulator/bills/desk.ts';
import { call } from '../unit/simulator/wechat/merchant.ts';
import type { World } from '../unit/simulator/world.ts';

/** The day's gain according to the account statement (账务明细, 资金账单), in fen: the channel's own settled amount. */
async function statementOf(service: Service, payWay: 'alipay' | 'wechat', day: string): Promise<number> {
  const configs = await service.sim('/sim/config');
  const world = { url: service.simulator.url, config: async () => configs } as unknown as World;
  return payWay === 'alipay' ? statementOfAlipay(world, day) : statementOfWechat(world, day);
}

async function statementOfAlipay(world: World, day: string): Promise<number> {
  const { content } = await askAlipay(await clientFor(world), day, 'signcustomer');
  if (content['sub_code'] === 'isp.bill_not_exist') return 0;
  const { files } = unzip(await (await fetch(content['bill_download_url']!)).arrayBuffer());
  const [header = '', ...lines] = files[0]!.text.split('\r\n').slice(4);
  const [came, left] = ['收入金额（+元）', '支出金额（-元）'].map((name) => header.split(',').indexOf(name));
  const rows = lines.slice(
    0,
    lines.findIndex((line) => line.startsWith('#')),
  );
  return rows.map((line) => line.split(',')).reduce((sum, row) => sum + fen(row[came!]) + fen(row[left!]), 0);
}

async function statementOfWechat(world: World, day: string): Promise<number> {
  const config = (await world.config())['wechat']!;
  const told = await call(world, config, 'GET', `/v3/bill/fundflowbill?bill_date=${day}`);
  if (told.code === 'NO_STATEMENT_EXIST') return 0;
  const { body } = await call(world, config, 'GET', targetOf(told.body, world));
  const [header = '', ...lines] = body.replace(/^\uFEFF/, '').split('\r\n');
  const [way, amount] = ['收支类型', '收支金额(元)'].map((name) => header.split(',').indexOf(name));
  const rows = lines
    .slice(
      0,
      lines.findIndex((line) => line.startsWith('资金流水总笔数')),
    )
    .map((line) => line.slice(1).split(',`'));
  return rows.reduce((sum, row) => sum + (row[way!] === '收入' ? 1 : -1) * fen(row[amount!]), 0);
}

function fen(text: string | undefined): number {
  return Math.round(Number(text) * 100);
}

type PayWay = 'alipay' | 'wechat' | 'paypal';

/** Ten scenes, each on its own day; a long run plays them three times. */
const DAYS = 10 * count(3, 1);
/** Closed refunds come back a week later. */
const MORE_DAYS = 9;

/** A month of a shop: each day has other transactions, and its bill is read on the next day. */
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
    /** An order over some ten yuan or dollars, and the shares that merchant and channel bear of it. */
    async paid(offers: { merchant?: number; channel?: number; share?: number } = {}): Promise<string> {
      const orderNo = await self.place();
      if (payWay !== 'paypal') await service.sim('/sim/offers', { orderNo, ...offers });
      await shop.pay(orderNo);
      return orderNo;
    },
    place(): Promise<string> {
      orders += 1;
      const currency = payWay === 'paypal' ? { currency: 'USD' } : {};
      return placeOrder(merchant, { payWay, amount: Number((10 + orders * 1.37).toFixed(2)), ...currency });
    },
    /** Requests a refund without waiting for it. */
    async ask(orderNo: string, refundAmount: number): Promise<string> {
      const { status, body } = await merchant.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount });
      t.true(status < 300, JSON.stringify(body));
      return body.data.refundNo;
    },
    async ended(orderNo: string, refundNo: string): Promise<void> {
      await until(`${refundNo} ended`, async () => {
        // Unfinished refunds are queried some minutes later.
        await self.later(60);
        await service.app.sweep.once();
        const refund = (await refundsOf(orderNo)).find((one) => one.refundNo === refundNo);
        return refund?.state === 'succeeded' || refund?.state === 'failed';
      });
    },
    async refund(orderNo: string, amount: number): Promise<void> {
      await self.ended(orderNo, await self.ask(orderNo, amount));
      // Refunds of one order must be at least a minute apart.
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
      // Back to noon, however long the day took.
      const now = service.clock.now().getTime();
      const noon = (Math.floor((now - 4 * 3_600_000) / 86_400_000) + 1) * 86_400_000 + 4 * 3_600_000;
      await self.later((noon - now) / 1000);
      // Yesterday's token has expired.
      merchant = await service.merchant();
      await service.app.bills.plan();
      for (let rest = 1; rest > 0;) rest = await service.app.bills.sweep.once();
      for (let rest = 1; rest > 0;) rest = await service.app.sweep.once();
    },
    settlement: (from: string, to: string): Promise<Settlement> =>
      settlement(service.app.ports)({ mode: 'simulator', payWay, from, to }),
    open: async () => (await shop.openDifferences()).map((line) => line.split(' ')[0]),
  };
  return self;
}

type Month = Awaited<ReturnType<typeof month>>;

/** A refund that the channel makes in three days. */
interface Slow {
  orderNo: string;
  refundNo: string;
}

/** The transactions of a day. */
const SCENES: Readonly<Record<string, (on: Month, at: 'alipay' | 'wechat') => Promise<Slow | void>>> = {
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
  test(`${payWay}: the settlement of each day equals the channel's own account statement to the fen`, async (t) => {
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
    for (const day of on.days) statements.set(day, await statementOf(on.service, payWay, day));
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
    t.deepEqual(await on.open(), [], 'no false difference opens');
  });

/** A refund from a week before was returned on this day. */
function isReturned(pending: Settlement['pendingRefunds'], day: string): boolean {
  return pending.some((one) => Date.parse(day) - Date.parse(one.day) === 7 * 86_400_000);
}

/** Amounts held at the end are completed within these days. */
const MORE_DAYS_AT_PAYPAL = 4;

/** An action that runs so many days later. */
type Later = readonly [days: number, act: () => Promise<void>];

/** The transactions of a day at PayPal, and their later endings. */
const PAYPAL_SCENES: Readonly<Record<string, (on: Month) => Promise<Later[] | void>>> = {
  'held and completed days later': async (on) => [await held(on, 3)],
  plain: async (on) => void (await on.paid()),
  async 'given back in parts, and whole'(on) {
    const [parts, whole] = [await on.paid(), await on.paid()];
    for (const amount of [1.01, 2.02]) await on.refund(parts, amount);
    const order = await on.service.app.store.read((tx) => tx.orders.find({ orderNo: whole }));
    await on.refund(whole, Number(order!.paid) / 100);
  },
  'disputed, held and released': async (on) => [await disputed(on, { hold: true }, 2, { act: 'win' })],
  'nothing at all': async () => {},
  'disputed, held and lost': async (on) => [await disputed(on, { hold: true, amount: 5 }, 2, { act: 'lose' })],
  async 'lost, and won after all'(on) {
    const [, lose] = await disputed(on, {}, 0, { act: 'lose' });
    await lose();
    const [, told] = await disputed(on, {}, 0, { act: 'lose', refund: 'told' });
    await told();
    const orderNo = await on.paid();
    const act = (action: string) => on.service.sim('/sim/dispute', { orderNo, act: action });
    await act('open');
    await act('lose');
    return [[3, async () => void (await act('win'))]];
  },
  async 'rows without an order'(on) {
    await on.plant('order_not_ours');
    await on.plant('withdrawal');
  },
  'held beyond the end': async (on) => [await held(on, 3)],
  async 'refunded in the portal, and held until the next day'(on) {
    await on.plant('refund_unknown_to_us', await on.paid());
    return [await held(on, 1)];
  },
};

/** A payment that PayPal holds for so many days; an unreported one is not awaited. */
async function held(on: Month, days: number, isTold = true): Promise<Later> {
  const { service } = on;
  const orderNo = await on.place();
  const order = () => service.app.store.read((tx) => tx.orders.find({ orderNo }));
  const word = 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION';
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'capture', fault: 'capture-pending', word });
  await service.sim('/sim/approve', { orderNo });
  const soon = (what: string, isSo: () => Promise<boolean>) =>
    until(what, async () => {
      await service.app.sweep.once();
      return isSo();
    });
  await soon(`${orderNo} held`, async () => (await order())?.captureState === 'pending');
  return [
    days,
    async () => {
      await service.sim('/sim/capture-state', { orderNo, state: 'completed' });
      if (!isTold) return;
      await soon(`${orderNo} paid`, async () => (await order())?.state === 'paid');
    },
  ];
}

/** A payment that is disputed, and the dispute's end so many days later. */
async function disputed(on: Month, opened: object, days: number, action: object): Promise<Later> {
  const orderNo = await on.paid();
  await on.service.sim('/sim/dispute', { orderNo, act: 'open', ...opened });
  return [days, async () => void (await on.service.sim('/sim/dispute', { orderNo, ...action }))];
}

/** The balance mismatches of every period of these days. */
async function disagreeing(on: Month, days: readonly string[]): Promise<Settlement['balances']> {
  const found: Settlement['balances'] = [];
  for (let from = 0; from < days.length; from += 1)
    for (let to = from; to < days.length; to += 1)
      found.push(...(await on.settlement(days[from]!, days[to]!)).balances);
  return found;
}

test('paypal: the lines of every period sum to the balance changes, and an omitted row is reported to the cent', async (t) => {
  const on = await month(t, 'paypal');
  const scenes = Object.values(PAYPAL_SCENES);
  const ends: { day: number; act: () => Promise<void> }[] = [];
  const pass = async (scene?: (on: Month) => Promise<Later[] | void>) => {
    const day = on.days.length;
    for (const [later, act] of (await scene?.(on)) ?? []) ends.push({ day: day + later, act });
    for (const { act } of ends.filter((one) => one.day === day)) await act();
    await on.nextDay();
  };
  for (let day = 0; day < DAYS; day += 1) await pass(scenes[day % scenes.length]);
  const days = [...on.days];
  t.deepEqual(await disagreeing(on, days), [], 'a payment is still held');
  for (let day = 0; day < MORE_DAYS_AT_PAYPAL; day += 1) await pass();
  t.deepEqual(await disagreeing(on, days), [], 'it was completed after the end');
  t.deepEqual(await disagreeing(on, on.days.slice(-MORE_DAYS_AT_PAYPAL - 2)), []);
  const [first, last] = [on.days[0]!, on.days.at(-1)!];
  t.like(await on.settlement(first, last), { missing: [], unchecked: [], balances: [], disagreements: [] });
  t.deepEqual(await on.open(), [], 'no false difference opens');

  const lost = on.today();
  const orderNo = await on.paid();
  await on.plant('paid_missing_at_channel');
  await pass();
  const { totals } = await on.settlement(lost, lost);
  t.deepEqual(totals, []);
  const paid = Number((await on.service.app.store.read((tx) => tx.orders.find({ orderNo })))!.paid);
  const net = paid - Math.floor((paid * 3) / 100);
  const of = { payWay: 'paypal', mode: 'simulator', currency: 'USD' } as const;
  t.like((await on.settlement(lost, lost)).balances, [{ ...of, from: lost, to: lost, balance: net, lines: 0 }]);
  const [whole, ...more] = (await on.settlement(first, lost)).balances;
  t.deepEqual(more, []);
  t.like(whole, { from: first, to: lost });
  t.is(whole!.balance - whole!.lines, net);
  t.deepEqual((await on.settlement(first, last)).balances, []);
  const ofProject = async (project: string) =>
    (await settlement(on.service.app.ports)({ mode: 'simulator', from: lost, to: lost, project: [project] })).balances;
  t.is((await ofProject('default')).length, 1);
  t.deepEqual(await ofProject('other'), []);
});

test('paypal: a held payment whose completion only the bill reports counts on the day of its completion', async (t) => {
  const on = await month(t, 'paypal');
  const [, complete] = await held(on, 1, false);
  await on.nextDay();
  await on.paid();
  await on.service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  await complete();
  await on.nextDay();
  t.deepEqual(await on.open(), []);
  t.is(await on.service.app.store.read((tx) => tx.billDifferences.count({ kind: 'paid_unknown_to_us' })), 1);
  t.deepEqual(await disagreeing(on, on.days), []);
  t.like((await on.settlement(on.days[0]!, on.days[1]!)).totals, [{ payments: 2 }]);
});

test('paypal: a day whose balances are refused is reported as unchecked, and the days around it are compared', async (t) => {
  const on = await month(t, 'paypal');
  const day = async (isRefused = false) => {
    await on.paid();
    if (isRefused) {
      const fault = { fault: 'refused', word: 'PERMISSION_DENIED', times: 100 };
      await on.service.sim('/sim/faults', { payWay: 'paypal', call: 'balances', ...fault });
    }
    await on.nextDay();
    await on.service.sim('/sim/reset-faults', {});
  };
  await day();
  await day();
  await day(true);
  const [first, before, refused] = on.days as [string, string, string];
  // The former balances of the day before, which was requested again, are gone too.
  const { unchecked, days, missing } = await on.settlement(first, refused);
  t.deepEqual(
    unchecked.map((one) => one.day),
    [before, refused],
  );
  t.deepEqual([days.length, missing], [3, []], 'its bill counts');
  await on.paid();
  await on.plant('paid_missing_at_channel');
  await on.nextDay();
  const { balances, ...rest } = await on.settlement(first, on.days.at(-1)!);
  t.deepEqual(
    rest.unchecked.map((one) => one.day),
    [before],
  );
  t.deepEqual(
    balances.map(({ from, to }) => [from, to]),
    [[refused, on.days.at(-1)!]],
  );
});
