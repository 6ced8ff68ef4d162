import test from 'ava';
import { claimKey, createWithKey, type KeyClaim } from '../../server/payments/idempotency.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { isOpenedByPayer, requestIn } from '../support/order-scenes.ts';
import { postgresDatabase } from '../support/database.ts';
import { placeOrder } from '../support/orders.ts';
import { openShops, paidIn, RACED_SCENES } from './scenes.ts';
import { startService } from '../support/service.ts';

test('G5: a key makes one order, one refund and one close under any repeats, at two replicas and after a restart', async (t) => {
  const shops = await openShops(t, RACED_SCENES);
  const { service, shopOf } = shops;
  const replica = await startService(t, {
    url: service.databaseUrl,
    simulator: service.simulator,
    now: service.clock.now,
  });
  // In every scene in turn, including those whose create may be sent only once (codes) or is not sent (a page).
  const sceneOf = (index: number) => RACED_SCENES[index % RACED_SCENES.length]!;
  const keys = count(200, 2 * RACED_SCENES.length);
  let replayed = 0;

  const repeat = async (action: string, body: (index: number) => unknown, path = (_index: number) => action) =>
    inParallel(keys, 4, async (index) => {
      const headers = { 'idempotency-key': `${action}-${index}` };
      const sent = body(index);
      const shop = shopOf(sceneOf(index));
      const call = (at: string) => shop.callAt(at, 'POST', `/api/v2/payment/${path(index)}`, sent, headers);
      const pair = await Promise.all([call(service.url), call(replica.url)]);
      const later = [await call(service.url), await call(replica.url), await call(service.url)];
      const finished = [...pair, ...later].filter(({ status }) => status < 300);
      t.true(
        [...pair, ...later].every(({ status, body: said }) => status < 300 || said.code === 'idempotency_in_progress'),
      );
      const about = `${action} ${sceneOf(index).title}`;
      t.true(finished.length >= 4, `${about}: ${finished.length} of 5 answered`);
      t.is(new Set(finished.map(({ body: said }) => JSON.stringify(said))).size, 1, `${about}: byte for byte the same`);
      replayed += finished.filter(({ headers: said }) => said.get('idempotent-replayed') === 'true').length;
      return finished[0]!.body.data;
    });

  const placed = await repeat('pay', (index) => requestIn(sceneOf(index), { subject: 'Key', amount: 20 + index }));
  const numbers = new Set(placed.map(({ orderNo }) => orderNo));
  t.is(numbers.size, keys);
  const orders = await service.app.store.read((tx) => tx.orders.count({}));
  t.is(orders, keys);

  const paid = await inParallel(keys, 4, (index) => paidIn(shops, sceneOf(index), { amount: 30 }));
  const refunds = await repeat('refund', (index) => ({ orderNo: paid[index], refundAmount: 5 }));
  t.is(new Set(refunds.map(({ refundNo }) => refundNo)).size, keys);
  t.is(await service.app.store.read((tx) => tx.refunds.count({})), keys);
  const closed = await repeat(
    'close',
    () => undefined,
    (index) => `close/${placed[index].orderNo}`,
  );
  for (const [index, { status }] of closed.entries()) {
    const on = sceneOf(index);
    // Alipay does not know an order before the payer opens or scans it, so it confirms nothing before the expiry.
    const isUnseen = isOpenedByPayer(on) || on.title === 'alipay qr';
    t.is(status, isUnseen ? 'closing' : 'closed', on.title);
  }
  await runUntilQuiet(service, 4 * 3600, 1800);
  const closes = await service.app.store.read((tx) => tx.events.count({ type: 'order.closed' }));
  t.is(closes, keys);
  t.log(`${keys} keys × 5 tries for pay, refund and close: ${replayed} replays, nothing twice`);
  await assertLedgersMatch(t, service);
});

test('a key with another body or for another order is refused', async (t) => {
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
  // Scenes that the payer opens call no channel, so no answer can be lost.
  const scenes = RACED_SCENES.filter((on) => !isOpenedByPayer(on));
  const shops = await openShops(t, scenes);
  const { service } = shops;
  for (const on of scenes) {
    const { payWay, title } = on;
    const shop = shops.shopOf(on);
    for (const fault of ['commit-then-timeout', 'timeout', '502', 'html', 'tampered'] as const) {
      if (payWay === 'paypal' && fault === 'tampered') continue;
      await service.sim('/sim/faults', { payWay, call: 'create', fault, times: 1, delayMs: 100 });
      const headers = { 'idempotency-key': `${title}-${fault}`.replaceAll(' ', '-') };
      const body = requestIn(on, { subject: 'Retry', amount: 12 });
      const lost = await shop.call('POST', '/api/v2/payment/pay', body, headers);
      t.true(lost.status === 504 || lost.status === 502, `${title} ${fault}: ${lost.status}`);
      t.truthy(lost.body.orderNo);
      const again = await shop.call('POST', '/api/v2/payment/pay', body, headers);
      t.is(again.status, 201, `${title} ${fault}: ${JSON.stringify(again.body)}`);
      t.is(again.body.data.orderNo, lost.body.orderNo);
      t.truthy(again.body.data.payment, `${title} ${fault}`);
    }
  }
  for (const [orderNo, { payments }] of await ledgerOf(service)) t.true(payments <= 1, orderNo);
});

test('the same merchantOrderNo with the same facts is the same order; other facts are refused while it is open', async (t) => {
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

test('a key in use is refused to other requests until its lease expires', async (t) => {
  const service = await startService(t);
  const { store, ports } = service.app;
  const once = createWithKey({ store, now: ports.now });
  const request = { scope: 'app:shop', route: 'POST /x', key: 'busy', body: {} } as const;
  const done = { status: 200, headers: {}, body: '{}' };
  const claimIn = (claim: KeyClaim) => store.transaction((tx) => claimKey(tx, claim, 'R1', ports.now()));
  const other = () => once(request, async (claim) => (await claimIn(claim), done));
  await once(request, async (claim) => {
    await claimIn(claim);
    await t.throwsAsync(other(), { code: 'idempotency_in_progress' });
    await t.throwsAsync(claimIn({ ...claim, resume: 'R1' }), { code: 'idempotency_in_progress' });
    service.clock.advance(31);
    t.is((await other()).status, 200);
    return done;
  });
});

test('a stored result is returned, even if the first lookup missed it and the request would be refused', async (t) => {
  const { store } = await postgresDatabase(t);
  const now = () => new Date();
  const withKey = createWithKey({ store, now });
  const request = { scope: 'app:a', route: 'POST /x', key: 'early', body: { one: 1 } } as const;
  const done = { status: 201, headers: {}, body: '{"data":1}' };
  await withKey(request, async (claim) => {
    await store.transaction((tx) => claimKey(tx, claim, 'P1', now()));
    return done;
  });
  const refused = async () => ({ status: 422, headers: {}, body: '{"code":"channel_disabled"}' });
  // Both looked up the key before the first one began.
  t.like(await withKey({ ...request, kept: null }, refused), { status: 201, body: '{"data":1}', replayed: true });
  t.like(await withKey({ ...request, key: 'other', kept: null }, refused), { status: 422 });
  await t.throwsAsync(withKey({ ...request, body: { one: 2 }, kept: null }, refused), { message: /already used/ });
});
