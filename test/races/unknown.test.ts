import test from 'ava';
import { assertLedgersMatch, ledgerOf, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { count, inParallel, isLong } from '../support/counts.ts';
import { requestIn } from '../support/order-scenes.ts';
import { openShops, ordersIn, payIn, RACED_SCENES } from './scenes.ts';

/** Clock steps between two checks; only the end state matters, so a short run takes larger steps. */
const [STEP, LONG_STEP] = isLong ? [1800, 6 * 3600] : [3600, 12 * 3600];

test('G2 G3 G7: with silent channels and lost notifications every order ends as the ledger has it, in every scene', async (t) => {
  const scenes = RACED_SCENES;
  const shops = await openShops(t, scenes, { timeoutMs: 250 });
  const { service, shopOf } = shops;
  const chaos = async (probability: number) => {
    await service.sim('/sim/reset-faults', {});
    for (const payWay of ['alipay', 'wechat', 'paypal']) {
      for (const fault of ['commit-then-timeout', 'timeout-then-commit'])
        await service.sim('/sim/faults', { payWay, fault, probability, delayMs: 400 });
      await service.sim('/sim/notices', { payWay, enabled: false });
    }
  };
  await chaos(0.15);
  const orders = ordersIn(scenes, count(120, 8), count(24, 4));
  const told = await inParallel(orders.length, 6, async (index) => {
    const on = orders[index]!;
    const shop = shopOf(on);
    const request = requestIn(on, { subject: 'Chaos', amount: 10 + index, merchantOrderNo: `m${index}` });
    const placed = await shop.call('POST', '/api/v2/payment/pay', request);
    const orderNo = placed.body.data?.orderNo ?? placed.body.orderNo;
    if (placed.status !== 201) {
      t.true([502, 504].includes(placed.status), `${on.title}: ${JSON.stringify(placed.body)}`);
      await shop.call('POST', '/api/v2/payment/pay', request);
    }
    if (index % 3 !== 0) await payIn(shops, on, orderNo).catch(() => {});
    if (index % 4 === 0) await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
    return orderNo as string;
  });
  await inParallel(orders.length, 6, async (index) => {
    const shop = shopOf(orders[index]!);
    const seen = await shop.call('GET', `/api/v2/payment/query/${told[index]}`);
    if (seen.body.data.status === 'paid')
      await shop.call('POST', '/api/v2/payment/refund', {
        orderNo: told[index],
        refundAmount: 5,
        merchantRefundNo: `r${index}`,
      });
  });
  await chaos(0.02);
  await runUntilQuiet(service, 14 * 3600, STEP);
  await service.sim('/sim/reset-faults', {});
  await runUntilQuiet(service, 8 * 86_400, LONG_STEP);
  t.deepEqual(await unexplained(service), []);
  await assertLedgersMatch(t, service);
  const failed = await service.app.store.read((tx) => tx.events.list({ type: ['order.failed', 'refund.failed'] }));
  const ledger = await ledgerOf(service);
  for (const { objectNo, type } of failed) t.true(type !== 'order.failed' || (ledger.get(objectNo)?.paid ?? 0) === 0);
  const open = await service.app.store.read((tx) => tx.orders.list({ state: ['created', 'pending', 'closing'] }));
  const listed = await service.app.store.read((tx) => tx.exceptions.list({ state: 'open' }));
  t.deepEqual(
    open
      .filter(({ orderNo }) => !listed.some((one) => one.orderNo === orderNo))
      .map(({ orderNo, state }) => `${orderNo} ${state}`),
    [],
  );
  const paid = told.filter((orderNo) => (ledger.get(orderNo)?.paid ?? 0) > 0).length;
  t.log(
    `${orders.length} orders in ${scenes.length} scenes (${paid} paid), 30 % of all calls silent, no notices: 0 mismatches`,
  );
});
