import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { accept, configureAs, deliver, messageAbout, paidUntold, post, type Shop } from './changed-identity.ts';
import { createForger, type Facts } from './forge.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';
import { withOrder } from './wrong-notifications.ts';
import { ownSimulator } from '../support/simulator.ts';

/** A shop whose administrator can make it a direct merchant or a partner's sub-merchant; the test delivers notifications. */
async function stage(t: ExecutionContext): Promise<Shop & { dir: string }> {
  const simulator = await ownSimulator(t);
  const { dir } = simulator;
  const service = await startService(t, { simulator });
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  await service.sim('/sim/accounts', { payWay: 'wechat', name: 'partner', partner: true });
  const { logIn } = await firstAdmin(service);
  const shop = await service.merchant();
  // The response makes the simulator's configuration current.
  await placeOrder(shop, { payWay: 'wechat' });
  return { service, shop, logIn, payWay: 'wechat', dir };
}

/** The orders placed under one configuration that are in flight when the next one comes. */
interface InFlight {
  told: string;
  asked: string;
  unpaid: string;
  paid: string;
  closing: string;
}

async function placeAll({ service, shop }: Shop): Promise<InFlight> {
  const place = () => placeOrder(shop, { payWay: 'wechat' });
  const orders = {
    told: await place(),
    asked: await place(),
    unpaid: await place(),
    paid: await place(),
    closing: await place(),
  };
  const fault = { payWay: 'wechat', call: 'close', orderNo: orders.closing, fault: '502', times: 1 };
  await service.sim('/sim/faults', fault);
  const close = await shop.call('POST', `/api/v2/payment/close/${orders.closing}`);
  if (close.body.data.status !== 'closing') throw new Error(`close: ${JSON.stringify(close.body)}`);
  await service.sim('/sim/pay', { orderNo: orders.closing });
  return orders;
}

/** Settles every kind of order in flight: a notification, a query, a close, a lost close, a refund. */
async function settleAll(t: ExecutionContext, on: Shop, { told, asked, unpaid, paid, closing }: InFlight) {
  const { service, shop } = on;
  t.is(await deliver(on, await paidUntold(on, told)), 200, 'its notification');
  t.is(await stateOf(service, told), 'paid');
  await service.sim('/sim/pay', { orderNo: asked });
  service.clock.advance(6);
  t.is((await shop.call('GET', `/api/v2/payment/query/${asked}`)).body.data.status, 'paid');
  t.is((await shop.call('POST', `/api/v2/payment/close/${unpaid}`)).body.data.status, 'closed');
  await until('a payment during the close is recognised', async () => {
    service.clock.advance(61);
    await service.app.sweep.once();
    return (await stateOf(service, closing)) === 'closed';
  });
  for (const orderNo of [paid, told, asked]) await accept(t, on, orderNo);
}

async function subMchidOf({ service }: Shop, orderNo: string): Promise<unknown> {
  const { details } = (await service.sim(`/sim/trades/${orderNo}`)) as unknown as { details: Record<string, unknown> };
  return details['subMchid'];
}

/** The steps from one configuration to the next; each begins with orders in flight under the one before. */
const STEPS = [
  { name: 'a direct merchant', account: 'default', what: 'api-v3-key' },
  { name: 'a merchant of a partner', account: 'partner', what: 'public-key' },
  { name: 'another merchant of the partner', account: 'partner', what: 'sub-merchant' },
  { name: 'its own app', account: 'partner', what: 'sub-app-id' },
  { name: 'new keys of the partner', account: 'partner', what: 'api-v3-key' },
  { name: 'a direct merchant again', account: 'default', what: 'api-v3-key' },
];

test('orders in flight keep their merchant across changes between direct, partner and sub-merchants', async (t) => {
  const on = await stage(t);
  const { service } = on;
  const flights: InFlight[] = [];
  const subs: unknown[] = [];
  for (const { name, account, what } of STEPS) {
    await configureAs(on, account, what);
    const orders = await placeAll(on);
    t.is(await deliver(on, await paidUntold(on, orders.paid)), 200, name);
    t.is(await stateOf(service, orders.paid), 'paid', name);
    flights.push(orders);
    subs.push(await subMchidOf(on, orders.paid));
  }
  const [direct, first, second, withApp, newKeys, again] = subs;
  t.deepEqual([direct, again], [undefined, undefined]);
  t.truthy(first);
  t.truthy(second);
  t.not(first, second);
  t.deepEqual([withApp, newKeys], [second, second]);

  for (const orders of flights) await settleAll(t, on, orders);
  await runUntilQuiet(service, 3600, 60);
  const ledger = await ledgerOf(service);
  for (const { told, asked, paid, closing } of flights)
    for (const orderNo of [told, asked, paid, closing]) t.is(ledger.get(orderNo)?.refunded, 1000, orderNo);
  await assertLedgersMatch(t, service);
});

test('one app serves two sub-merchants: a notification of one pays and refunds no order of the other', async (t) => {
  const on = await stage(t);
  const { service, shop } = on;
  const forger = createForger(on.dir);
  const place = () => placeOrder(shop, { payWay: 'wechat' });
  const factsOf = async (orderNo: string): Promise<Facts> => forger.factsOf(await paidUntold(on, orderNo));
  const aboutOrder = (facts: Facts, orderNo: string): Facts => ({
    ...withOrder('wechat', facts, orderNo, ''),
    transaction_id: `T${orderNo}`,
  });
  const forge = async (facts: Facts, event = 'TRANSACTION.SUCCESS') =>
    post(on, await forger.sign('wechat', 'partner', facts, { event, id: randomUUID() }));

  const [ofDirect] = [await place()];
  await configureAs(on, 'partner', 'public-key');
  const [ofA, donorA] = [await place(), await place()];
  await configureAs(on, 'partner', 'sub-merchant');
  const [ofB, donorB] = [await place(), await place()];
  const [byA, byB] = [await factsOf(donorA), await factsOf(donorB)];
  t.is(byA['sp_appid'], byB['sp_appid']);
  t.is(byA['sp_mchid'], byB['sp_mchid']);
  t.not(byA['sub_mchid'], byB['sub_mchid']);

  const { sp_appid: appid, sp_mchid: mchid, sub_mchid: _sub, ...rest } = byA;
  for (const [facts, orderNo] of [
    [byB, ofA],
    [byA, ofB],
    [byA, ofDirect],
    [{ ...byA, sub_mchid: undefined }, ofA],
    [{ ...byA, sub_mchid: '1900000999' }, ofA],
    [{ ...byA, sp_mchid: '1900000999' }, ofA],
    [{ ...rest, appid, mchid }, ofA],
  ] as const)
    // An accepted message would be 200, or 503 until the channel confirms it.
    t.is(await forge(aboutOrder(facts, orderNo)), 400);
  const states = () => Promise.all([ofA, ofB, ofDirect].map((orderNo) => stateOf(service, orderNo)));
  t.deepEqual(await states(), ['pending', 'pending', 'pending']);
  t.is(await service.app.store.read((tx) => tx.notifications.count({ orderNo: [ofA, ofB, ofDirect] })), 0);

  for (const orderNo of [ofA, ofB]) t.is(await deliver(on, await paidUntold(on, orderNo)), 200, 'each pays its own');
  t.deepEqual(await states(), ['paid', 'paid', 'pending']);

  const refund = {
    sp_mchid: byA['sp_mchid'],
    sub_mchid: byB['sub_mchid'],
    out_trade_no: ofA,
    transaction_id: 'T1',
    refund_id: '50300000000000000000000000001',
    out_refund_no: 'R-elsewhere',
    refund_status: 'SUCCESS',
    success_time: '2030-01-01T00:00:00+08:00',
    user_received_account: 'somebody',
    amount: { total: 1000, refund: 400, payer_total: 1000, payer_refund: 400 },
  };
  const asked = async () => service.app.store.read((tx) => tx.refundLookups.list({ orderNo: ofA }));
  t.is(await forge(refund, 'REFUND.SUCCESS'), 400);
  t.deepEqual(await asked(), []);
  t.is(await forge({ ...refund, sub_mchid: byA['sub_mchid'] }, 'REFUND.SUCCESS'), 200);
  const [question, ...others] = await asked();
  t.deepEqual(others, []);
  t.like(question, { number: 'R-elsewhere', lastAnswer: 'absent' }, 'the channel is queried and has no refund');
});

test("two projects with one partner and different sub-merchants do not accept each other's notifications", async (t) => {
  const on = await stage(t);
  const { service } = on;
  const admin = await on.logIn();
  const made = await admin.call('POST', '/api/v1/projects', { code: 'other', name: 'Other' });
  t.true(made.status < 300, JSON.stringify(made.body));
  await configureAs(on, 'partner', 'public-key');
  await configureAs({ ...on, project: 'other' }, 'partner', 'sub-merchant');
  const orderNo = await placeOrder(on.shop, { payWay: 'wechat' });
  const message = await paidUntold(on, orderNo);
  const sent = { method: 'POST', headers: message.headers, body: Buffer.from(message.bodyBase64, 'base64') };
  const elsewhere = await fetch(`${service.url}/notify/wechat/other`, sent);
  t.not(elsewhere.status, 200);
  t.is(await stateOf(service, orderNo), 'pending');
  t.is(await deliver(on, await messageAbout(on, orderNo)), 200);
  t.is(await stateOf(service, orderNo), 'paid');
});
