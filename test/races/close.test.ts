import test from 'ava';
import { assertBooksBalance, runUntilQuiet } from '../support/books.ts';
import { count, inParallel } from '../support/counts.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
  for (const notices of [true, false]) {
    test(`G8 ${payWay}: close against pay, notices ${notices ? 'delivered' : 'dropped'}: what the merchant saw agrees with the ledger`, async (t) => {
      const service = await startService(t);
      const shop = await service.merchant();
      await service.sim('/sim/notices', { payWay, enabled: notices });
      const races = count(200, 10);
      const seen = await inParallel(races, 5, async (index) => {
        const orderNo = await placeOrder(shop, { payWay, amount: 10 });
        if (payWay === 'alipay') await service.sim('/sim/scan', { orderNo });
        const [closed] = await Promise.all([
          after(index % 3, () => shop.call('POST', `/api/v2/payment/close/${orderNo}`)),
          after((index * 5) % 7, () => service.sim('/sim/pay', { orderNo }).catch(() => {})),
        ]);
        t.true(closed.status === 200 || closed.body.code === 'order_already_paid', JSON.stringify(closed.body));
        return { orderNo, refusedAsPaid: closed.status === 409 };
      });
      await runUntilQuiet(service, 4 * 86_400, 3600 * 3);
      for (const { orderNo, refusedAsPaid } of seen) {
        const state = await stateOf(service, orderNo);
        if (refusedAsPaid) t.is(state, 'paid', `${orderNo}: the close was refused because it is paid`);
        else t.is(state, 'closed', `${orderNo}: the close was accepted, so late money went back`);
        const events = await service.app.store.read((tx) =>
          tx.events.list({ objectNo: orderNo, type: ['order.paid', 'order.closed'] }),
        );
        t.deepEqual(
          events.map(({ type }) => type),
          [refusedAsPaid ? 'order.paid' : 'order.closed'],
        );
      }
      await assertBooksBalance(t, service);
      t.log(`${races} races: ${seen.filter(({ refusedAsPaid }) => refusedAsPaid).length} paid first`);
    });
  }

  test(`expire against pay (${payWay}): an order that lapses closes, money that comes after it is accepted`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const orderNo = await placeOrder(shop, { payWay, amount: 10, expireSeconds: 120 });
    if (payWay === 'alipay') await service.sim('/sim/scan', { orderNo });
    await runUntilQuiet(service, 3600, 120);
    t.is(await stateOf(service, orderNo), 'closed');
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    t.is(order?.closeReason, 'expired');
    if (payWay === 'paypal') return;
    await service.sim('/sim/pay', { orderNo, force: true });
    await until('late money', async () => (await stateOf(service, orderNo)) === 'paid');
    const late = await service.app.store.read((tx) => tx.exceptions.find({ orderNo }));
    t.is(late?.kind, 'late_paid');
    await assertBooksBalance(t, service);
  });

  test(`the place answer after the close (${payWay}): nothing payable is handed out, and the channel is closed`, async (t) => {
    const service = await startService(t, { timeoutMs: 4000 });
    const shop = await service.merchant();
    await service.sim('/sim/faults', { payWay, call: 'create', fault: 'delay', times: 1, delayMs: 700 });
    const placing = shop.call('POST', '/api/v2/payment/pay', {
      subject: 'Slow',
      amount: 10,
      payWay,
      merchantOrderNo: 'slow',
    });
    const orderNo = await until(
      'the intent',
      async () => (await service.app.store.read((tx) => tx.orders.find({ merchantOrderNo: 'slow' })))?.orderNo,
    );
    t.is((await shop.call('POST', `/api/v2/payment/close/${orderNo}`)).status, 200);
    const placed = await placing;
    t.is(placed.body.data?.payment, undefined);
    await runUntilQuiet(service, 3 * 3600, 600);
    t.is(await stateOf(service, orderNo), 'closed');
    await assertBooksBalance(t, service);
  });
}

/** Starts the two sides of a race apart by a few turns of the network, so that either can win. */
async function after<T>(turns: number, work: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns * 3; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return work();
}
