import test from 'ava';
import { serve } from '../../support/free-port.ts';
import { startService, until, type Merchant, type Service } from '../../support/service.ts';
import { addSkill, callSkill, paySkill } from '../../support/skillpay.ts';
import { giveCoins } from '../../support/coins.ts';

const open = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', PAY_OAUTH_TOKEN_TTL_SECONDS: '86400' };
const coinPrice = { code: 'bean', amount: 3 };
const body = { resource: 'weather', userId: 'u1' };

async function balance(service: Service, userId = 'u1'): Promise<number> {
  const account = await service.app.store.read((tx) => tx.coinAccounts.find({ coin: 'bean', userId }));
  return Number(account?.balance ?? 0n);
}

/** An upstream that returns the given answers one after the other and repeats the last one. */
async function upstream(t: { teardown(end: () => void): void }, ...statuses: number[]) {
  const calls: string[] = [];
  const url = await serve(t, (request, response) => {
    calls.push(String(request.headers['idempotency-key']));
    response.statusCode = statuses[Math.min(calls.length, statuses.length) - 1] ?? 200;
    response.end(`execution ${calls.length}`);
  });
  return { url: `${url}/run`, calls };
}

async function shopWith(
  service: Service,
  coins: number,
  skill: Parameters<typeof addSkill>[1] = {},
): Promise<Merchant> {
  const shop = await service.merchant();
  await giveCoins(service, 'bean', 'u1', coins);
  await addSkill(service, { coinPrice, ...skill });
  return shop;
}

test('a payer with enough coins is answered immediately, and pays once for a number or a key', async (t) => {
  const service = await startService(t);
  const shop = await shopWith(service, 10);
  const key = { 'idempotency-key': 'call-1' };
  const first = await callSkill(shop, body, undefined, key);
  t.is(first.status, 200, JSON.stringify(first.body));
  const { outTradeNo } = first.body.data;
  t.like(first.body.data, { content: { sky: 'blue' }, alreadyFulfilled: false, coin: coinPrice });
  t.is(first.headers.get('x-out-trade-no'), outTradeNo);
  t.is(first.headers.get('cache-control'), 'private');
  for (const again of [
    await callSkill(shop, body, undefined, key),
    await callSkill(shop, undefined, outTradeNo),
    await callSkill(shop, body, outTradeNo),
  ]) {
    t.is(again.status, 200, JSON.stringify(again.body));
    t.deepEqual(again.body.data, { ...first.body.data, alreadyFulfilled: true });
  }
  t.is(await balance(service), 7);
  t.is((await callSkill(shop, { ...body, input: 1 }, undefined, key)).body.code, 'idempotency_conflict');
  t.is((await callSkill(shop, { ...body, input: 1 }, outTradeNo)).body.code, 'resource_mismatch');
  t.is((await callSkill(shop, body)).status, 200, 'without either it is a new call');
  t.is(await balance(service), 4);
  const other = await service.merchant();
  t.is((await callSkill(other, undefined, outTradeNo)).status, 404);
  const seen = await shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
  t.like(seen.body.data, { kind: 'coin', status: 'paid', fulfilment: 'done', userId: 'u1', coin: coinPrice });
  t.is(await service.app.store.read((tx) => tx.orders.count({})), 0, 'no order of a channel');
});

test('a payer without enough coins receives a 402 with the packs on sale', async (t) => {
  const service = await startService(t);
  const shop = await shopWith(service, 2);
  await addSkill(service, { code: 'plain' });
  const now = new Date();
  await service.app.store.transaction((tx) =>
    tx.products.update(
      { code: 'plain' },
      { kind: 'coin_package', resource: null, coin: { code: 'bean', amount: 100, bonus: 5 }, updatedAt: now },
    ),
  );
  const poor = await callSkill(shop, body);
  t.is(poor.status, 402);
  t.like(poor.body.coins, { code: 'bean', price: 3, available: 2 });
  t.like(poor.body.coins.packs[0], { product: 'plain', price: 0.5, currency: 'CNY', coins: 105 });
  for (const other of [{ resource: 'weather' }, { resource: 'weather', userId: 'nobody' }])
    t.is((await callSkill(shop, other)).status, 402);
  await paySkill(service, poor.body.data.outTradeNo);
  t.is((await callSkill(shop, body, poor.body.data.outTradeNo)).status, 200, 'money pays as ever');
  t.is(await balance(service), 2);
  await giveCoins(service, 'bean', 'u1', 10);
  await service.app.store.transaction((tx) => tx.coins.update({ code: 'bean' }, { enabled: false }));
  t.is((await callSkill(shop, body)).status, 402, 'a coin that is off pays nothing');
});

test('a pack named in the 402 is bought for the payer, and the next call is paid with its coins', async (t) => {
  const service = await startService(t);
  const shop = await shopWith(service, 2);
  await addSkill(service, { code: 'pack' });
  const pack = { kind: 'coin_package', resource: null, coin: { code: 'bean', amount: 100, bonus: 5 } } as const;
  await service.app.store.transaction((tx) => tx.products.update({ code: 'pack' }, pack));
  const [{ product, price, currency }] = (await callSkill(shop, body)).body.coins.packs;
  const order = { subject: 'Beans', amount: price, currency, payWay: 'wechat', product, userId: 'u1' };
  const placed = await shop.call('POST', '/api/v2/payment/pay', order);
  t.is(placed.status, 201, JSON.stringify(placed.body));
  await paySkill(service, placed.body.data.orderNo);
  const called = await callSkill(shop, body, undefined, { 'idempotency-key': 'after-the-pack' });
  t.is(called.status, 200, JSON.stringify(called.body));
  t.deepEqual(called.body.data.content, { sky: 'blue' });
  t.is(await balance(service), 104);
});

test('the coins are refunded once, as the product allows', async (t) => {
  const service = await startService(t);
  const shop = await shopWith(service, 10);
  await addSkill(service, { code: 'kept', coinPrice, refundAfterFulfilment: false });
  const { outTradeNo } = (await callSkill(shop, body)).body.data;
  const refund = (more: object = {}) => shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo, ...more });
  t.is((await refund({ refundAmount: 1 })).status, 400);
  const back = await refund();
  t.like(back.body.data, { kind: 'coin', status: 'refunded' });
  t.deepEqual((await refund()).body.data, back.body.data);
  t.is(await balance(service), 10);
  t.is((await callSkill(shop, undefined, outTradeNo)).body.code, 'order_refunded');
  const kept = (await callSkill(shop, { ...body, resource: 'kept' })).body.data.outTradeNo;
  const refused = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo: kept });
  t.is(refused.body.code, 'refund_after_fulfilment');
});

test('an upstream does the work once, and a repeat after a temporary failure is free', async (t) => {
  const { url, calls } = await upstream(t, 503, 200);
  const service = await startService(t, { env: open });
  const shop = await shopWith(service, 10, { resource: { handler: 'http', url } });
  const key = { 'idempotency-key': 'call-1' };
  const failed = await callSkill(shop, body, undefined, key);
  t.is(failed.status, 503, JSON.stringify(failed.body));
  t.is(failed.body.code, 'fulfilment_unavailable');
  t.is(await balance(service), 7);
  service.clock.advance(3);
  const done = await callSkill(shop, body, undefined, key);
  t.is(done.status, 200, JSON.stringify(done.body));
  t.is(done.body.data.content, 'execution 2');
  t.is((await callSkill(shop, body, undefined, key)).body.data.content, 'execution 2');
  t.is(await balance(service), 7);
  t.deepEqual(calls, [done.body.data.outTradeNo, done.body.data.outTradeNo]);
});

test('the coins are refunded when an upstream refuses permanently, and the answer reports it', async (t) => {
  const { url } = await upstream(t, 404);
  const service = await startService(t, { env: open });
  const shop = await shopWith(service, 10, { resource: { handler: 'http', url } });
  const failed = await callSkill(shop, body);
  t.is(failed.status, 200, JSON.stringify(failed.body));
  t.like(failed.body.data, { status: 'refunded', coin: coinPrice });
  t.is(await balance(service), 10);
  const { outTradeNo } = failed.body.data;
  t.is((await callSkill(shop, undefined, outTradeNo)).body.data.status, 'refunded');
  t.like((await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo })).body.data, { status: 'refunded' });
  t.is(await balance(service), 10, 'once');
});

test('a call whose attempts are exhausted ends automatically and refunds the coins', async (t) => {
  const { url, calls } = await upstream(t, 500);
  const service = await startService(t, { env: open });
  const shop = await shopWith(service, 10, { resource: { handler: 'http', url } });
  await callSkill(shop, body);
  await until('the coins', async () => {
    service.clock.advance(700);
    await service.app.sweep.once();
    return (await balance(service)) === 10;
  });
  t.is(calls.length, 5);
  const [row] = await service.app.store.read((tx) => tx.coinCalls.list({}));
  t.like(row, { fulfilment: 'failed', attempts: 5, nextAttemptAt: null });
});
