import test, { type ExecutionContext } from 'ava';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { agreesWithLedger, closeIn, type Closed } from './closes.ts';
import { startInBetween } from '../support/in-between.ts';
import { stateOf } from '../support/orders.ts';
import { isTold, openShops, payerOf, placeIn, RACED_SCENES, type RacedScene, type Shops } from './scenes.ts';
import { until } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

const CODES = RACED_SCENES.filter(({ scene }) => scene === 'code');

/** A close that races the payment of a code: the channel has refunded the money, and its answer is held. */
interface Crossing {
  shops: Shops;
  orderNo: string;
  /** Releases the answer. */
  answered(): Promise<Closed>;
}

async function cross(t: ExecutionContext, on: RacedScene): Promise<Crossing> {
  const { payWay } = on;
  const simulator = await ownSimulator(t);
  const answer = Promise.withResolvers<void>();
  let isHeld = false;
  const between = await startInBetween(
    t,
    simulator.url,
    () => undefined,
    (_method, path) => {
      const isClose = isHeld && (payWay === 'alipay' ? path.startsWith('/alipay/') : path.endsWith('/reverse'));
      if (!isClose) return undefined;
      isHeld = false;
      return answer.promise;
    },
  );
  const shops = await openShops(t, [on], { simulator: between });
  const { service } = shops;
  const orderNo = await placeIn(shops, on);
  await service.sim('/sim/notices', { payWay, enabled: false });
  await (
    await payerOf(shops, on, orderNo)
  )();
  // WeChat Pay is queried before the reverse, and does not know the payment yet.
  const lag = { payWay, orderNo, times: 1, call: 'query', fault: 'query-lag' };
  if (payWay === 'wechat') await service.sim('/sim/faults', lag);
  isHeld = true;
  const closing = closeIn(shops, on, orderNo);
  closing.catch(() => {});
  await until('the channel gave it back', async () => (await ledgerOf(service)).get(orderNo)?.refunded === 1000);
  return {
    shops,
    orderNo,
    answered: () => {
      answer.resolve();
      return closing;
    },
  };
}

async function ends(t: ExecutionContext, { shops, orderNo, answered }: Crossing): Promise<void> {
  const { service } = shops;
  const closed = await answered();
  t.is(closed.answer, 'refunded');
  await runUntilQuiet(service, 2 * 86_400, 3 * 3600);
  await agreesWithLedger(t, service, closed);
  const open = await service.app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
  t.is(await stateOf(service, orderNo), 'closed');
  t.deepEqual(open, []);
  await assertLedgersMatch(t, service);
}

for (const on of CODES) {
  const { title } = on;

  test(`${title}: a close that races the payment returns refunded`, async (t) => {
    const crossing = await cross(t, on);
    await ends(t, crossing);
  });

  test(`${title}: a query during the refund by a close does not return paid`, async (t) => {
    const crossing = await cross(t, on);
    const { shops, orderNo } = crossing;
    await shops.service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
    const seen = await shops.shopOf(on).call('GET', `/api/v2/payment/query/${orderNo}`);
    t.is(seen.body.data.status, 'refunded', JSON.stringify(seen.body));
    await ends(t, crossing);
  });
}

for (const on of CODES.filter(isTold)) {
  test(`${on.title}: a payment reported while the close refunds it does not make the order paid`, async (t) => {
    const crossing = await cross(t, on);
    const { shops, orderNo } = crossing;
    await shops.service.sim('/sim/notices', { payWay: on.payWay, enabled: true });
    await shops.service.sim('/sim/notify', { orderNo, kind: 'TRADE_SUCCESS' });
    t.is(await stateOf(shops.service, orderNo), 'closing', 'it may be in a refund');
    await shops.service.sim('/sim/notify', { orderNo, kind: 'refund' });
    t.is(await stateOf(shops.service, orderNo), 'closed', 'it was refunded');
    await ends(t, crossing);
  });
}
