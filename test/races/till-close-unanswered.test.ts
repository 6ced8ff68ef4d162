import { randomInt } from 'node:crypto';
import test from 'ava';
import { assertLedgersMatch, ledgerOf, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { startService, type Merchant, type Service } from '../support/service.ts';

/** A code whose payer must type a password, so that the payment can come at any moment. */
const CODES = { alipay: 28, wechat: 13 } as const;

function atTheTill(payWay: 'alipay' | 'wechat') {
  const payCode = `${CODES[payWay]}${randomInt(1e8, 1e9)}${randomInt(1e5, 1e6)}1`;
  return { payWay, scene: 'code', amount: 10, payCode, clientIp: '192.0.2.7' };
}

/** How the service learns of the payment while the outcome of the close is unknown. */
const HEARD = {
  'a message': (service: Service, _shop: Merchant, orderNo: string) => service.sim('/sim/notify', { orderNo }),
  'a question': async (service: Service, shop: Merchant, orderNo: string) => {
    service.clock.advance(6);
    await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  },
  'its own check': async (service: Service) => {
    service.clock.advance(31);
    await service.app.sweep.once();
  },
} as const;

for (const payWay of ['alipay', 'wechat'] as const)
  for (const fault of ['commit-then-timeout', 'timeout-then-commit'] as const)
    for (const [how, hear] of Object.entries(HEARD))
      test(`${payWay}: a code order that is closed under ${fault} while ${how} reports the payment ends as its money does`, async (t) => {
        const service = await startService(t);
        const shop = await service.merchant();
        await service.sim('/sim/notices', { payWay, enabled: false });
        const orderNo = await placeOrder(shop, atTheTill(payWay));
        // WeChat Pay is queried before its close: that query does not see the payment yet.
        await service.sim('/sim/faults', { payWay, call: 'query', fault: 'query-lag', orderNo, times: 1 });
        // A short silence; late effects happen when the channel's clock is advanced.
        const silence = { delayMs: 20_000, hangUpMs: 100 };
        await service.sim('/sim/faults', { payWay, call: 'close', fault, orderNo, times: 1, ...silence });
        await service.sim('/sim/pay', { orderNo });
        const closed = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
        t.is(closed.body.data?.status, 'closing', JSON.stringify(closed.body));
        await service.sim('/sim/notices', { payWay, enabled: true });
        await hear(service, shop, orderNo);
        t.not(await stateOf(service, orderNo), 'paid', 'the close may still refund the payment');
        await runUntilQuiet(service, 300, 30);
        await runUntilQuiet(service, 3 * 3600, 1200);
        await runUntilQuiet(service, 3 * 86_400, 6 * 3600);
        const { paid, refunded } = (await ledgerOf(service)).get(orderNo)!;
        t.deepEqual([paid, refunded, await stateOf(service, orderNo)], [1000, 1000, 'closed']);
        const refunds = await service.app.store.read((tx) => tx.refunds.list({ orderNo }));
        t.deepEqual(
          refunds.map(({ state, amount, elsewhere }) => ({ state, amount, elsewhere })),
          [{ state: 'succeeded', amount: 1000n, elsewhere: true }],
        );
        t.deepEqual(await service.app.store.read((tx) => tx.exceptions.list({ state: 'open' })), []);
        t.deepEqual(await unexplained(service), []);
        await assertLedgersMatch(t, service);
        const { proofs } = await proveBooks(service.app);
        t.deepEqual(
          proofs.filter(({ ok }) => !ok).map(({ check, examples }) => ({ check, examples })),
          [],
        );
      });
