import test from 'ava';
import { assertBooksBalance, runUntilQuiet } from '../support/books.ts';
import { count, inParallel, untilTaken } from '../support/counts.ts';
import { openShops, ordersIn, paidIn, racedOf, SAMPLED_SCENES } from '../support/scenes.ts';
import { startService } from '../support/service.ts';

for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
  test(`G4 ${payWay}: of many refunds of 60 % exactly one is taken, in every scene`, async (t) => {
    const scenes = racedOf(payWay);
    const shops = await openShops(t, scenes);
    const { service, shopOf } = shops;
    const orders = ordersIn(scenes, count(100, 4), count(10, 2));
    const taken = await inParallel(orders.length, 4, async (at) => {
      const on = orders[at]!;
      const orderNo = await paidIn(shops, on, { amount: 100 });
      const answers = await inParallel(20, 20, (index) =>
        untilTaken(() =>
          shopOf(on).call(
            'POST',
            '/api/v2/payment/refund',
            { orderNo, refundAmount: 60 },
            { 'idempotency-key': `${orderNo}-${index}` },
          ),
        ),
      );
      const refused = answers.filter(({ status }) => status !== 200);
      for (const { body } of refused)
        t.true(['refund_exceeds_refundable', 'refund_in_progress'].includes(body.code), `${on.title}: ${body.code}`);
      t.is(answers.length - refused.length, 1, on.title);
      return answers.length - refused.length;
    });
    await runUntilQuiet(service, 7200, 600);
    await assertBooksBalance(t, service);
    const sum = taken.reduce((a, b) => a + b, 0);
    t.log(`${orders.length} orders in ${scenes.length} scenes × 20 refunds of 60 from 100: ${sum} taken`);
  });
}

// A refund asks the channel the same thing whatever the scene, but for those of the sample: a second look in the others would see nothing new.
for (const on of SAMPLED_SCENES) {
  const { title, payWay } = on;
  test(`G4 ${title}: twenty refunds of 7 from 100, from two replicas: exactly 14`, async (t) => {
    const shops = await openShops(t, [on]);
    const { service } = shops;
    const shop = shops.shopOf(on);
    const replica = await startService(t, {
      url: service.databaseUrl,
      simulator: service.simulator,
      now: service.clock.now,
    });
    const orderNo = await paidIn(shops, on, { amount: 100 });
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

  test(`a refund whose answer was lost happens once, whatever is repeated (${title})`, async (t) => {
    const shops = await openShops(t, [on]);
    const { service } = shops;
    const shop = shops.shopOf(on);
    const orderNo = await paidIn(shops, on, { amount: 50 });
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
