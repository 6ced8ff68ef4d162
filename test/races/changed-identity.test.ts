import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { accept, configure, deliver, messageAbout, paidUntold, post, type Shop } from './changed-identity.ts';
import { createForger, type Facts } from './forge.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';
import { withOrder } from './wrong-notifications.ts';
import { ownSimulator } from '../support/simulator.ts';

/** An account change by an administrator while orders are in flight, and the keys that are replaced afterwards. */
interface Change {
  payWay: 'alipay' | 'wechat' | 'paypal';
  name: string;
  /** Replaced before the first order. */
  before?: string;
  what: string;
  keys: string;
  /** Fields that the configuration leaves out. */
  without?: string[];
  /** The notification member that names the identity. */
  named?: string;
  /** Further fields of an order. */
  order?: () => Record<string, unknown>;
}

/** A new payer each time: an openid belongs to one app. */
const byOfficialAccount = () => ({ scene: 'jsapi', openId: `o${randomUUID()}` });

const CHANGES: readonly Change[] = [
  { payWay: 'wechat', name: 'appId', what: 'app-id', keys: 'api-v3-key', named: 'appid' },
  {
    payWay: 'wechat',
    name: 'appIdJsapi',
    before: 'app-id-jsapi',
    what: 'app-id-jsapi',
    keys: 'api-v3-key',
    named: 'appid',
    order: byOfficialAccount,
  },
  { payWay: 'alipay', name: 'sellerId', what: 'seller', keys: 'app-key', named: 'seller_id' },
  {
    payWay: 'alipay',
    name: 'appAuthToken and sellerId',
    before: 'merchant',
    what: 'merchant',
    keys: 'app-key',
    named: 'seller_id',
  },
  {
    payWay: 'alipay',
    name: 'appAuthToken',
    before: 'merchant',
    what: 'merchant',
    keys: 'app-key',
    without: ['sellerId'],
  },
  { payWay: 'paypal', name: 'merchantId', what: 'merchant', keys: 'clientSecret' },
];

async function stage(t: ExecutionContext, payWay: Change['payWay']): Promise<Shop & { dir: string }> {
  const simulator = await ownSimulator(t);
  const { dir } = simulator;
  const service = await startService(t, { simulator });
  await service.sim('/sim/notices', { payWay, enabled: false });
  const { logIn } = await firstAdmin(service);
  const shop = await service.merchant();
  // The response makes the simulator's configuration current.
  await placeOrder(shop, { payWay });
  return { service, shop, logIn, payWay, dir };
}

/** The same facts about another order, under its own number. */
function aboutOrder(payWay: Change['payWay'], facts: Facts, orderNo: string): Facts {
  const number = payWay === 'alipay' ? 'trade_no' : 'transaction_id';
  return { ...withOrder(payWay, facts, orderNo, ''), [number]: `T${orderNo}` };
}

for (const change of CHANGES) {
  const { payWay, name, before, what, keys, without, named, order } = change;

  test(`${payWay}: orders in flight keep the ${name} that they began with, and use the newest keys`, async (t) => {
    const on = await stage(t, payWay);
    const { service, shop } = on;
    if (before) await configure(on, before, without);
    const place = () => placeOrder(shop, { payWay, ...order?.() });
    const [told, asked, later, unpaid, closing] = [
      await place(),
      await place(),
      await place(),
      await place(),
      await place(),
    ];
    const paid = await place();
    t.is(await deliver(on, await paidUntold(on, paid)), 200);
    t.is(await stateOf(service, paid), 'paid');
    const notificationOfTold = await paidUntold(on, told);
    await service.sim('/sim/pay', { orderNo: asked });
    await service.sim('/sim/faults', { payWay, call: 'close', orderNo: closing, fault: '502', times: 1 });
    const isClosing = payWay !== 'paypal';
    if (isClosing) {
      const close = await shop.call('POST', `/api/v2/payment/close/${closing}`);
      t.is(close.body.data.status, 'closing', JSON.stringify(close.body));
      await service.sim('/sim/pay', { orderNo: closing });
    }

    await configure(on, what, without);
    const fresh = await place();
    t.is(await deliver(on, notificationOfTold), 200, 'a notification of the former identity');
    t.is(await stateOf(service, told), 'paid', 'recognised by its notification');
    // The response to the create is no longer fresh.
    service.clock.advance(6);
    const answer = await shop.call('GET', `/api/v2/payment/query/${asked}`);
    if (payWay === 'paypal')
      await until('the approved order is captured', async () => {
        await service.app.sweep.once();
        return (await stateOf(service, asked)) === 'paid';
      });
    else t.is(answer.body.data.status, 'paid', 'recognised by a query');
    if (isClosing)
      await until('a payment during the close is recognised', async () => {
        service.clock.advance(61);
        await service.app.sweep.once();
        return (await stateOf(service, closing)) === 'closed';
      });
    for (const orderNo of [paid, told]) await accept(t, on, orderNo);

    t.is(await deliver(on, await paidUntold(on, fresh)), 200);
    t.is(await stateOf(service, fresh), 'paid', 'a new order has the new identity');
    if (named) {
      const forger = createForger(on.dir);
      const [old, present] = [told, fresh].map(async (orderNo) => forger.factsOf(await messageAbout(on, orderNo)));
      const identities: unknown[] = [(await old!)[named], (await present!)[named]];
      t.not(identities[0], identities[1]);
    }

    await configure(on, keys, without);
    t.is(await deliver(on, await paidUntold(on, later)), 200, 'a notification after the keys changed');
    t.is(await stateOf(service, later), 'paid');
    for (const orderNo of [asked, fresh, later]) await accept(t, on, orderNo);
    if (payWay === 'wechat')
      t.is((await shop.call('POST', `/api/v2/payment/close/${unpaid}`)).body.data.status, 'closed');
    await runUntilQuiet(service, 3600, 300);
    const ledger = await ledgerOf(service);
    for (const orderNo of [paid, told, asked, fresh, later]) t.is(ledger.get(orderNo)?.refunded, 1000, orderNo);
    if (isClosing) t.is(ledger.get(closing)?.refunded, 1000, 'the payment of a closing order was refunded');
    await assertLedgersMatch(t, service);
  });
}

for (const payWay of ['wechat', 'alipay'] as const)
  test(`${payWay}: a notification of one identity pays no order of another`, async (t) => {
    const on = await stage(t, payWay);
    const { service, shop } = on;
    const forger = createForger(on.dir);
    const factsOf = async (orderNo: string): Promise<Facts> => forger.factsOf(await paidUntold(on, orderNo));
    const forge = async (facts: Facts, orderNo: string) =>
      post(on, await forger.sign(payWay, 'default', aboutOrder(payWay, facts, orderNo)));
    for (const { name, before, what, order } of CHANGES.filter((one) => one.payWay === payWay && one.named)) {
      const place = () => placeOrder(shop, { payWay, ...order?.() });
      const states = () => Promise.all([ofA, ofB].map((orderNo) => stateOf(service, orderNo)));
      if (before) await configure(on, before);
      const [ofA, donorA] = [await place(), await place()];
      await configure(on, what);
      const [ofB, donorB] = [await place(), await place()];
      const [byA, byB] = [await factsOf(donorA), await factsOf(donorB)];
      t.not(await forge(byB, ofA), 200, name);
      t.not(await forge(byA, ofB), 200, name);
      t.deepEqual(await states(), ['pending', 'pending'], name);
      t.is(await service.app.store.read((tx) => tx.notifications.count({ orderNo: [ofA, ofB] })), 0, name);
      t.is(await forge(byA, ofA), 200, `each pays its own: ${name}`);
      t.is(await forge(byB, ofB), 200, name);
      t.deepEqual(await states(), ['paid', 'paid'], name);
    }
  });

test("alipay: an order with a merchant id accepts only that merchant's notifications, although earlier orders had none", async (t) => {
  const on = await stage(t, 'alipay');
  const { service, shop } = on;
  const forger = createForger(on.dir);
  const place = () => placeOrder(shop, { payWay: 'alipay' });
  await configure(on, 'merchant', ['sellerId']);
  const ofAnybody = await place();
  await configure(on, 'merchant');
  const [ofOne, donor] = [await place(), await place()];
  const facts = forger.factsOf(await paidUntold(on, donor));
  const another = { ...facts, seller_id: '2088999999999999' };
  const forge = async (said: Facts, orderNo: string) =>
    post(on, await forger.sign('alipay', 'default', aboutOrder('alipay', said, orderNo)));
  t.not(await forge(another, ofOne), 200);
  t.is(await stateOf(service, ofOne), 'pending');
  t.is(await forge(another, ofAnybody), 200);
  t.is(await stateOf(service, ofAnybody), 'paid');
  t.is(await forge(facts, ofOne), 200);
});

test('alipay: a refreshed token is used for the orders made with its predecessor, even if other tokens came later', async (t) => {
  const on = await stage(t, 'alipay');
  const { service, shop } = on;
  const place = () => placeOrder(shop, { payWay: 'alipay' });
  await configure(on, 'merchant');
  const [asked, paid] = [await place(), await place()];
  await deliver(on, await paidUntold(on, paid));
  await configure(on, 'app-auth-token');
  await service.sim('/sim/pay', { orderNo: asked });
  service.clock.advance(6);
  t.is((await shop.call('GET', `/api/v2/payment/query/${asked}`)).body.data.status, 'paid');
  await configure(on, 'merchant');
  for (const orderNo of [asked, paid]) await accept(t, on, orderNo);
  await runUntilQuiet(service, 600, 120);
  const ledger = await ledgerOf(service);
  for (const orderNo of [asked, paid]) t.is(ledger.get(orderNo)?.refunded, 1000, orderNo);
});

test('wechat: an app that is removed from the configuration leaves none of its orders stuck', async (t) => {
  const on = await stage(t, 'wechat');
  const { service, shop } = on;
  await configure(on, 'app-id-jsapi');
  const place = () => placeOrder(shop, { payWay: 'wechat', ...byOfficialAccount() });
  const [told, asked, repeated] = [await place(), await place(), await place()];
  await configure(on, 'api-v3-key', ['appIdJsapi']);
  t.is(await deliver(on, await paidUntold(on, told)), 200);
  await service.sim('/sim/pay', { orderNo: asked });
  service.clock.advance(6);
  t.is((await shop.call('GET', `/api/v2/payment/query/${asked}`)).body.data.status, 'paid');
  t.is((await shop.call('POST', `/api/v2/payment/close/${repeated}`)).body.data.status, 'closed');
});
