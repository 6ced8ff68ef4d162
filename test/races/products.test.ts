import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { inParallel } from '../support/counts.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';

test('50 concurrent orders sell a stock of 10 exactly, and expiry returns the stock', async (t) => {
  const service = await startService(t);
  const { call } = await firstAdmin(service);
  const shop = await service.merchant();
  const product = {
    code: 'mug',
    name: 'Mug',
    kind: 'goods',
    price: 8,
    currency: 'CNY',
    payWays: ['wechat'],
    stock: 10,
  };
  t.is((await call('POST', '/api/v1/products', product)).status, 201);
  const buy = () =>
    shop.call('POST', '/api/v2/payment/pay', { subject: 'Mug', payWay: 'wechat', product: 'mug', expireSeconds: 120 });
  const answers = await inParallel(50, 10, buy);
  t.is(answers.filter(({ status }) => status === 201).length, 10);
  t.true(answers.every(({ status, body }) => status === 201 || body.code === 'out_of_stock'));
  t.is((await call('GET', '/api/v1/products/mug')).body.data.stock, 0);
  await runUntilQuiet(service, 1800, 120);
  t.is((await call('GET', '/api/v1/products/mug')).body.data.stock, 10);
  t.is((await buy()).status, 201);
  await assertLedgersMatch(t, service);
});

test('a coin package that is paid and notified five times is credited once, and a refund takes the coins back', async (t) => {
  const service = await startService(t);
  const { call } = await firstAdmin(service);
  const shop = await service.merchant();
  t.is((await call('POST', '/api/v1/coins', { code: 'gold', name: 'Gold' })).status, 201);
  const coin = { code: 'gold', amount: 100, bonus: 10 };
  const pack = {
    code: 'pack',
    name: 'Pack',
    kind: 'coin_package',
    price: 6,
    currency: 'CNY',
    payWays: ['alipay'],
    coin,
  };
  t.is((await call('POST', '/api/v1/products', pack)).status, 201);
  const orderNo = await payOrder(service, shop, { product: 'pack', amount: 6, userId: 'u1' });
  await service.sim('/sim/notify', { orderNo, times: 5 });
  const balance = async () => (await call('GET', '/api/v1/coins/gold/accounts/u1')).body.data.balance;
  t.is(await balance(), 110);
  t.is((await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 6 })).status, 200);
  await runUntilQuiet(service, 600, 60);
  t.is(await balance(), 0);
  const books = await call('GET', '/api/v1/books');
  t.true(books.body.data.ok, JSON.stringify(books.body.data.proofs.filter(({ ok }: { ok: boolean }) => !ok)));
});

test('a blocked payer and a disabled project cannot pay, and earlier payments can still be refunded', async (t) => {
  const service = await startService(t);
  const { call } = await firstAdmin(service);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { amount: 10, userId: 'u2' });
  t.is((await call('PUT', '/api/v1/users/u2/toggle')).status, 200);
  const blocked = await shop.call('POST', '/api/v2/payment/pay', {
    subject: 'No',
    amount: 1,
    payWay: 'alipay',
    userId: 'u2',
  });
  t.is(blocked.body.code, 'user_blocked');
  const open = await placeOrder(shop, { amount: 10 });
  t.is((await call('PUT', '/api/v1/projects/default/toggle', { enabled: false })).status, 200);
  const refused = await shop.call('POST', '/api/v2/payment/pay', { subject: 'No', amount: 1, payWay: 'alipay' });
  t.is(refused.body.code, 'project_disabled');
  t.is((await shop.call('GET', `/api/v2/payment/query/${open}`)).status, 200);
  t.is((await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 })).status, 200);
  t.is((await shop.call('POST', `/api/v2/payment/close/${open}`)).status, 200);
});
