import test, { type ExecutionContext } from 'ava';
import { assertBooksBalance, runUntilQuiet, unexplained } from '../support/books.ts';
import { count, inParallel } from '../support/counts.ts';
import { requestIn } from '../support/order-scenes.ts';
import { stateOf } from '../support/orders.ts';
import { startReplica } from '../support/replica.ts';
import { freePort } from '../support/free-port.ts';
import {
  openShops,
  paidIn,
  payerOf,
  payIn,
  placeIn,
  RACED_SCENES,
  racedOf,
  type RacedScene,
  type Shops,
} from '../support/scenes.ts';
import { type Answer, until } from '../support/service.ts';

/** What is asked of a replica that dies at a checkpoint, and by an order's own scene. */
type Act = (shops: Shops, url: string, on: RacedScene, orderNo: string) => Promise<Answer>;

/** One operation that reaches a checkpoint. */
interface Death {
  checkpoint: string;
  /** The order that it is about, unless it makes one. */
  prepare?: (shops: Shops, on: RacedScene) => Promise<string>;
  act: Act;
}

const numberOf = ({ title }: RacedScene) => `crash-${title.replaceAll(' ', '-')}`;
const close: Act = ({ shopOf }, url, on, orderNo) => shopOf(on).callAt(url, 'POST', `/api/v2/payment/close/${orderNo}`);
const refund: Act = ({ shopOf }, url, on, orderNo) =>
  shopOf(on).callAt(url, 'POST', '/api/v2/payment/refund', {
    orderNo,
    refundAmount: 5,
    merchantRefundNo: `crash-${orderNo}`,
  });
const query: Act = ({ shopOf }, url, on, orderNo) => shopOf(on).callAt(url, 'GET', `/api/v2/payment/query/${orderNo}`);
const placed = (shops: Shops, on: RacedScene) => placeIn(shops, on, { amount: 20 });
const paid = (shops: Shops, on: RacedScene) => paidIn(shops, on, { amount: 20 });

/** Its repeat is the same request to the letter, with the code that the payer showed. */
function payOnce(): Act {
  let asked: object | undefined;
  return ({ shopOf }, url, on) => {
    asked ??= requestIn(on, { amount: 20, merchantOrderNo: numberOf(on) });
    return shopOf(on).callAt(url, 'POST', '/api/v2/payment/pay', asked);
  };
}

const DEATHS: readonly (() => Death)[] = [
  () => ({ checkpoint: 'place.intent', act: payOnce() }),
  () => ({ checkpoint: 'close.asked', prepare: placed, act: close }),
  () => ({ checkpoint: 'refund.asked', prepare: paid, act: refund }),
  () => ({ checkpoint: 'place.asked', act: payOnce() }),
  () => ({ checkpoint: 'close.intent', prepare: placed, act: close }),
  () => ({ checkpoint: 'refund.intent', prepare: paid, act: refund }),
  () => ({ checkpoint: 'place.settled', act: payOnce() }),
  () => ({
    checkpoint: 'query.asked',
    async prepare(shops, on) {
      const orderNo = await placed(shops, on);
      await shops.service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
      return orderNo;
    },
    act: query,
  }),
  () => ({ checkpoint: 'refund.settled', prepare: paid, act: refund }),
];

for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
  test.serial(
    `G1 ${payWay}: death at every checkpoint loses nothing and repeats nothing, in every scene`,
    async (t) => {
      const scenes = racedOf(payWay);
      // Nine deaths of a process in every scene take minutes: less than a full count gives each scene but the default its turn at some,
      // so that together they meet all.
      const each = count(DEATHS.length, 2);
      const deaths = scenes.flatMap((on, place) => {
        const some = Array.from({ length: each }, (_, at) => DEATHS[(place * each + at) % DEATHS.length]!);
        return (on.isDefault ? DEATHS : some).map((make) => ({ on, death: make() }));
      });
      for (let first = 0; first < deaths.length; first += AT_ONE_SERVICE)
        await dieInTurn(t, scenes, deaths.slice(first, first + AT_ONE_SERVICE));
      t.log(
        `${deaths.length} deaths at ${DEATHS.length} checkpoints in ${scenes.length} scenes: nothing lost, nothing twice`,
      );
    },
  );
}

/** After each death the clock goes a minute ahead, and a channel refuses signatures from a time that it does not believe. */
const AT_ONE_SERVICE = 11;

async function dieInTurn(
  t: ExecutionContext,
  scenes: readonly RacedScene[],
  deaths: readonly { on: RacedScene; death: Death }[],
): Promise<void> {
  const shops = await openShops(t, scenes);
  const { service } = shops;
  for (const { on, death } of deaths) await die(t, shops, on, death);
  await runUntilQuiet(service, 10 * 3600, 1800);
  t.deepEqual(await unexplained(service), []);
  const refunds = await service.app.store.read((tx) => tx.refunds.list({}));
  t.true(refunds.every(({ state }) => state === 'succeeded'));
  await assertBooksBalance(t, service);
}

/** A replica dies at the checkpoint; the merchant repeats what was not answered at another one. */
async function die(t: ExecutionContext, shops: Shops, on: RacedScene, death: Death): Promise<void> {
  const { service } = shops;
  const { checkpoint, prepare, act } = death;
  const about = `${on.title}: ${checkpoint}`;
  const orderNo = (await prepare?.(shops, on)) ?? '';
  const victim = await startReplica(t, {
    environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
    simulatorUrl: service.simulator.url,
    port: await freePort(),
    crashAt: checkpoint,
    sweepEveryMs: 60_000,
    aheadMs: service.clock.now().getTime() - Date.now(),
  });
  await act(shops, victim.url, on, orderNo).catch(() => {});
  t.is(await victim.ended, 'SIGKILL', about);
  service.clock.advance(61);
  if (act !== close && act !== query) {
    const again = await act(shops, service.url, on, orderNo);
    t.true(again.status < 300, `${about}: ${again.status} ${JSON.stringify(again.body)}`);
  }
  await service.app.sweep.once();
  if (checkpoint.startsWith('place')) await endPlaced(t, shops, on, about);
}

/** One order was made; it is closed, so that the next one may have its number. */
async function endPlaced(t: ExecutionContext, shops: Shops, on: RacedScene, about: string): Promise<void> {
  const { service, shopOf } = shops;
  const orders = await service.app.store.read((tx) => tx.orders.list({ merchantOrderNo: numberOf(on) }));
  const live = orders.filter(({ state }) => ['created', 'pending', 'paid'].includes(state));
  t.deepEqual(
    live.map(({ state }) => state),
    ['pending'],
    `${about}: one order`,
  );
  await shopOf(on).call('POST', `/api/v2/payment/close/${live[0]!.orderNo}`);
}

test.serial('G1: capture dies at each of its checkpoints and the money is taken once', async (t) => {
  const scenes = racedOf('paypal');
  const shops = await openShops(t, scenes);
  const { service, shopOf } = shops;
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  const deaths = scenes.flatMap((on) => ['capture.intent', 'capture.asked'].map((crashAt) => ({ on, crashAt })));
  for (const { on, crashAt } of deaths) {
    const orderNo = await placeIn(shops, on, { amount: 20 });
    await (
      await payerOf(shops, on, orderNo)
    )();
    const { hasButtons } = on;
    // The buttons tell the shop, which asks for the money; otherwise it is found when the order is asked about.
    if (!hasButtons)
      await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { nextCheckAt: new Date() }));
    const victim = await startReplica(t, {
      environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
      simulatorUrl: service.simulator.url,
      port: await freePort(),
      crashAt,
      sweepEveryMs: hasButtons ? 60_000 : 50,
    });
    const capture = () => shopOf(on).callAt(victim.url, 'POST', `/api/v2/payment/capture/${orderNo}`);
    if (hasButtons) await capture().catch(() => {});
    t.is(await victim.ended, 'SIGKILL', crashAt);
    await until(`${on.title}: ${crashAt}: paid`, async () => {
      service.clock.advance(61);
      await service.app.sweep.once();
      return (await stateOf(service, orderNo)) === 'paid';
    });
  }
  await assertBooksBalance(t, service);
});

test.serial('G1: random kill -9 under load: no acknowledged result is lost, ready again soon', async (t) => {
  const shops = await openShops(t, RACED_SCENES);
  const { service, shopOf } = shops;
  const kills = count(100, 4);
  const port = await freePort();
  const acknowledged: { orderNo: string; refundNo?: string }[] = [];
  const sold = new Set<string>();
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
        const on = RACED_SCENES[(kill + 5 * lane + turn) % RACED_SCENES.length]!;
        const shop = shopOf(on);
        const answer = await shop
          .callAt(victim.url, 'POST', '/api/v2/payment/pay', requestIn(on, { amount: 9 }))
          .catch(() => undefined);
        if (answer?.status !== 201) continue;
        const { orderNo } = answer.body.data;
        acknowledged.push({ orderNo });
        sold.add(on.title);
        if (on.payWay === 'paypal') continue;
        await payIn(shops, on, orderNo);
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
  t.log(`${kills} kills, ${acknowledged.length} acknowledged results in ${sold.size} scenes, 0 lost`);
});
