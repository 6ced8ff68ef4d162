import test, { type ExecutionContext } from 'ava';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { closeIn } from './closes.ts';
import { stateOf } from '../support/orders.ts';
import { isTold, openShops, payerOf, placeIn, RACED_SCENES, type RacedScene, type Shops } from './scenes.ts';

const CODES = RACED_SCENES.filter(({ scene }) => scene === 'code');

/** On the simulator's clock, which the test advances. */
const LATER_SECONDS = 600;

/** A short silence; the late effect happens when the simulator's clock advances. */
const LATE = { delayMs: LATER_SECONDS * 1000, hangUpMs: 100 };

/** The payer has paid with a code unknown to the service, and the outcome of the close stays unknown. */
async function closeUnheard(t: ExecutionContext, on: RacedScene, fault: string) {
  const { payWay } = on;
  const shops = await openShops(t, [on]);
  const { service } = shops;
  await service.sim('/sim/notices', { payWay, enabled: false });
  const orderNo = await placeIn(shops, on);
  await (
    await payerOf(shops, on, orderNo)
  )();
  const once = { payWay, orderNo, times: 1 };
  // WeChat Pay is queried before the reverse, and does not know the payment yet.
  if (payWay === 'wechat') await service.sim('/sim/faults', { ...once, call: 'query', fault: 'query-lag' });
  await service.sim('/sim/faults', { ...once, call: 'close', fault, ...LATE });
  t.is((await closeIn(shops, on, orderNo)).answer, 'closing');
  return { shops, orderNo };
}

/** The channel's own cancel refunded the money once, and no exception is open. */
async function isGoneOnce(t: ExecutionContext, { service }: Shops, orderNo: string): Promise<void> {
  t.is((await ledgerOf(service)).get(orderNo)?.refunded, 1000, 'by the channel itself');
  await runUntilQuiet(service, 2 * 86_400, 1800);
  const { order, refunds, open } = await service.app.store.read(async (tx) => ({
    order: await tx.orders.find({ orderNo }),
    refunds: await tx.refunds.list({ orderNo }),
    open: await tx.exceptions.list({ orderNo, state: 'open' }),
  }));
  t.like(order, { state: 'closed', paid: 1000n, refunded: 1000n, refunding: 0n });
  t.deepEqual(
    refunds.map(({ state, amount }) => [state, amount]),
    [['succeeded', 1000n]],
  );
  t.deepEqual(open, []);
  t.like((await ledgerOf(service)).get(orderNo), { paid: 1000, refunded: 1000 });
  await assertLedgersMatch(t, service);
}

for (const on of CODES) {
  test(`${on.title}: a close that takes effect late, after the payment was seen, refunds the money, and the payment does not count`, async (t) => {
    const { shops, orderNo } = await closeUnheard(t, on, 'timeout-then-commit');
    const { store } = shops.service.app;
    await store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
    await shops.shopOf(on).call('GET', `/api/v2/payment/query/${orderNo}`);
    t.is(await stateOf(shops.service, orderNo), 'closing');
    t.is(
      await store.read((tx) => tx.refunds.count({ orderNo })),
      0,
      'the service makes no call that the channel would refuse',
    );
    await shops.service.sim('/sim/clock', { advanceSeconds: LATER_SECONDS });
    await isGoneOnce(t, shops, orderNo);
  });
}

for (const on of CODES.filter(isTold)) {
  test(`${on.title}: a payment reported after a close whose answer was lost does not count: it was refunded`, async (t) => {
    const { shops, orderNo } = await closeUnheard(t, on, 'commit-then-timeout');
    await shops.service.sim('/sim/notices', { payWay: on.payWay, enabled: true });
    await shops.service.sim('/sim/notify', { orderNo, kind: 'TRADE_SUCCESS' });
    t.is(await stateOf(shops.service, orderNo), 'closing');
    await isGoneOnce(t, shops, orderNo);
  });
}
