import test from 'ava';
import { assertBooksBalance, ledgerOf } from '../support/books.ts';
import { count, inParallel } from '../support/counts.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';

test('G5: a key makes one order, one refund and one close, whatever is repeated, at two replicas and after a restart', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const replica = await startService(t, {
    url: service.databaseUrl,
    simulator: service.simulator,
    now: service.clock.now,
  });
  const keys = count(200, 12);
  let replayed = 0;

  const repeat = async (deed: string, body: (index: number) => unknown, path = (_index: number) => deed) =>
    inParallel(keys, 4, async (index) => {
      const headers = { 'idempotency-key': `${deed}-${index}` };
      const call = (at: string) => shop.callAt(at, 'POST', `/api/v2/payment/${path(index)}`, body(index), headers);
      const pair = await Promise.all([call(service.url), call(replica.url)]);
      const later = [await call(service.url), await call(replica.url), await call(service.url)];
      const finished = [...pair, ...later].filter(({ status }) => status < 300);
      t.true(
        [...pair, ...later].every(({ status, body: said }) => status < 300 || said.code === 'idempotency_in_progress'),
      );
      t.true(finished.length >= 4, `${deed}: ${finished.length} of 5 answered`);
      t.is(new Set(finished.map(({ body: said }) => JSON.stringify(said))).size, 1, 'byte for byte the same');
      replayed += finished.filter(({ headers: said }) => said.get('idempotent-replayed') === 'true').length;
      return finished[0]!.body.data;
    });

  const placed = await repeat('pay', (index) => ({
    subject: 'Key',
    amount: 20 + index,
    payWay: 'wechat',
  }));
  const numbers = new Set(placed.map(({ orderNo }) => orderNo));
  t.is(numbers.size, keys);
  const orders = await service.app.store.read((tx) => tx.orders.count({}));
  t.is(orders, keys);

  const paid = await inParallel(keys, 4, () => payOrder(service, shop, { payWay: 'alipay', amount: 30 }));
  const refunds = await repeat('refund', (index) => ({ orderNo: paid[index], refundAmount: 5 }));
  t.is(new Set(refunds.map(({ refundNo }) => refundNo)).size, keys);
  t.is(await service.app.store.read((tx) => tx.refunds.count({})), keys);
  const closed = await repeat(
    'close',
    () => undefined,
    (index) => `close/${placed[index].orderNo}`,
  );
  t.true(closed.every(({ status }) => status === 'closed'));
  const closes = await service.app.store.read((tx) => tx.events.count({ type: 'order.closed' }));
  t.is(closes, keys);
  t.log(`${keys} keys × 5 tries for pay, refund and close: ${replayed} replays, nothing twice`);
  await assertBooksBalance(t, service);
});

test('a key with another body, or for another order, is refused', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const headers = { 'idempotency-key': '"one"' };
  const first = await placeOrder(shop, { amount: 10 }, headers);
  const other = await shop.call(
    'POST',
    '/api/v2/payment/pay',
    { subject: 'Test', amount: 11, payWay: 'alipay' },
    headers,
  );
  t.is(other.status, 422);
  t.is(other.body.code, 'idempotency_conflict');
  const second = await placeOrder(shop, { amount: 10 });
  t.is((await shop.call('POST', `/api/v2/payment/close/${first}`, undefined, { 'idempotency-key': 'c' })).status, 200);
  const twin = await shop.call('POST', `/api/v2/payment/close/${second}`, undefined, { 'idempotency-key': 'c' });
  t.is(twin.body.code, 'idempotency_conflict');
});

test('a 504 is not a stored answer: the retry continues the same order', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
    for (const fault of ['commit-then-timeout', 'timeout', '502', 'html', 'tampered'] as const) {
      // PayPal's answers carry no signature; TLS alone protects them.
      if (payWay === 'paypal' && fault === 'tampered') continue;
      await service.sim('/sim/faults', { payWay, call: 'create', fault, times: 1, delayMs: 100 });
      const headers = { 'idempotency-key': `${payWay}-${fault}` };
      const body = { subject: 'Retry', amount: 12, payWay };
      const lost = await shop.call('POST', '/api/v2/payment/pay', body, headers);
      t.true(lost.status === 504 || lost.status === 502, `${payWay} ${fault}: ${lost.status}`);
      t.truthy(lost.body.orderNo);
      const again = await shop.call('POST', '/api/v2/payment/pay', body, headers);
      t.is(again.status, 201, JSON.stringify(again.body));
      t.is(again.body.data.orderNo, lost.body.orderNo);
      t.truthy(again.body.data.payment);
    }
  }
  for (const [orderNo, { payments }] of await ledgerOf(service)) t.true(payments <= 1, orderNo);
});

test('the same merchantOrderNo with the same facts is the same order; other facts are refused while it lives', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const facts = { merchantOrderNo: 'order-1', amount: 10, subject: 'Same' };
  const numbers = await inParallel(10, 10, () => placeOrder(shop, facts));
  t.is(new Set(numbers).size, 1);
  const other = await shop.call('POST', '/api/v2/payment/pay', { ...facts, amount: 11, payWay: 'alipay' });
  t.is(other.status, 409);
  t.is(other.body.code, 'merchant_number_used');
  t.is((await shop.call('POST', `/api/v2/payment/close/${numbers[0]}`)).status, 200);
  t.not(await placeOrder(shop, { ...facts, amount: 11 }), numbers[0]);
});
