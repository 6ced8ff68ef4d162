import test from 'ava';
import { createPublicKey, verify } from 'node:crypto';
import { stateOf } from '../../support/orders.ts';
import { request, startService, until } from '../../support/service.ts';
import { addSkill, callSkill, offerSkill, paidSkill, paySkill, withNewToken } from '../../support/skillpay.ts';

test('unpaid repeats keep number, code and headers, and create no second order', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const first = await callSkill(shop, { resource: 'weather' });
  const { outTradeNo } = first.body.data;
  for (let round = 0; round < 3; round++) {
    service.clock.advance(6);
    const again = await callSkill(shop, undefined, outTradeNo);
    t.is(again.status, 402);
    for (const name of ['weixin-pay-required', 'x-out-trade-no', 'payment-required', 'retry-after'])
      t.is(again.headers.get(name), first.headers.get(name), name);
    t.is(again.body.data.paymentCode, first.body.data.paymentCode);
    t.is(again.body.data.status, 'pending');
  }
  t.is(await service.app.store.read((tx) => tx.orders.count({})), 1);
  t.is(await service.app.store.read((tx) => tx.skillOrders.count({ attempts: 0 })), 1);
});

test('a silent channel gives the same 402 with status unknown', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const outTradeNo = await offerSkill(shop);
  service.clock.advance(6);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'query', fault: 'timeout', delayMs: 100 });
  const silent = await callSkill(shop, undefined, outTradeNo);
  t.is(silent.status, 402);
  t.is(silent.body.data.status, 'unknown');
  t.is(silent.body.data.outTradeNo, outTradeNo);
});

test('an expired offer keeps its 402 until it is closed, then a new offer replaces it', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const outTradeNo = await offerSkill(shop);
  service.clock.advance(901);
  const between = await callSkill(shop, undefined, outTradeNo);
  t.is(between.body.code, 'payment_required');
  service.clock.advance(3600);
  await service.sim('/sim/clock', { advanceSeconds: 4501 });
  await service.app.sweep.once();
  service.clock.advance(120);
  await service.app.sweep.once();
  t.is(await stateOf(service, outTradeNo), 'closed');
  const ended = await callSkill(await withNewToken(service, shop), undefined, outTradeNo);
  t.is(ended.status, 402);
  t.is(ended.body.code, 'payment_expired');
  const fresh = ended.body.data.outTradeNo;
  t.not(fresh, outTradeNo);
  t.is(ended.body.data.inPlaceOf, outTradeNo);
  t.is(ended.headers.get('x-out-trade-no'), fresh);
  for (const name of ['weixin-pay-required', 'payment-required']) t.truthy(ended.headers.get(name), name);
  const customer = await withNewToken(service, shop);
  const again = await callSkill(customer, undefined, outTradeNo);
  t.is(again.body.data.outTradeNo, fresh, 'the same one each time');
  await paySkill(service, fresh);
  for (const number of [outTradeNo, fresh]) {
    const { status, body } = await callSkill(customer, undefined, number);
    t.is(status, 200, JSON.stringify(body));
    t.is(body.data.outTradeNo, fresh);
  }
  t.is(await service.app.store.read((tx) => tx.orders.count({})), 2);
});

test('a payment before or after the close of its offer is honoured', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const outTradeNo = await offerSkill(shop);
  for (const payWay of ['wechat', 'alipay', 'paypal']) await service.sim('/sim/notices', { payWay, enabled: false });
  service.clock.advance(4600);
  await service.sim('/sim/clock', { advanceSeconds: 4600 });
  await service.app.sweep.once();
  service.clock.advance(120);
  await service.app.sweep.once();
  t.is(await stateOf(service, outTradeNo), 'closed');
  await service.sim('/sim/pay', { orderNo: outTradeNo, force: true });
  const late = await callSkill(await withNewToken(service, shop), undefined, outTradeNo);
  t.is(late.status, 200, JSON.stringify(late.body));
  t.is(await stateOf(service, outTradeNo), 'paid');
});

test('delivered content stays available after a partial refund and not after a full one, whichever side refunded', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const outTradeNo = await paidSkill(service, shop);
  t.is((await callSkill(shop, undefined, outTradeNo)).status, 200);
  const part = { outTradeNo, refundAmount: 0.2 };
  t.is((await shop.call('POST', '/api/v2/skillpay/refund', part)).status, 200);
  t.is((await callSkill(shop, undefined, outTradeNo)).status, 200);
  const rest = { orderNo: outTradeNo, refundAmount: 0.3 };
  t.is((await shop.call('POST', '/api/v2/payment/refund', { ...rest, merchantRefundNo: 'rest' })).status, 200);
  const gone = await callSkill(shop, undefined, outTradeNo);
  t.is(gone.status, 410);
  t.is(gone.body.code, 'order_refunded');
});

test('a paid offer is redeemed although project, product and channel are switched off', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { id } = await addSkill(service);
  const outTradeNo = await paidSkill(service, shop);
  await service.app.store.transaction(async (tx) => {
    await tx.products.update({ id }, { enabled: false });
    await tx.projects.update({ code: 'default' }, { enabled: false });
    await tx.channelStates.update({ project: 'default' }, { enabled: false });
  });
  t.is((await callSkill(shop, { resource: 'weather' })).status, 422);
  t.is((await callSkill(shop, undefined, outTradeNo)).status, 200);
});

test('an order keeps the content version that it was created with', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { id } = await addSkill(service);
  const outTradeNo = await offerSkill(shop);
  const resource = { handler: 'static', content: 'other' } as const;
  await service.app.store.transaction((tx) => tx.products.update({ id }, { resource, priceMinor: 1n, version: 2 }));
  await paySkill(service, outTradeNo);
  t.deepEqual((await callSkill(shop, undefined, outTradeNo)).body.data.content, { sky: 'blue' });
});

test('the resource of a call is the named one, the demo of Debug or the only one', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const demo = await callSkill(shop, undefined);
  t.is(demo.body.data.resource, 'demo');
  t.is(demo.body.data.amount, 0.1);
  await addSkill(service, { payWays: ['alipay'] });
  t.is((await callSkill(shop, {})).body.data.resource, 'demo');
  t.is((await callSkill(shop, { resource: 'weather' })).body.data.payWay, 'alipay');
  t.is((await callSkill(shop, { resource: 'nothing' })).status, 404);
  t.is((await callSkill(shop, { resource: 'weather', payWay: 'wechat' })).body.code, 'not_on_sale');
  t.is((await callSkill(shop, { resource: '../etc' })).status, 400);
  const list = await shop.call('GET', '/api/v2/skillpay/resources');
  t.deepEqual(
    list.body.data.map(({ resource, price }: Record<string, unknown>) => [resource, price]),
    [
      ['demo', 0.1],
      ['weather', 0.5],
    ],
  );
  await service.app.store.transaction((tx) => tx.products.delete({ code: 'demo' }));
  t.is((await callSkill(shop, {})).body.data.resource, 'weather');
  await addSkill(service, { code: 'second' });
  t.is((await callSkill(shop, {})).body.code, 'resource_required');
});

test('concurrent calls create no more unpaid offers than allowed, and a paid offer frees its place', async (t) => {
  const service = await startService(t, { env: { PAY_RATE_LIMIT_UNPAID_OFFERS_PER_APP: '5' } });
  const shop = await service.merchant();
  const other = await service.merchant();
  await addSkill(service);
  const answers = await Promise.all(Array.from({ length: 20 }, () => callSkill(shop, { resource: 'weather' })));
  const offers = answers.filter(({ status }) => status === 402);
  t.is(offers.length, 5);
  const refused = answers.find(({ status }) => status === 429);
  t.is(refused?.body.code, 'too_many_offers');
  t.truthy(refused?.headers.get('retry-after'));
  t.is((await callSkill(other, { resource: 'weather' })).status, 402);
  await paySkill(service, offers[0]?.body.data.outTradeNo);
  t.is((await callSkill(shop, { resource: 'weather' })).status, 402);
  t.is((await callSkill(shop, { resource: 'weather' })).status, 429);
});

test('a key leads to its order: first the 402, then the content; with a number the key is ignored', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const key = { 'idempotency-key': 'once' };
  const body = { resource: 'weather', input: 1 };
  const first = await callSkill(shop, body, undefined, key);
  const again = await callSkill(shop, body, undefined, key);
  t.is(again.status, 402);
  const { outTradeNo } = first.body.data;
  t.is(again.body.data.outTradeNo, outTradeNo);
  t.is((await callSkill(shop, { resource: 'weather', input: 2 }, undefined, key)).body.code, 'idempotency_conflict');
  await paySkill(service, outTradeNo);
  const paid = await callSkill(shop, body, undefined, key);
  t.is(paid.status, 200);
  t.is(paid.body.data.outTradeNo, outTradeNo);
  t.is((await callSkill(shop, body, outTradeNo, { 'idempotency-key': 'never seen' })).status, 200);
  t.is(await service.app.store.read((tx) => tx.orders.count({})), 1);
  const refund = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo }, { 'idempotency-key': 'back' });
  const replay = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo }, { 'idempotency-key': 'back' });
  t.deepEqual(replay.body, refund.body);
  t.is(replay.headers.get('idempotent-replayed'), 'true');
});

test('codes and receipts are signed with a published key and contain the agreed terms', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const offer = await callSkill(shop, { resource: 'weather', input: { city: 'Paris' } });
  const { outTradeNo, paymentCode } = offer.body.data;
  await paySkill(service, outTradeNo);
  const { receipt } = (await callSkill(shop, undefined, outTradeNo)).body.data;
  const { keys } = (await request(service.url, 'GET', '/.well-known/jwks.json')).body;
  t.is(keys.length, 1);
  t.false('d' in keys[0]);
  const read = (jws: string, typ: string) => {
    const [head = '', payload = '', signature = ''] = jws.split('.');
    const header = JSON.parse(Buffer.from(head, 'base64url').toString());
    t.like(header, { alg: 'EdDSA', typ, kid: keys[0].kid });
    const publicKey = createPublicKey({ key: keys[0], format: 'jwk' });
    t.true(verify(null, Buffer.from(`${head}.${payload}`), publicKey, Buffer.from(signature, 'base64url')));
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  };
  t.like(read(paymentCode, 'pay-code+jws'), {
    iss: service.url,
    aud: shop.clientId,
    mode: 'simulator',
    outTradeNo,
    resource: 'weather',
    amountMinor: 50,
    currency: 'CNY',
    payWay: 'wechat',
  });
  t.like(read(receipt, 'pay-receipt+jws'), { outTradeNo, resource: 'weather', amountMinor: 50, mode: 'simulator' });
  const rows = await service.app.store.read((tx) => tx.signingKeys.list({}));
  t.false(JSON.stringify(rows).includes('"d"'));
});

test('all headers of a 402 together are less than 4 KB, even with the longest names', async (t) => {
  const origin = 'https://shop.example';
  const service = await startService(t, { env: { PAY_SERVER_CORS_ORIGINS: origin } });
  const shop = await service.merchant();
  const code = 'r'.repeat(64);
  await addSkill(service, { code, name: '天气'.repeat(60) });
  await addSkill(service, { code: 'abroad', currency: 'USD', priceMinor: 9_999_999n, payWays: ['paypal'] });
  for (const resource of [code, 'abroad']) {
    const { status, headers } = await callSkill(shop, { resource, input: 'x'.repeat(50_000) }, undefined, { origin });
    t.is(status, 402);
    const size = [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
    t.true(size < 4096, `${size} bytes`);
    for (const [, value] of headers) t.regex(value, /^[\x20-\x7e]*$/);
  }
});

test('events and statistics record offers and deliveries, and contain no codes', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  await offerSkill(shop);
  const outTradeNo = await paidSkill(service, shop);
  await callSkill(shop, undefined, outTradeNo);
  await callSkill(shop, undefined, outTradeNo);
  const events = await service.app.store.read((tx) => tx.events.list({ clientId: shop.clientId }));
  t.is(events.filter(({ type }) => type === 'skillpay.offered').length, 2);
  t.is(events.filter(({ type }) => type === 'skillpay.fulfilled').length, 1);
  t.false(JSON.stringify(events, (_, one) => (typeof one === 'bigint' ? String(one) : one)).includes('eyJ'));
  const refunded = await paidSkill(service, shop);
  await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo: refunded });
  await until('refunded', async () => {
    await service.app.sweep.once();
    const { body } = await shop.call('GET', `/api/v2/skillpay/query/${refunded}`);
    return body.data.status === 'refunded';
  });
  const figures = await service.app.skillpay.stats({ clientId: shop.clientId });
  t.like(figures[0], { resource: 'weather', offered: 3, paid: 2, fulfilled: 1, failed: 0, refunded: 1, revenue: 0.5 });
});

test('an offer that is paid and not claimed for a day becomes an exception, and its content stays available', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const outTradeNo = await paidSkill(service, shop);
  service.clock.advance(86_300);
  await service.app.sweep.once();
  const open = () => service.app.store.read((tx) => tx.exceptions.list({ orderNo: outTradeNo, state: 'open' }));
  t.is((await open()).length, 0);
  service.clock.advance(200);
  await service.app.sweep.once();
  await service.app.sweep.once();
  t.deepEqual(
    (await open()).map(({ kind }) => kind),
    ['unclaimed'],
  );
  t.is((await callSkill(await withNewToken(service, shop), undefined, outTradeNo)).status, 200);
  t.is((await open()).length, 0);
});
