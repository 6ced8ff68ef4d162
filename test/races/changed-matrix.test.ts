import { randomUUID } from 'node:crypto';
import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { configureAs, type Shop, deliver, messageAbout, paidUntold } from './changed-identity.ts';
import { count, isLong } from '../support/counts.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, type Answer } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';
import type { Delivery } from '../../server/simulator/notification.ts';

/** An order in flight when the configuration changes. */
interface Flight {
  orderNo: string;
  /** The channel's undelivered message from before the change. */
  message?: Delivery;
  /** A refund that was requested before the change. */
  refundNo?: string;
  /** Repeats the pay request, as a merchant does without a response. */
  repeat?: () => Promise<Answer>;
}

/**
 * How a payment became known: before the change, by a notification, or by a query. `not placed`: the repeated pay request was
 * refused, because the channel made an order of the new identity from it, and the payer received nothing.
 */
type Recognised = 'before' | 'notice' | 'asked' | 'not placed';

/** A moment in the life of an order: how it is reached, and how it continues under the changed configuration. */
interface Moment {
  name: string;
  arrive(on: Shop, order: Record<string, unknown>): Promise<Flight>;
  goOn(on: Shop, flight: Flight): Promise<Recognised>;
}

/** The moments of a configuration change, from before the payment to its refund. */
const MOMENTS: readonly Moment[] = [
  { name: 'before the order is placed', arrive: (on, order) => unanswered(on, order, '502'), goOn: repeated },
  {
    name: 'while the order is placed',
    arrive: (on, order) => unanswered(on, order, '500-after-commit'),
    goOn: repeated,
  },
  { name: 'placed', arrive: async (on, order) => ({ orderNo: await place(on, order) }), goOn: payAndTell },
  {
    name: 'opened by the payer',
    async arrive(on, order) {
      const orderNo = await place(on, order);
      await on.service.sim('/sim/scan', { orderNo });
      return { orderNo };
    },
    goOn: payAndTell,
  },
  {
    name: 'paid without a notification',
    async arrive(on, order) {
      const orderNo = await place(on, order);
      await on.service.sim('/sim/pay', { orderNo });
      return { orderNo };
    },
    goOn: ask,
  },
  {
    name: 'the notification is on its way',
    async arrive(on, order) {
      const orderNo = await place(on, order);
      return { orderNo, message: await paidUntold(on, orderNo) };
    },
    goOn: async (on, flight) => tell(on, flight.orderNo, flight.message!),
  },
  { name: 'known to be paid', arrive: known, goOn: async () => 'before' },
  { name: 'a refund is stored', arrive: (on, order) => refunding(on, order, '502'), goOn: async () => 'before' },
  {
    name: 'a refund is sent',
    arrive: (on, order) => refunding(on, order, '500-after-commit'),
    goOn: async () => 'before',
  },
  {
    name: 'a refund is processing',
    arrive: (on, order) => refunding(on, order, 'pending-refund'),
    async goOn({ service }, { orderNo, refundNo }) {
      await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'succeeded' });
      return 'before';
    },
  },
  { name: 'a refund has succeeded', arrive: (on, order) => refunding(on, order), goOn: async () => 'before' },
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

/** Delivers a message; one that is rejected or incomplete leads to a query. */
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
  throw new Error(`${orderNo} is paid at its channel and unknown to the service`);
}

async function known(on: Shop, order: Record<string, unknown>): Promise<Flight> {
  const orderNo = await place(on, order);
  await on.service.sim('/sim/pay', { orderNo });
  await tell(on, orderNo, await messageAbout(on, orderNo));
  return { orderNo };
}

/** A paid order with a refund of 4 of 10, optionally with a fault. */
async function refunding(on: Shop, order: Record<string, unknown>, fault?: string): Promise<Flight> {
  const { orderNo } = await known(on, order);
  const { service, shop, payWay } = on;
  if (fault) await service.sim('/sim/faults', { payWay, call: 'refund', orderNo, fault, times: 1 });
  const { status, body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const [refund] = await service.app.store.read((tx) => tx.refunds.list({ orderNo }));
  if (!refund) throw new Error(`refund: ${status} ${JSON.stringify(body)}`);
  return { orderNo, refundNo: refund.refundNo };
}

/** An administrator's change while orders are in flight: one row of the matrix. */
interface Change {
  payWay: Shop['payWay'];
  /** The `what` of `/sim/rotate`. */
  what: string;
  /** Replaced before the first order. */
  before?: string;
  /** Fields that the configuration leaves out before and after the change. */
  without?: { before?: string[]; after?: string[] };
  order?: () => Record<string, unknown>;
  /** When WeChat Pay's shop is a partner's sub-merchant; otherwise it is a direct merchant. */
  asPartner?: 'before' | 'after' | 'both';
  /** The channel has not seen the order yet, so its payee is the new one while the order is bound to the former. */
  isNotPlaced?: boolean;
  /** Part of every run; the other rows run only in a long one. */
  isSample?: boolean;
}

const byOpenId = (scene: string) => () => ({ scene, openId: `o${randomUUID()}` });

const CHANGES: readonly Change[] = [
  { payWay: 'wechat', what: 'app-id' },
  { payWay: 'wechat', what: 'app-id-jsapi', before: 'app-id-jsapi', order: byOpenId('jsapi') },
  { payWay: 'wechat', what: 'app-id-mini', before: 'app-id-mini', order: byOpenId('mini') },
  { payWay: 'wechat', what: 'app-id-app', before: 'app-id-app', order: () => ({ scene: 'app' }) },
  { payWay: 'wechat', what: 'api-v3-key', isSample: true },
  { payWay: 'wechat', what: 'merchant-certificate' },
  { payWay: 'wechat', what: 'platform-certificate' },
  { payWay: 'wechat', what: 'public-key' },
  {
    payWay: 'wechat',
    what: 'platform-certificate',
    without: { before: ['publicKeyId', 'wechat_public_key'], after: ['wechat_platform_cert'] },
  },
  {
    payWay: 'wechat',
    what: 'public-key',
    without: { before: ['wechat_platform_cert'], after: ['publicKeyId', 'wechat_public_key'] },
  },
  { payWay: 'wechat', what: 'sub-merchant', asPartner: 'after', isSample: true },
  { payWay: 'wechat', what: 'sub-merchant', before: 'sub-merchant', asPartner: 'both' },
  { payWay: 'wechat', what: 'sub-app-id', before: 'sub-merchant', asPartner: 'both' },
  { payWay: 'wechat', what: 'merchant-certificate', before: 'sub-merchant', asPartner: 'both' },
  { payWay: 'wechat', what: 'app-id', before: 'sub-merchant', asPartner: 'before' },
  { payWay: 'alipay', what: 'seller' },
  { payWay: 'alipay', what: 'merchant', before: 'merchant', isSample: true },
  { payWay: 'alipay', what: 'app-auth-token', before: 'merchant' },
  { payWay: 'alipay', what: 'app-key' },
  { payWay: 'alipay', what: 'alipay-key' },
  { payWay: 'alipay', what: 'sign-mode', without: { after: ['alipay_public_key'] } },
  {
    payWay: 'alipay',
    what: 'sign-mode',
    before: 'sign-mode',
    without: { before: ['alipay_public_key'], after: ['alipay_app_cert', 'alipay_public_cert', 'alipay_root_cert'] },
  },
  { payWay: 'paypal', what: 'merchant', isNotPlaced: true, isSample: true },
  { payWay: 'paypal', what: 'clientSecret' },
  { payWay: 'paypal', what: 'certificate' },
];

const matrix: { row: string; cells: Recognised[] }[] = [];
test.after('the matrix', (t) => {
  const cells = matrix.flatMap((row) => row.cells);
  t.log(
    [
      `of ${MOMENTS.length} moments each: ${MOMENTS.map(({ name }) => name).join(' | ')}`,
      ...matrix.map(({ row, cells: said }) => `${row}: ${said.join(' | ')}`),
    ].join('\n'),
  );
  t.is(cells.length, matrix.length * MOMENTS.length);
});

for (const change of CHANGES.filter(({ isSample }) => isLong || isSample)) {
  const { payWay, what, before, without = {}, order, asPartner, isNotPlaced = false } = change;
  const partner = asPartner ? ` (a partner ${asPartner})` : '';
  const row = `${payWay} ${what}${without.after ? ` without ${without.after.join(' and ')}` : ''}${partner}`;
  const accountAt = (time: 'before' | 'after') => (asPartner === time || asPartner === 'both' ? 'partner' : 'default');

  test.serial(`${row}: every payment is recognised and refunded at every moment of the change`, async (t) => {
    const simulator = await ownSimulator(t);
    const service = await startService(t, { simulator });
    const { logIn } = await firstAdmin(service);
    const shop = await service.merchant();
    const on: Shop = { service, shop, logIn, payWay };
    await service.sim('/sim/notices', { payWay, enabled: false });
    if (asPartner) await service.sim('/sim/accounts', { payWay, name: 'partner', partner: true });
    await placeOrder(shop, { payWay });
    if (before ?? without.before) await configureAs(on, accountAt('before'), before ?? what, without.before);

    const flights: { at: (typeof MOMENTS)[number]; flight: Flight }[] = [];
    for (const at of MOMENTS)
      for (let copy = 0; copy < count(3, 1); copy += 1)
        flights.push({ at, flight: await at.arrive(on, order?.() ?? {}) });
    await configureAs(on, accountAt('after'), what, without.after);

    const cells: Recognised[] = [];
    const paid: typeof flights = [];
    for (const { at, flight } of flights) {
      const recognised = await at.goOn(on, flight);
      if (flights.find((one) => one.at === at)?.flight === flight) cells.push(recognised);
      t.is(recognised === 'not placed', at === MOMENTS[0] && isNotPlaced, at.name);
      if (recognised !== 'not placed') paid.push({ at, flight });
      t.is(await stateOf(service, flight.orderNo), recognised === 'not placed' ? 'created' : 'paid', at.name);
    }
    matrix.push({ row, cells });

    await runUntilQuiet(service, 1800, 120);
    for (const { at, flight } of paid) {
      const { orderNo, refundNo } = flight;
      const found = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
      t.is(found?.refunding, 0n, `${at.name}: the refund from before has ended`);
      t.is(found?.refunded, refundNo ? 400n : 0n, `${at.name}: the refund from before is done`);
      const wanted = { orderNo, refundAmount: refundNo ? 6 : 10 };
      const { status, body } = await shop.call('POST', '/api/v2/payment/refund', wanted);
      t.true([200, 201, 202].includes(status), `${at.name}: ${status} ${JSON.stringify(body)}`);
    }
    await runUntilQuiet(service, 3600, 120);
    const ledger = await ledgerOf(service);
    for (const { at, flight } of paid) t.like(ledger.get(flight.orderNo), { paid: 1000, refunded: 1000 }, at.name);
    t.deepEqual(await unexplained(service), []);
    await assertLedgersMatch(t, service);
  });
}
