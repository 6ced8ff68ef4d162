import test from 'ava';
import { assertBooksBalance, runUntilQuiet, unexplained } from '../support/books.ts';
import { count, inParallel } from '../support/counts.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startReplica } from '../support/replica.ts';
import { freePort } from '../support/free-port.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';

type PayWay = 'alipay' | 'wechat' | 'paypal';

/** One operation that reaches a checkpoint, at a replica that dies there. */
interface Scene {
  checkpoint: string;
  only?: readonly PayWay[];
  prepare?: (service: Service, shop: Merchant, payWay: PayWay) => Promise<string>;
  act: (shop: Merchant, url: string, payWay: PayWay, orderNo: string) => Promise<unknown>;
}

const pay: Scene['act'] = (shop, url, payWay) =>
  shop.callAt(url, 'POST', '/api/v2/payment/pay', {
    subject: 'Crash',
    amount: 20,
    payWay,
    merchantOrderNo: `crash-${payWay}`,
  });
const close: Scene['act'] = (shop, url, _payWay, orderNo) =>
  shop.callAt(url, 'POST', `/api/v2/payment/close/${orderNo}`);
const refund: Scene['act'] = (shop, url, _payWay, orderNo) =>
  shop.callAt(url, 'POST', '/api/v2/payment/refund', {
    orderNo,
    refundAmount: 5,
    merchantRefundNo: `crash-${orderNo}`,
  });
const query: Scene['act'] = (shop, url, _payWay, orderNo) =>
  shop.callAt(url, 'GET', `/api/v2/payment/query/${orderNo}`);
const placed: Scene['prepare'] = (_service, shop, payWay) => placeOrder(shop, { payWay, amount: 20 });
const paid: Scene['prepare'] = (service, shop, payWay) => payOrder(service, shop, { payWay, amount: 20 });

const SCENES: readonly Scene[] = [
  { checkpoint: 'place.intent', act: pay },
  { checkpoint: 'place.asked', act: pay },
  { checkpoint: 'place.settled', act: pay },
  { checkpoint: 'close.intent', prepare: placed, act: close },
  { checkpoint: 'close.asked', prepare: placed, act: close },
  { checkpoint: 'refund.intent', prepare: paid, act: refund },
  { checkpoint: 'refund.asked', prepare: paid, act: refund },
  { checkpoint: 'refund.settled', prepare: paid, act: refund },
  {
    checkpoint: 'query.asked',
    prepare: async (service, shop, payWay) => {
      const orderNo = await placeOrder(shop, { payWay, amount: 20 });
      await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
      return orderNo;
    },
    act: query,
  },
];

test.beforeEach((t) => t.timeout(600_000));

for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
  test.serial(`G1 ${payWay}: death at every checkpoint loses nothing and repeats nothing`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    for (const { checkpoint, prepare, act } of SCENES) {
      const orderNo = (await prepare?.(service, shop, payWay)) ?? '';
      const port = await freePort();
      const victim = await startReplica(t, {
        environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
        simulatorUrl: service.simulator.url,
        port,
        crashAt: checkpoint,
        sweepEveryMs: 60_000,
      });
      await act(shop, victim.url, payWay, orderNo).catch(() => {});
      t.is(await victim.ended, 'SIGKILL', checkpoint);
      service.clock.advance(61);
      if (act !== close && act !== query) {
        const again = (await act(shop, service.url, payWay, orderNo)) as { status: number; body: { code?: string } };
        t.true(again.status < 300, `${checkpoint}: ${again.status} ${JSON.stringify(again.body)}`);
      }
      await service.app.sweep.once();
      if (checkpoint.startsWith('place')) {
        const orders = await service.app.store.read((tx) => tx.orders.list({ merchantOrderNo: `crash-${payWay}` }));
        t.is(
          orders.filter(({ state }) => ['created', 'pending', 'paid'].includes(state)).length,
          1,
          `${checkpoint}: one order`,
        );
        await shop.call('POST', `/api/v2/payment/close/${orders.find(({ state }) => state === 'pending')!.orderNo}`);
      }
    }
    await runUntilQuiet(service, 10 * 3600, 1800);
    t.deepEqual(await unexplained(service), []);
    const refunds = await service.app.store.read((tx) => tx.refunds.list({}));
    t.true(refunds.every(({ state }) => state === 'succeeded'));
    await assertBooksBalance(t, service);
    t.log(`${SCENES.length} checkpoints: nothing lost, nothing twice`);
  });
}

test.serial('G1: capture dies at each of its checkpoints and the money is taken once', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  for (const crashAt of ['capture.intent', 'capture.asked']) {
    await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
    const orderNo = await placeOrder(shop, { payWay: 'paypal', amount: 20 });
    await service.sim('/sim/pay', { orderNo });
    await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { nextCheckAt: new Date() }));
    const victim = await startReplica(t, {
      environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
      simulatorUrl: service.simulator.url,
      port: await freePort(),
      crashAt,
      sweepEveryMs: 50,
    });
    t.is(await victim.ended, 'SIGKILL', crashAt);
    await until(`${crashAt}: paid`, async () => {
      service.clock.advance(61);
      await service.app.sweep.once();
      return (await stateOf(service, orderNo)) === 'paid';
    });
  }
  await assertBooksBalance(t, service);
});

test.serial('G1: random kill -9 under load: no acknowledged result is lost, ready again soon', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const kills = count(100, 4);
  const port = await freePort();
  const acknowledged: { orderNo: string; refundNo?: string }[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const victim = await startReplica(t, {
      environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
      simulatorUrl: service.simulator.url,
      port,
      sweepEveryMs: 100,
    });
    let alive = true;
    const load = inParallel(4, 4, async (lane) => {
      for (let turn = 0; alive; turn += 1) {
        const payWay = (['alipay', 'wechat', 'paypal'] as const)[(lane + turn) % 3]!;
        const answer = await shop
          .callAt(victim.url, 'POST', '/api/v2/payment/pay', { subject: 'Load', amount: 9, payWay })
          .catch(() => undefined);
        if (answer?.status !== 201) continue;
        const { orderNo } = answer.body.data;
        acknowledged.push({ orderNo });
        if (payWay === 'paypal') continue;
        await service.sim('/sim/pay', { orderNo });
        const refund = await shop
          .callAt(victim.url, 'POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 })
          .catch(() => undefined);
        if (refund?.status === 200) acknowledged.push({ orderNo, refundNo: refund.body.data.refundNo });
      }
    });
    const before = acknowledged.length;
    await until('some load', async () => acknowledged.length >= before + 3 + (kill % 5));
    await victim.kill();
    alive = false;
    await load;
  }
  for (const { orderNo, refundNo } of acknowledged) {
    t.truthy(await stateOf(service, orderNo), orderNo);
    if (refundNo) t.truthy(await service.app.store.read((tx) => tx.refunds.find({ refundNo })));
  }
  await runUntilQuiet(service, 12 * 3600, 1800);
  t.deepEqual(await unexplained(service), []);
  await assertBooksBalance(t, service);
  t.log(`${kills} kills, ${acknowledged.length} acknowledged results, 0 lost`);
});
