import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { freePort } from '../support/free-port.ts';
import { isOpenedByPayer, requestIn } from '../support/order-scenes.ts';
import { stateOf } from '../support/orders.ts';
import { startReplica } from '../support/replica.ts';
import { isTold, openShops, payIn, RACED_SCENES } from './scenes.ts';
import { request, until } from '../support/service.ts';

const CHANNELS = ['alipay', 'wechat', 'paypal'] as const;

/** The identities and keys that the administrator replaces of each account, in turn. */
const CHANGES = {
  alipay: ['seller', 'app-key'],
  wechat: ['app-id', 'api-v3-key'],
  paypal: ['clientSecret'],
} as const;

test('G1: kill -9 during account changes, portal refunds and operator retries loses nothing', async (t) => {
  const shops = await openShops(t, RACED_SCENES, { timeoutMs: 1_500 });
  const { service, shopOf } = shops;
  const { store } = service.app;
  const { token } = await firstAdmin(service);
  const kills = count(40, 3);
  const port = await freePort();
  const acknowledged: { orderNo: string; refundNo?: string }[] = [];
  const scenes = new Set<string>();
  const done = { changes: 0, portal: 0, retries: 0, syncs: 0 };
  const asAdmin = (url: string, path: string, body?: unknown) =>
    request(url, 'POST', path, body, { authorization: `Bearer ${token}` });

  for (let kill = 0; kill < kills; kill += 1) {
    const victim = await startReplica(t, {
      environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
      simulatorUrl: service.simulator.url,
      port,
      sweepEveryMs: 100,
    });
    let alive = true;
    const gone = () => undefined;

    const sell = inParallel(3, 3, async (queueKey) => {
      for (let turn = 0; alive; turn += 1) {
        const on = RACED_SCENES[(kill + 7 * queueKey + turn) % RACED_SCENES.length]!;
        const { payWay } = on;
        const shop = shopOf(on);
        const sold = requestIn(on, { amount: 9 });
        const answer = await shop.callAt(victim.url, 'POST', '/api/v2/payment/pay', sold).catch(gone);
        if (answer?.status !== 201) continue;
        const { orderNo } = answer.body.data;
        acknowledged.push({ orderNo });
        scenes.add(on.title);
        if (payWay === 'paypal') continue;
        // The page's signing key may have been replaced before the payer opened it; then the payment is impossible.
        const isPaid = await payIn(shops, on, orderNo).then(
          () => true,
          (error: unknown) => (isOpenedByPayer(on) ? false : Promise.reject(error)),
        );
        if (!isPaid) continue;
        // A portal refund is learned from a notification.
        if (turn % 3 === 0 && isTold(on)) {
          await service.sim('/sim/faults', { payWay, call: 'refund-query', orderNo, fault: 'query-lag', times: 1 });
          await service.sim('/sim/refund-elsewhere', { orderNo, amount: 2 });
          done.portal += 1;
        }
        if (turn % 3 === 1)
          await service.sim('/sim/faults', { payWay, call: 'refund', orderNo, fault: 'commit-then-timeout', times: 1 });
        const wanted = { orderNo, refundAmount: 4 };
        const refund = await shop.callAt(victim.url, 'POST', '/api/v2/payment/refund', wanted).catch(gone);
        const refundNo = refund && refund.status < 300 ? refund.body.data.refundNo : undefined;
        if (refundNo) acknowledged.push({ orderNo, refundNo });
      }
    });

    const change = async () => {
      const payWay = CHANNELS[kill % 3]!;
      const what = CHANGES[payWay][kill % CHANGES[payWay].length]!;
      const given = await service.sim('/sim/rotate', { payWay, account: 'default', what });
      const { fields, pems } = given[payWay] as unknown as Record<'fields' | 'pems', object>;
      const sent = { mode: 'simulator', ...fields, ...pems };
      // The replica may die with the request; the administrator resends it to another one.
      const first = await asAdmin(victim.url, `/api/v1/payment/config/${payWay}`, sent).catch(gone);
      if (first?.status === 200) return;
      const again = await asAdmin(service.url, `/api/v1/payment/config/${payWay}`, sent);
      if (again.status !== 200) throw new Error(`config: ${again.status} ${JSON.stringify(again.body)}`);
    };

    const operate = async () => {
      await change();
      done.changes += 1;
      while (alive) {
        const open = await store.read((tx) => tx.refunds.list({ state: ['pending', 'processing', 'abnormal'] }));
        for (const { refundNo, state } of open.slice(0, 3)) {
          const way = state === 'abnormal' ? 'retry' : 'sync';
          const answer = await asAdmin(victim.url, `/api/v1/refunds/${refundNo}/${way}`, {}).catch(gone);
          if (answer && answer.status < 300) done.retries += 1;
        }
        const [listed] = await store.read((tx) => tx.exceptions.list({ state: 'open' }, { limit: 1 }));
        if (listed?.orderNo) {
          const answer = await asAdmin(victim.url, `/api/v1/orders/${listed.orderNo}/sync`, {}).catch(gone);
          if (answer && answer.status < 300) done.syncs += 1;
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    };

    const before = acknowledged.length;
    const operating = operate();
    await until('some load', async () => acknowledged.length >= before + 8 + (kill % 5));
    await victim.kill();
    alive = false;
    await Promise.all([sell, operating]);
  }

  for (const { orderNo, refundNo } of acknowledged) {
    t.truthy(await stateOf(service, orderNo), orderNo);
    if (refundNo) t.truthy(await store.read((tx) => tx.refunds.find({ refundNo })));
  }
  await runUntilQuiet(service, 30 * 3600, 1800);
  t.deepEqual(await unexplained(service), []);
  await assertLedgersMatch(t, service);
  t.true(done.changes === kills && done.portal > 0, JSON.stringify(done));
  t.log(
    `${kills} kills, ${acknowledged.length} acknowledged results in ${scenes.size} scenes, ${JSON.stringify(done)}: 0 lost`,
  );
});
