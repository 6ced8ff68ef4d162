import test from 'ava';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

test('a payment for a closing order whose merchantOrderNo was reused is refunded and not refused forever', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const asked = { payWay: 'wechat', merchantOrderNo: 'taken-over', expireSeconds: 120 };
  const first = await placeOrder(shop, asked);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'close', fault: 'timeout', times: 50, delayMs: 100 });
  service.clock.advance(200);
  await service.app.sweep.once();
  t.is(await stateOf(service, first), 'closing');
  const second = await placeOrder(shop, asked);
  t.not(second, first);
  await service.sim('/sim/pay', { orderNo: first });
  await until('the money of the first', async () => (await stateOf(service, first)) === 'closed');
  await service.app.sweep.once();
  const refund = await until('the refund is done', () =>
    service.app.store.read((tx) => tx.refunds.find({ orderNo: first, state: 'succeeded' })),
  );
  t.is(refund.origin, 'late');
  t.is(await stateOf(service, second), 'pending');
  await assertLedgersMatch(t, service);
});

test('an order that is polled continuously still expires', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'wechat', expireSeconds: 120 });
  for (let poll = 0; poll < 8; poll++) {
    service.clock.advance(30);
    await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  }
  const due = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  t.true(due!.nextCheckAt! <= service.clock.now(), 'a query does not postpone due work');
  await service.app.sweep.once();
  t.is((await service.app.store.read((tx) => tx.orders.find({ orderNo })))?.closeReason, 'expired');
});

test('an approved order with a running capture is not queried in a loop', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'paypal' });
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  await service.sim('/sim/approve', { orderNo });
  const { store } = service.app;
  const lease = new Date(service.clock.now().getTime() + 30_000);
  const now = service.clock.now();
  await store.autocommit((tx) =>
    tx.orders.update({ orderNo }, { captureState: 'live', captures: 1, captureLeasedUntil: lease, nextCheckAt: now }),
  );
  await service.app.sweep.once();
  const waiting = await store.read((tx) => tx.orders.find({ orderNo }));
  t.true(waiting!.nextCheckAt! >= lease);
});

test('an approved order with a stale flag of a pending capture is captured', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'paypal' });
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  await service.sim('/sim/approve', { orderNo });
  const { store } = service.app;
  const now = service.clock.now();
  await store.autocommit((tx) =>
    tx.orders.update({ orderNo }, { captureState: 'pending', captures: 1, nextCheckAt: now }),
  );
  await service.app.sweep.once();
  t.is(await stateOf(service, orderNo), 'paid');
  await runUntilQuiet(service, 600, 300);
  await assertLedgersMatch(t, service);
});
