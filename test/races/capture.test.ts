import test, { type ExecutionContext } from 'ava';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { startInBetween } from '../support/in-between.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Service, type ServiceOptions } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

const payWay = 'paypal';

async function stage(t: ExecutionContext, options: ServiceOptions = {}) {
  const service = await startService(t, options);
  const shop = await service.merchant();
  await service.sim('/sim/notices', { payWay, enabled: false });
  return { service, shop };
}

const ends: (() => unknown)[] = [];
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

let common: ReturnType<typeof startService> | undefined;

/** The replica of serial tests, which do not disturb each other, and a shop with a new token. */
async function commonStage() {
  const service = await (common ??= startService({ teardown: (end) => void ends.push(end) }));
  await service.sim('/sim/notices', { payWay, enabled: false });
  return { service, shop: await service.merchant() };
}

/** PayPal receives no capture before `goOn`. */
async function heldCapture(t: ExecutionContext) {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<undefined>();
  const hold = (_method: string, path: string) => {
    if (!path.endsWith('/capture')) return undefined;
    asked.resolve();
    return gate.promise;
  };
  const simulator = await startInBetween(t, (await ownSimulator(t)).url, hold);
  // No time-out may fire while the capture is held.
  return {
    ...(await stage(t, { simulator, timeoutMs: 60_000 })),
    asked: asked.promise,
    goOn: () => gate.resolve(undefined),
  };
}

async function rowOf({ app }: Service, orderNo: string): Promise<OrderRow> {
  const row = await app.store.read((tx) => tx.orders.find({ orderNo }));
  if (!row) throw new Error(`There is no order ${orderNo}.`);
  return row;
}

/** The payer's browser returns from PayPal with its order number. */
async function comeBack(service: Service, orderNo: string): Promise<number> {
  const { channelOrderId } = await rowOf(service, orderNo);
  const answer = await fetch(`${service.url}/return/paypal/${orderNo}?token=${channelOrderId}`);
  await answer.text();
  return answer.status;
}

/** Delays either side of a race by a few network turns, so that either can win. */
async function after<T>(turns: number, work: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns * 3; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return work();
}

test('a return page, a webhook, a query and jobs at the same time capture once', async (t) => {
  const { service, shop } = await stage(t);
  const orders = count(100, 12);
  // On a slow machine no capture outlives its lease.
  service.clock.stop();
  const seen = await inParallel(orders, 4, async (index) => {
    const orderNo = await placeOrder(shop, { payWay, amount: 10 });
    await service.sim('/sim/approve', { orderNo });
    await service.sim('/sim/notices', { payWay, enabled: true });
    await service.app.store.autocommit((tx) =>
      tx.orders.update({ orderNo }, { checkedAt: null, nextCheckAt: service.clock.now() }),
    );
    await Promise.all([
      after(index % 3, () => comeBack(service, orderNo)),
      after(index % 2, () => comeBack(service, orderNo)),
      after((index * 5) % 4, () => service.sim('/sim/notify', { orderNo, times: 2 })),
      after((index * 7) % 5, () => shop.call('GET', `/api/v2/payment/query/${orderNo}`)),
      after((index * 3) % 4, () => service.app.sweep.once()),
    ]);
    return orderNo;
  });
  for (const orderNo of seen)
    await until(`${orderNo} paid`, async () => {
      service.clock.advance(10);
      await service.app.sweep.once();
      return (await stateOf(service, orderNo)) === 'paid';
    });
  const ledger = await ledgerOf(service);
  for (const orderNo of seen) t.is(ledger.get(orderNo)?.payments, 1, `${orderNo}: one capture`);
  await assertLedgersMatch(t, service);
  const transitions = await service.app.store.read((tx) => tx.transitions.list({ toState: 'paid' }));
  t.is(transitions.length, orders);
  const rows = await service.app.store.read((tx) => tx.orders.list({ orderNo: seen }));
  const twice = rows.filter(({ captures }) => captures !== 1).map(({ orderNo, captures }) => `${orderNo}: ${captures}`);
  t.deepEqual(twice, [], 'no two captures run concurrently');
  t.log(`${orders} orders, five sides each: one capture each`);
});

test('a close that races a capture never leaves an order both captured and closed without a refund', async (t) => {
  const { service, shop } = await stage(t);
  const races = count(100, 10);
  const seen = await inParallel(races, 4, async (index) => {
    const orderNo = await placeOrder(shop, { payWay, amount: 10 });
    await service.sim('/sim/approve', { orderNo });
    const [closed] = await Promise.all([
      after(index % 4, () => shop.call('POST', `/api/v2/payment/close/${orderNo}`)),
      after((index * 3) % 5, () => comeBack(service, orderNo)),
    ]);
    t.true(closed.status === 200 || closed.body.code === 'order_already_paid', JSON.stringify(closed.body));
    return { orderNo, refusedAsPaid: closed.status === 409 };
  });
  await runUntilQuiet(service, 4 * 86_400, 12 * 3600);
  const ledger = await ledgerOf(service);
  for (const { orderNo, refusedAsPaid } of seen) {
    t.is(await stateOf(service, orderNo), refusedAsPaid ? 'paid' : 'closed', orderNo);
    const { paid = 0, refunded = 0 } = ledger.get(orderNo) ?? {};
    t.is(paid - refunded, refusedAsPaid ? 1000 : 0, `${orderNo}: the ledger agrees`);
  }
  t.deepEqual(await unexplained(service), []);
  await assertLedgersMatch(t, service);
  t.log(`${races} races: ${seen.filter(({ refusedAsPaid }) => refusedAsPaid).length} captured first`);
});

test('a close during a pending capture returns closing, and the money is refunded', async (t) => {
  const { service, shop, asked, goOn } = await heldCapture(t);
  const orderNo = await placeOrder(shop, { payWay, amount: 10 });
  await service.sim('/sim/approve', { orderNo });
  const back = comeBack(service, orderNo);
  await asked;
  const closed = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  t.is(closed.status, 200);
  t.is(closed.body.data.status, 'closing');
  goOn();
  await back;
  await until('the capture was answered', async () => (await rowOf(service, orderNo)).captureState !== 'live');
  await runUntilQuiet(service, 86_400, 3 * 3600);
  const row = await rowOf(service, orderNo);
  t.is(row.state, 'closed');
  const ledger = (await ledgerOf(service)).get(orderNo);
  t.deepEqual([ledger?.paid, ledger?.refunded], [1000, 1000]);
  await assertLedgersMatch(t, service);
});

test('a payment placed again while its capture is pending returns the order', async (t) => {
  const { service, shop, asked, goOn } = await heldCapture(t);
  // PayPal approves this amount at once, so the response never has payment parameters.
  const order = { payWay, amount: '0.01', subject: 'approved at once', merchantOrderNo: 'once' };
  const first = shop.call('POST', '/api/v2/payment/pay', order);
  await asked;
  const { status, body } = await shop.call('POST', '/api/v2/payment/pay', order);
  goOn();
  t.deepEqual([status, body.data?.status], [201, 'pending'], JSON.stringify(body));
  t.like((await first).body.data, { orderNo: body.data.orderNo, status: 'paid' });
  t.is((await ledgerOf(service)).get(body.data.orderNo)?.payments, 1, 'one capture');
  await assertLedgersMatch(t, service);
});

test.serial('a capture that PayPal reviews does not expire and is paid when the review ends', async (t) => {
  const { service, shop } = await commonStage();
  const orderNo = await placeOrder(shop, { payWay, amount: 10, expireSeconds: 120 });
  await service.sim('/sim/approve', { orderNo });
  await service.sim('/sim/faults', { payWay, call: 'capture', fault: 'capture-pending', times: 1 });
  await comeBack(service, orderNo);
  t.like(await rowOf(service, orderNo), { state: 'pending', captureState: 'pending', captures: 1 });
  for (let round = 0; round < 4; round += 1) {
    service.clock.advance(1800);
    await service.app.sweep.once();
  }
  t.like(await rowOf(service, orderNo), { state: 'pending', captureState: 'pending', captures: 1 });
  await service.sim('/sim/clock', { advanceSeconds: 120 });
  await until('paid', async () => {
    service.clock.advance(1800);
    await service.app.sweep.once();
    return (await stateOf(service, orderNo)) === 'paid';
  });
  await assertLedgersMatch(t, service);
});

test.serial(
  'a close of an order whose capture is reviewed returns closing, and the money is refunded when it arrives',
  async (t) => {
    const { service, shop } = await commonStage();
    const orderNo = await placeOrder(shop, { payWay, amount: 10 });
    await service.sim('/sim/approve', { orderNo });
    await service.sim('/sim/faults', { payWay, call: 'capture', fault: 'capture-pending', times: 1 });
    await comeBack(service, orderNo);
    const closed = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
    t.is(closed.status, 200);
    t.is(closed.body.data.status, 'closing');
    service.clock.advance(1800);
    await service.app.sweep.once();
    t.is(await stateOf(service, orderNo), 'closing', 'it waits for the review');
    await runUntilQuiet(service, 2 * 86_400, 3 * 3600);
    t.is(await stateOf(service, orderNo), 'closed');
    const ledger = (await ledgerOf(service)).get(orderNo);
    t.deepEqual([ledger?.paid, ledger?.refunded], [1000, 1000]);
    await assertLedgersMatch(t, service);
  },
);

test.serial('a payment approved at its expiry is captured unless a close was requested', async (t) => {
  const { service, shop } = await commonStage();
  const [kept, given] = [
    await placeOrder(shop, { payWay, amount: 10, expireSeconds: 120 }),
    await placeOrder(shop, { payWay, amount: 10, expireSeconds: 120 }),
  ];
  for (const orderNo of [kept, given]) await service.sim('/sim/approve', { orderNo });
  await service.sim('/sim/faults', { payWay, call: 'query', fault: 'timeout', times: 1, orderNo: given, delayMs: 10 });
  t.is((await shop.call('POST', `/api/v2/payment/close/${given}`)).status, 200);
  for (let round = 0; round < 12; round += 1) {
    service.clock.advance(120);
    await service.app.sweep.once();
  }
  t.is(await stateOf(service, kept), 'paid');
  t.is(await stateOf(service, given), 'closed');
  const ledger = await ledgerOf(service);
  t.deepEqual(
    [kept, given].map((orderNo) => ledger.get(orderNo)?.paid ?? 0),
    [1000, 0],
  );
  await assertLedgersMatch(t, service);
});

test.serial('a capture that PayPal finally declines takes no money and is not retried', async (t) => {
  const { service, shop } = await commonStage();
  const orderNo = await placeOrder(shop, { payWay, amount: 10 });
  await service.sim('/sim/approve', { orderNo });
  await service.sim('/sim/faults', { payWay, call: 'capture', fault: 'capture-declined', probability: 1, orderNo });
  await comeBack(service, orderNo);
  await runUntilQuiet(service, 4 * 3600, 1800);
  t.like(await rowOf(service, orderNo), { state: 'closed', captures: 1, paid: 0n });
  await assertLedgersMatch(t, service);
});

test.serial('a payment placed again while PayPal reviews its capture returns the order', async (t) => {
  const { service, shop } = await commonStage();
  await service.sim('/sim/faults', { payWay, call: 'capture', fault: 'capture-pending', times: 1 });
  const order = { payWay, amount: '0.01', subject: 'approved at once', merchantOrderNo: 'once' };
  for (const time of ['first', 'again']) {
    const { status, body } = await shop.call('POST', '/api/v2/payment/pay', order);
    t.deepEqual([status, body.data?.status], [201, 'pending'], `${time}: ${JSON.stringify(body)}`);
  }
  const [row] = await service.app.store.read((tx) => tx.orders.list({ merchantOrderNo: 'once' }));
  t.like(row, { captureState: 'pending', captures: 1 });
});

test('an inconclusive capture refusal is not retried at every check', async (t) => {
  const refusal = {
    name: 'UNPROCESSABLE_ENTITY',
    details: [{ issue: 'SOMETHING_NEW', description: 'Nobody knows.' }],
  };
  let tries = 0;
  let declines = true;
  const simulator = await ownSimulator(t);
  const between = await startInBetween(t, simulator.url, (method, path) => {
    if (!declines || method !== 'POST' || !path.endsWith('/capture')) return undefined;
    tries += 1;
    return { status: 422, body: refusal };
  });
  const service = await startService(t, { simulator: between });
  const shop = await service.merchant();
  await service.sim('/sim/notices', { payWay, enabled: false });
  const orderNo = await placeOrder(shop, { payWay, amount: 10, expireSeconds: 7200 });
  await service.sim('/sim/approve', { orderNo });
  const looks = 60;
  for (let look = 0; look < looks; look += 1) {
    service.clock.advance(60);
    await service.app.sweep.once();
  }
  t.true(tries > 0, 'it was tried');
  t.true(tries <= 24, `${tries} tries in an hour`);
  t.is(await stateOf(service, orderNo), 'pending');
  declines = false;
  await runUntilQuiet(service, 3600, 300);
  t.is(await stateOf(service, orderNo), 'paid', 'an accepted payment is captured');
  await assertLedgersMatch(t, service);
  t.log(`${tries} tries in an hour with ${looks} looks`);
});
