import test, { type ExecutionContext } from 'ava';
import { assertLedgersMatch, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { requestIn } from '../support/order-scenes.ts';
import { stateOf } from '../support/orders.ts';
import { startReplica, startVictim } from '../support/replica.ts';
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
} from './scenes.ts';
import { type Answer, until } from '../support/service.ts';

/** The requests to a replica, by an order's own scene. */
type Act = (shops: Shops, url: string, about: About, headers?: Record<string, string>) => Promise<Answer>;

interface About {
  on: RacedScene;
  /** The existing order; otherwise the merchant order number of the order being placed. */
  orderNo: string;
}

interface Death {
  checkpoint: string;
  /** Only for PayPal's buttons, where the shop requests the capture. */
  ofButtons?: true;
  /** Places the order, unless the operation places one itself. */
  prepare?: (shops: Shops, on: RacedScene) => Promise<string>;
  act: Act;
}

const close: Act = ({ shopOf }, url, { on, orderNo }, headers) =>
  shopOf(on).callAt(url, 'POST', `/api/v2/payment/close/${orderNo}`, undefined, headers);
const refund: Act = ({ shopOf }, url, { on, orderNo }, headers) =>
  shopOf(on).callAt(
    url,
    'POST',
    '/api/v2/payment/refund',
    { orderNo, refundAmount: 5, merchantRefundNo: `crash-${orderNo}` },
    headers,
  );
const query: Act = ({ shopOf }, url, { on, orderNo }, headers) =>
  shopOf(on).callAt(url, 'GET', `/api/v2/payment/query/${orderNo}`, undefined, headers);
const capture: Act = ({ shopOf }, url, { on, orderNo }, headers) =>
  shopOf(on).callAt(url, 'POST', `/api/v2/payment/capture/${orderNo}`, undefined, headers);
const placed = (shops: Shops, on: RacedScene) => placeIn(shops, on, { amount: 20 });
const paid = (shops: Shops, on: RacedScene) => paidIn(shops, on, { amount: 20 });
/** The payer approves without a notification: the capture is left to the shop. */
const agreed = async (shops: Shops, on: RacedScene) => {
  await shops.service.sim('/sim/notices', { payWay: on.payWay, enabled: false });
  const orderNo = await placed(shops, on);
  const agree = await payerOf(shops, on, orderNo);
  await agree();
  return orderNo;
};

/** Its repeat is the identical request, with the same payer's code. */
function payOnce(): Act {
  let asked: object | undefined;
  return ({ shopOf }, url, { on, orderNo }, headers) => {
    asked ??= requestIn(on, { amount: 20, merchantOrderNo: orderNo });
    return shopOf(on).callAt(url, 'POST', '/api/v2/payment/pay', asked, headers);
  };
}

const DEATHS: readonly (() => Death)[] = [
  () => ({ checkpoint: 'place.intent', act: payOnce() }),
  () => ({ checkpoint: 'place.asked', act: payOnce() }),
  () => ({ checkpoint: 'place.settled', act: payOnce() }),
  () => ({ checkpoint: 'close.intent', prepare: placed, act: close }),
  () => ({ checkpoint: 'close.asked', prepare: placed, act: close }),
  () => ({
    checkpoint: 'query.asked',
    async prepare(shops, on) {
      const orderNo = await placed(shops, on);
      await shops.service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
      return orderNo;
    },
    act: query,
  }),
  () => ({ checkpoint: 'refund.intent', prepare: paid, act: refund }),
  () => ({ checkpoint: 'refund.asked', prepare: paid, act: refund }),
  () => ({ checkpoint: 'refund.settled', prepare: paid, act: refund }),
  () => ({ checkpoint: 'capture.intent', ofButtons: true, prepare: agreed, act: capture }),
  () => ({ checkpoint: 'capture.asked', ofButtons: true, prepare: agreed, act: capture }),
];

test.serial('G1: death at every checkpoint loses nothing and repeats nothing, in every scene', async (t) => {
  const shops = await openShops(t, RACED_SCENES);
  const { service } = shops;
  const deaths: Dying[] = [];
  // The last deaths switch off PayPal's notifications, which the others need.
  for (const make of DEATHS)
    for (const [place, on] of RACED_SCENES.entries()) {
      const death = make();
      if (death.ofButtons && !on.hasButtons) continue;
      const orderNo = (await death.prepare?.(shops, on)) ?? `crash-${place}-${death.checkpoint.replace('.', '-')}`;
      deaths.push({ ...death, on, orderNo, title: `${on.title}: ${death.checkpoint}` });
    }
  await dieTogether(t, shops, deaths);
  for (const death of deaths) await repeat(t, shops, death);
  await runUntilQuiet(service, 10 * 3600, 1800);
  t.deepEqual(await unexplained(service), []);
  const refunds = await service.app.store.read((tx) => tx.refunds.list({}));
  t.is(refunds.length, deaths.filter(({ act }) => act === refund).length);
  t.true(refunds.every(({ state }) => state === 'succeeded'));
  for (const { act, orderNo, title } of deaths)
    if (act === capture) t.is(await stateOf(service, orderNo), 'paid', title);
  await assertLedgersMatch(t, service);
  t.log(
    `${deaths.length} deaths at ${DEATHS.length} checkpoints in ${RACED_SCENES.length} scenes: nothing lost, nothing twice`,
  );
});

type Dying = Death & About & { title: string };

/**
 * Every request stops at its checkpoint, then the replica is killed. The state is the same as if each request had died alone, so one
 * process serves all. The capture test shows that a process also kills itself at a checkpoint.
 */
async function dieTogether(t: ExecutionContext, shops: Shops, deaths: readonly Dying[]): Promise<void> {
  const { service } = shops;
  const victim = await startVictim(t, service);
  await inParallel(deaths.length, 3, async (at) => {
    const death = deaths[at]!;
    await t.throwsAsync(death.act(shops, victim.url, death, { 'x-dies-at': death.checkpoint }), undefined, death.title);
  });
  t.is(await victim.kill(), 'SIGKILL');
  service.clock.advance(61);
}

/** The merchant repeats unanswered requests at another replica. */
async function repeat(t: ExecutionContext, shops: Shops, death: Dying): Promise<void> {
  const { service } = shops;
  const { act, checkpoint, title } = death;
  if (act !== close && act !== query && act !== capture) {
    const again = await act(shops, service.url, death);
    t.true(again.status < 300, `${title}: ${again.status} ${JSON.stringify(again.body)}`);
  }
  await service.app.sweep.once();
  if (checkpoint.startsWith('place')) await endPlaced(t, shops, death);
}

/** One order was placed, and it can be closed. */
async function endPlaced(
  t: ExecutionContext,
  { service, shopOf }: Shops,
  { on, orderNo, title }: Dying,
): Promise<void> {
  const orders = await service.app.store.read((tx) => tx.orders.list({ merchantOrderNo: orderNo }));
  t.deepEqual(
    orders.map(({ state }) => state),
    ['pending'],
    `${title}: one order`,
  );
  await shopOf(on).call('POST', `/api/v2/payment/close/${orders[0]!.orderNo}`);
}

test.serial(
  'G1: a capture without a shop request dies at each of its checkpoints, and the money is taken once',
  async (t) => {
    const scenes = racedOf('paypal').filter(({ hasButtons }) => !hasButtons);
    const shops = await openShops(t, scenes);
    const { service } = shops;
    const deaths = scenes.flatMap((on) => ['capture.intent', 'capture.asked'].map((crashAt) => ({ on, crashAt })));
    for (const { on, crashAt } of deaths) {
      const orderNo = await agreed(shops, on);
      // The order is due at once, so that the check finds the payment.
      await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { nextCheckAt: new Date() }));
      const victim = await startReplica(t, {
        environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
        simulatorUrl: service.simulator.url,
        port: await freePort(),
        crashAt,
        sweepEveryMs: 50,
      });
      t.is(await victim.ended, 'SIGKILL', crashAt);
      await until(`${on.title}: ${crashAt}: paid`, async () => {
        service.clock.advance(61);
        await service.app.sweep.once();
        return (await stateOf(service, orderNo)) === 'paid';
      });
    }
    await assertLedgersMatch(t, service);
  },
);

test.serial('G1: random kill -9 under load: no acknowledged result is lost, ready again soon', async (t) => {
  const shops = await openShops(t, RACED_SCENES);
  const { service, shopOf } = shops;
  const kills = count(100, 2);
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
    const load = inParallel(4, 4, async (queueKey) => {
      for (let turn = 0; alive; turn += 1) {
        const on = RACED_SCENES[(kill + 5 * queueKey + turn) % RACED_SCENES.length]!;
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
  await assertLedgersMatch(t, service);
  t.log(`${kills} kills, ${acknowledged.length} acknowledged results in ${sold.size} scenes, 0 lost`);
});
