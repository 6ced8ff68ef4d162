import test from 'ava';
import { accepted, catalogApp, notText, spoiled } from '../../support/catalog-app.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { openOwnMarket } from '../../support/market.ts';
import { giveCoins } from '../../support/coins.ts';
import { callSkill, paidSkill } from '../../support/skillpay.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin } = file;
coverRoutes(test, file);

const P = '/api/v1/products';
const tea = { code: 'tea', name: 'Tea', kind: 'goods', price: 12.5, currency: 'CNY', payWays: ['alipay', 'wechat'] };

test.serial('a product is created, read, changed and deleted; only a change of price creates a version', async (t) => {
  const { admin, store } = await catalogApp(t);
  t.is((await admin('POST', P, { ...tea, id: 'x', version: 9, enabled: false })).status, 400);
  const made = await admin('POST', P, tea);
  t.is(made.status, 201);
  t.like(made.body.data, { code: 'tea', price: 12.5, priceMinor: 1250, version: 1, enabled: true, stock: null });
  t.like((await admin('PUT', `${P}/tea`, { stock: 5, saleTo: '2030-01-01T00:00:00+08:00' })).body.data, {
    version: 1,
    stock: 5,
    saleTo: '2029-12-31T16:00:00.000Z',
    price: 12.5,
  });
  t.like((await admin('PUT', `${P}/tea`, { price: '13.00' })).body.data, { version: 2, priceMinor: 1300, stock: 5 });
  t.like((await admin('PUT', `${P}/tea`, { price: 13, stock: null })).body.data, { version: 2, stock: null });
  t.like((await admin('PUT', `${P}/tea/toggle`)).body.data, { enabled: false });
  t.is((await admin('DELETE', `${P}/tea`)).status, 204);
  t.is((await admin('GET', `${P}/tea`)).status, 404);
  t.is(await store.read((tx) => tx.audit.count({ target: 'default/tea' })), 6);
});

const skill = { code: 'weather', name: 'Weather', kind: 'skill', price: 1, currency: 'CNY', payWays: ['alipay'] };
const noFault = { handlerFault: null };
const calls = (url: string) => ({ ...skill, resource: { handler: 'http', url } });

for (const [url, code, whenSaved = code] of [
  ['http://shop.example/weather', 'https_required'],
  ['https://10.0.0.7/weather', 'address_refused'],
  ['https://127.1/weather', 'address_refused'],
  ['https://[::ffff:10.0.0.7]/weather', 'address_refused'],
  ['https://localhost:8443/weather', 'address_refused'],
  ['https://user:word@shop.example/weather', 'url_invalid', 'custom'],
] as [url: string, code: string, whenSaved?: string][])
  test.serial(`production rejects a handler that it would never call: ${url}`, async (t) => {
    const { admin, store } = await catalogApp(t);
    const refusal = {
      status: 400,
      body: { code: 'invalid_request', errors: [{ pointer: '/resource/url', code: whenSaved }] },
    };
    t.like(await admin('POST', P, calls(url)), refusal);
    t.is(await store.read((tx) => tx.products.count({ code: 'weather' })), 0);
    t.like(await admin('POST', P, calls('https://shop.example/weather')), { status: 201, body: { data: noFault } });
    t.like(await admin('PUT', `${P}/weather`, { resource: calls(url).resource }), refusal);
    // An invalid URL is rejected under every setting.
    if (code === 'url_invalid') return;
    await store.transaction((tx) =>
      tx.products.update({ code: 'weather' }, { resource: calls(url).resource as never }),
    );
    const named = { handlerFault: code };
    t.like(await admin('GET', `${P}/weather`), { status: 200, body: { data: named } });
    const repriced = await admin('PUT', `${P}/weather`, { price: 2 });
    t.like(repriced, { status: 200, body: { data: { ...named, price: 2 } } }, 'the rest can be changed');
    t.like(await admin('GET', `${P}?kind=skill`), { status: 200, body: { data: [named] } });
  });

test.serial('a handler in an allowed network is saved', async (t) => {
  const { admin } = await catalogApp(t);
  t.like(await admin('POST', P, calls('https://10.1.2.3/weather')), {
    status: 201,
    body: { data: { handlerFault: null } },
  });
});

test.serial(
  'an order keeps its product version, a product with orders is in use, and codes are unique per project',
  async (t) => {
    const { admin, place, store } = await catalogApp(t);
    await admin('POST', P, { ...tea, orderType: 'drinks' });
    const order = await place({ product: 'tea' });
    await admin('PUT', `${P}/tea`, { price: 20 });
    const kept = await store.read((tx) => tx.orders.find({ orderNo: order.orderNo }));
    t.is(kept?.amount, 1250n);
    t.is(kept?.orderType, 'drinks');
    t.like(kept?.product, { code: 'tea', version: 1, priceMinor: '1250' });
    t.like(await admin('DELETE', `${P}/tea`), { status: 409, body: { code: 'in_use' } });
    t.like(await admin('POST', P, tea), { status: 409, body: { code: 'code_taken' } });
    t.is((await admin('POST', `${P}?project=other`, tea)).status, 201);
    t.like(await admin('POST', `${P}?project=nothing`, tea), { status: 400, body: { code: 'invalid_request' } });
  },
);

test.serial(
  'a product off sale, out of stock, over its limit or unknown is refused with its own code, and nothing is written',
  async (t) => {
    const { admin, place, store } = await catalogApp(t);
    await admin('POST', P, { ...tea, stock: 0 });
    const soon = { saleFrom: '2999-01-01T00:00:00Z' };
    await admin('POST', P, { ...tea, ...soon, code: 'soon' });
    await admin('POST', P, { ...tea, code: 'over', saleTo: '2020-01-01T00:00:00Z' });
    await admin('POST', P, { ...tea, code: 'limited', perUserLimit: 1 });
    await admin('POST', P, { ...tea, code: 'off' });
    await admin('PUT', `${P}/off/toggle`);
    await admin('POST', P, { ...tea, code: 'yen', currency: 'JPY', price: 500, payWays: ['paypal'] });
    const refusal = async (request: Parameters<typeof place>[0]) =>
      (await t.throwsAsync<Error & { code: string }>(place(request)))?.code;
    t.is(await refusal({ product: 'tea' }), 'out_of_stock');
    t.is(await refusal({ product: 'soon' }), 'not_on_sale');
    t.is(await refusal({ product: 'over' }), 'not_on_sale');
    t.is(await refusal({ product: 'off' }), 'not_on_sale');
    t.is(await refusal({ product: 'nothing' }), 'invalid_request');
    t.is(await refusal({ product: 'limited' }), 'invalid_request');
    t.is(await refusal({ product: 'limited', userId: 'ann', amount: 1 }), 'price_mismatch');
    t.is(await refusal({ product: 'yen' }), 'not_on_sale');
    t.is(await refusal({ product: 'yen', payWay: 'paypal', currency: 'USD' }), 'price_mismatch');
    t.is(await refusal({ product: 'yen', payWay: 'paypal', amount: 50 }), 'price_mismatch');
    t.is(await store.read((tx) => tx.orders.count({})), 0);
    const yen = await place({ product: 'yen', payWay: 'paypal', amount: 500 });
    t.like(yen, { amount: 500n, currency: 'JPY' });
    await admin('PUT', '/api/v1/projects/default/toggle', { enabled: false });
    t.is(await refusal({ amount: 1 }), 'project_disabled');
  },
);

test.serial('members that contradict each other are 400 and named', async (t) => {
  const { admin } = await catalogApp(t);
  const pointer = async (more: object) => (await admin('POST', P, { ...tea, ...more })).body.errors?.[0]?.pointer;
  t.is(await pointer({ currency: 'USD' }), '/payWays');
  t.is(await pointer({ currency: 'USD', payWays: ['paypal', 'wechat'] }), '/payWays');
  t.is(await pointer({ price: 1.234 }), '/price');
  t.is(await pointer({ kind: 'coin_package' }), '/coin');
  t.is(await pointer({ kind: 'coin_package', coin: { code: 'gold', amount: 1 } }), '/coin/code');
  t.is(await pointer({ coin: { code: 'gold', amount: 1 } }), '/coin');
  t.is(await pointer({ kind: 'skill' }), '/resource');
  t.is(await pointer({ resource: { handler: 'static', content: 1 } }), '/resource');
  t.is(await pointer({ saleFrom: '2030-01-02T00:00:00Z', saleTo: '2030-01-01T00:00:00Z' }), '/saleTo');
  await admin('POST', P, tea);
  t.is((await admin('PUT', `${P}/tea`, { currency: 'USD' })).status, 400);
  t.is((await admin('PUT', `${P}/tea`, { price: 0 })).status, 400);
});

test.serial('a delivered order is not refunded, unless the product allows it', async (t) => {
  const market = await openOwnMarket(file);
  const weather = { ...skill, payWays: ['wechat'], resource: { handler: 'static', content: 'blue' } };
  const make = (more: object) => admin('POST', `${P}?project=${market.project}`, { ...weather, ...more });
  t.false((await make({})).body.data.refundAfterFulfilment);
  t.true((await make({ code: 'trusted', refundAfterFulfilment: true })).body.data.refundAfterFulfilment);
  const caller = await file.shop({ project: market.project, scopes: ['skillpay:call'] });
  const bought = async (resource: string) => {
    const outTradeNo = await paidSkill(file.service, caller, { resource });
    return {
      outTradeNo,
      refund: (more = {}) => caller.call('POST', '/api/v2/skillpay/refund', { outTradeNo, ...more }),
    };
  };
  const { outTradeNo, refund } = await bought('weather');
  refused(t, await refund({ refundAmount: 0.99 }), 409, 'partial_refund_before_delivery');
  t.is((await callSkill(caller, undefined, outTradeNo)).status, 200);
  refused(t, await refund(), 409, 'refund_after_fulfilment');
  const trusted = await bought('trusted');
  t.is((await callSkill(caller, undefined, trusted.outTradeNo)).status, 200);
  t.is((await trusted.refund()).status, 200, 'the price of the switch');
});

test.serial('coins of a delivered call are refunded only if the product allows it', async (t) => {
  const market = await openOwnMarket(file);
  await giveCoins(file.service, 'bean', 'u1', 7, market.project);
  const weather = {
    ...skill,
    resource: { handler: 'static', content: 'blue' },
    coinPrice: { code: 'bean', amount: 7 },
  };
  t.is((await admin('POST', `${P}?project=${market.project}`, weather)).status, 201);
  const { outTradeNo } = (await callSkill(market.shop, { resource: 'weather', userId: 'u1' })).body.data;
  refused(t, await market.shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo }), 409, 'refund_after_fulfilment');
  t.is(
    (await callSkill(market.shop, { resource: 'weather', userId: 'u1' })).status,
    402,
    'seven coins are one content',
  );
});

test.serial('invalid bodies are 400 and store nothing', async (t) => {
  const { admin, store, viewer } = await catalogApp(t);
  const bad = {
    code: [...notText, 'a b', 'x'.repeat(65)],
    name: [...notText, 'x'.repeat(129)],
    kind: ['other', 1, null, {}],
    price: [0, -1, '1e3', 'x', null, {}, [], true, 100_000_001, '-1', ' 1', '１'],
    currency: ['cny', 'CNYX', 1, null, 'XXX'],
    payWays: [[], ['cash'], 'alipay', [1], null, ['__proto__']],
    stock: [-1, 1.5, '1', 1e12, {}],
    perUserLimit: [0, -1, 1.5, '1'],
    saleFrom: ['yesterday', 1, '2030-13-01T00:00:00Z'],
    coin: [{}, [], 'gold', { code: 'gold', amount: 0 }, { code: 'gold', amount: 1, bonus: -1 }],
    resource: [{}, { handler: 'x' }, { handler: 'http', url: 'file:///etc/passwd' }],
    offerTtlSeconds: [1, '60', 1e9],
    refundAfterFulfilment: ['true', 1, null],
    orderType: [1, ''],
    description: [1, 'x'.repeat(2001)],
  };
  t.deepEqual(await accepted(admin, 'POST', P, spoiled(tea, bad)), []);
  t.is(await store.read((tx) => tx.products.count({})), 0);
  for (const query of ['kind=x', 'enabled=1', 'project=a%20b', 'project[$ne]=x', 'code=tea'])
    t.is((await admin('GET', `${P}?${query}`)).status, 400, query);
  t.is((await viewer('POST', P, tea)).status, 403);
  t.is((await admin('POST', P, tea)).status, 201);
  t.deepEqual((await admin('GET', `${P}?kind=skill`)).body.data, []);
  t.is(((await viewer('GET', `${P}?kind=goods&enabled=true`)).body.data as unknown[]).length, 1);
});

test.serial('a product is shown with its price in major and minor units', async (t) => {
  const project = await file.project();
  await admin('POST', `${P}?project=${project}`, tea);
  const { status, body } = await admin('GET', `${P}/tea?project=${project}`);
  t.is(status, 200);
  t.like(body.data, { ...tea, project, priceMinor: 1250, version: 1, enabled: true });
});

test.serial('an unknown product is 404 at every operation', async (t) => {
  refused(t, await admin('GET', `${P}/nothing`), 404, 'not_found');
  refused(t, await admin('PUT', `${P}/nothing`, { name: 'Tea' }), 404, 'not_found');
  refused(t, await admin('PUT', `${P}/nothing/toggle`, {}), 404, 'not_found');
  refused(t, await admin('DELETE', `${P}/nothing`), 404, 'not_found');
});

test.serial('an invalid project is 400 at every operation', async (t) => {
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['GET', '/tea', undefined],
    ['POST', '', tea],
    ['PUT', '/tea', {}],
    ['PUT', '/tea/toggle', {}],
    ['DELETE', '/tea', undefined],
  ] as const)
    refused(t, await admin(method, `${P}${path}?project=a%20b`, body), 400, 'invalid_request');
});

test.serial('a price with more decimals than the currency is rejected, also in a change', async (t) => {
  const project = await file.project();
  const dear = { ...tea, price: 1.234 };
  refused(t, await admin('POST', `${P}?project=${project}`, dear), 400, 'amount_invalid');
  await admin('POST', `${P}?project=${project}`, tea);
  refused(t, await admin('PUT', `${P}/tea?project=${project}`, { price: 1.234 }), 400, 'amount_invalid');
});

test.serial('a coin used by a skill cannot be deleted, and an unknown coin cannot be used', async (t) => {
  const { admin, project } = await openOwnMarket(file);
  const at = `project=${project}`;
  await admin('POST', `/api/v1/coins?${at}`, { code: 'bean', name: 'Bean', clawback: 'refuse' });
  const product = { code: 'p', name: 'P', kind: 'skill', price: 1, currency: 'CNY', payWays: ['wechat'] };
  const add = (price: unknown, more: object = {}) =>
    admin('POST', `/api/v1/products?${at}`, {
      ...product,
      resource: { handler: 'static', content: 'x' },
      coinPrice: price,
      ...more,
    });
  const refused = await add({ code: 'nothing', amount: 1 });
  t.is(refused.body.errors?.[0]?.pointer, '/coinPrice/code', JSON.stringify(refused.body));
  t.is((await add({ code: 'bean', amount: 0 })).status, 400);
  const goods = await add({ code: 'bean', amount: 1 }, { kind: 'goods', resource: undefined });
  t.is(goods.body.errors?.[0]?.pointer, '/coinPrice', JSON.stringify(goods.body));
  const made = await add({ code: 'bean', amount: 1 });
  t.is(made.status, 201, JSON.stringify(made.body));
  t.deepEqual(made.body.data.coinPrice, { code: 'bean', amount: 1 });
  t.is((await admin('DELETE', `/api/v1/coins/bean?${at}`)).status, 409);
});
