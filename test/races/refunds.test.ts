import test from 'ava';
import { assertBooksBalance, runUntilQuiet } from '../support/books.ts';
import { count, inParallel, untilTaken } from '../support/counts.ts';
import { payOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';

for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
  test(`G4 ${payWay}: of many refunds of 60 % exactly one is taken`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const orders = count(100, 4);
    const taken = await inParallel(orders, 4, async () => {
      const orderNo = await payOrder(service, shop, { payWay, amount: 100 });
      const answers = await inParallel(20, 20, (index) =>
        untilTaken(() =>
          shop.call(
            'POST',
            '/api/v2/payment/refund',
            { orderNo, refundAmount: 60 },
            { 'idempotency-key': `${orderNo}-${index}` },
          ),
        ),
      );
      const refused = answers.filter(({ status }) => status !== 200);
      t.true(refused.every(({ body }) => ['refund_exceeds_refundable', 'refund_in_progress'].includes(body.code)));
      return answers.length - refused.length;
    });
    t.deepEqual(new Set(taken), new Set([1]));
    await runUntilQuiet(service, 7200, 600);
    await assertBooksBalance(t, service);
    t.log(`${orders} orders × 20 refunds of 60 from 100: ${taken.reduce((a, b) => a + b, 0)} taken`);
  });

  test(`G4 ${payWay}: twenty refunds of 7 from 100, from two replicas: exactly 14`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const replica = await startService(t, {
      url: service.databaseUrl,
      simulator: service.simulator,
      now: service.clock.now,
    });
    const orderNo = await payOrder(service, shop, { payWay, amount: 100 });
    const answers = await inParallel(20, 20, (index) =>
      untilTaken(() =>
        shop.callAt(index % 2 ? replica.url : service.url, 'POST', '/api/v2/payment/refund', {
          orderNo,
          refundAmount: 7,
          merchantRefundNo: `m-${index}`,
        }),
      ),
    );
    t.is(answers.filter(({ status }) => status === 200).length, 14);
    await runUntilQuiet(service, 7200, 60);
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    t.is(order?.refunded, 9800n);
    await assertBooksBalance(t, service);
  });

  test(`a refund whose answer was lost happens once, whatever is repeated (${payWay})`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const orderNo = await payOrder(service, shop, { payWay, amount: 50 });
    await service.sim('/sim/notices', { payWay, enabled: false });
    await service.sim('/sim/faults', { payWay, call: 'refund', fault: 'commit-then-timeout', times: 1, delayMs: 100 });
    const first = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 20 });
    t.is(first.status, 200);
    t.is(first.body.data.status, 'processing');
    const again = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 20 });
    t.is(again.status, 409);
    t.is(again.body.code, 'refund_in_progress');
    t.is(again.body.refundNo, first.body.data.refundNo);
    await runUntilQuiet(service, 3600, 60);
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    t.is(order?.refunded, 2000n);
    await assertBooksBalance(t, service);
  });
}
