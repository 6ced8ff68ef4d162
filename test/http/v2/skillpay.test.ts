import test from 'ava';
import { randomUUID } from 'node:crypto';
import { as } from '../../support/admin.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { serve } from '../../support/free-port.ts';
import { marketIn, openOwnMarket, type Market } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { startService, until } from '../../support/service.ts';
import { addSkill, callSkill, offerSkill, paidSkill, paySkill, redeemAt } from '../../support/skillpay.ts';

const env = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', PAY_RATE_LIMIT_UNPAID_OFFERS_PER_APP: '5' };
const file = await serviceOfFile(import.meta.filename, { env });
const { service, admin } = file;
coverRoutes(test, file);

const NOBODYS = 'X20300101000000ABCDEFGHJK';

let common: Promise<string> | undefined;

async function openCommon(): Promise<string> {
  const project = await file.project();
  await addSkill(service, { project });
  return project;
}

/** A new application in a shared project that sells `weather` for 0.50 CNY, because the keys of a project are slow to generate. */
async function buys(): Promise<Market> {
  return marketIn(file, await (common ??= openCommon()));
}

/** A new project that sells `weather` with static content for 0.50 CNY by default. */
async function sells(changes: Parameters<typeof addSkill>[1] = {}): Promise<Market> {
  const market = await openOwnMarket(file);
  await addSkill(service, { project: market.project, ...changes });
  return market;
}

const refund = ({ shop }: Market, body: object, headers = {}) =>
  shop.call('POST', '/api/v2/skillpay/refund', body, headers);

for (const [payWay, price, brand] of [
  ['wechat', 0.5, 'weixin'],
  ['alipay', 0.5, 'alipay'],
  ['paypal', 1.5, 'paypal'],
] as const) {
  const inDollars = { currency: 'USD', priceMinor: 150n, payWays: ['paypal' as const] };
  const open = () => (payWay === 'paypal' ? sells(inDollars) : buys());

  test.serial(`an unpaid call is 402 and shows how to pay by ${payWay}`, async (t) => {
    const { shop } = await open();
    const { status, body, headers } = await callSkill(shop, { resource: 'weather', payWay });
    t.is(status, 402);
    t.is(body.code, 'payment_required');
    t.like(body.data, { resource: 'weather', amount: price, payWay, status: 'pending' });
    t.truthy(payWay === 'paypal' ? body.data.payUrl : body.data.qrCode);
    t.is(headers.get('x-out-trade-no'), body.data.outTradeNo);
    t.is(headers.get(`${brand}-pay-required`), body.data.paymentCode, 'the brand follows the channel');
    const codes = [...headers.keys()].filter((name) => name.endsWith('pay-required'));
    t.deepEqual(codes, [`${brand}-pay-required`]);
    t.is(headers.get('cache-control'), 'no-store');
    t.truthy(headers.get('retry-after'));
  });

  test.serial(`content paid by ${payWay} is delivered, also repeatedly`, async (t) => {
    const { shop } = await open();
    const outTradeNo = await offerSkill(shop, { resource: 'weather', payWay });
    await paySkill(service, outTradeNo);
    const first = await callSkill(shop, { resource: 'weather', payWay }, outTradeNo);
    t.is(first.status, 200);
    t.like(first.body.data, { outTradeNo, content: { sky: 'blue' }, alreadyFulfilled: false });
    t.is(first.headers.get('cache-control'), 'private');
    const again = await callSkill(shop, undefined, outTradeNo);
    t.deepEqual(again.body.data, { ...first.body.data, alreadyFulfilled: true });
  });

  test.serial(`a call paid by ${payWay} is refunded, and its content is no longer available`, async (t) => {
    const market = await open();
    const outTradeNo = await paidSkill(service, market.shop, { resource: 'weather', payWay });
    const { status, body } = await refund(market, { outTradeNo, reason: 'Rain' });
    t.is(status, 200);
    t.like(body.data, { outTradeNo, refundAmount: price, reason: 'Rain', refundableAmount: 0 });
    refused(t, await callSkill(market.shop, undefined, outTradeNo), 410, 'order_refunded');
  });
}

test.serial('a query returns the state of the order and of the work', async (t) => {
  const { shop } = await buys();
  const outTradeNo = await paidSkill(service, shop);
  const before = await shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
  t.is(before.status, 200);
  t.like(before.body.data, { outTradeNo, status: 'paid', fulfilment: 'none' });
  await callSkill(shop, undefined, outTradeNo);
  const after = await shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
  t.like(after.body.data, { status: 'paid', fulfilment: 'done' });
});

test.serial('the price list has the resources of the project', async (t) => {
  const { shop } = await buys();
  const { status, body } = await shop.call('GET', '/api/v2/skillpay/resources');
  t.is(status, 200);
  const [weather] = body.data.filter(({ resource }: { resource: string }) => resource === 'weather');
  t.like(weather, { resource: 'weather', name: 'Weather report', price: 0.5, amount: 0.5 });
});

test.serial('an unknown number and one of another application are the same 404', async (t) => {
  const market = await buys();
  const outTradeNo = await paidSkill(service, market.shop);
  const stranger = await file.shop({ project: market.project });
  const theirs = await callSkill(stranger, undefined, outTradeNo);
  const nobodys = await callSkill(stranger, undefined, NOBODYS);
  refused(t, theirs, 404, 'not_found');
  t.deepEqual({ ...theirs.body, requestId: '' }, { ...nobodys.body, requestId: '' });
  refused(t, await stranger.call('GET', `/api/v2/skillpay/query/${outTradeNo}`), 404, 'not_found');
  refused(t, await refund({ ...market, shop: stranger }, { outTradeNo }), 404, 'not_found');
});

test.serial('a malformed number is 400', async (t) => {
  const { shop } = await buys();
  for (const malformed of ['X1', 'P20300101000000ABCDEFGHJK', 'X20300101000000abcdefghjk', "X' or 1=1"])
    refused(t, await callSkill(shop, undefined, malformed), 400, 'invalid_request');
});

test.serial('a rejected request names the invalid member', async (t) => {
  const market = await buys();
  refused(t, await callSkill(market.shop, { resource: '../etc' }), 400, 'invalid_request');
  refused(t, await callSkill(market.shop, { payWay: 'cash' }), 400, 'invalid_request');
  const answer = await refund(market, { outTradeNo: NOBODYS, reason: 'x'.repeat(81) });
  refused(t, answer, 400, 'invalid_request');
  t.is(answer.body.errors[0].pointer, '/reason');
});

test.serial('an unknown resource is 404', async (t) => {
  const { shop } = await buys();
  refused(t, await callSkill(shop, { resource: 'nothing' }), 404, 'not_found');
});

test.serial('a resource must be named if there are several', async (t) => {
  const { shop } = await sells();
  await addSkill(service, { project: (await shop.call('GET', '/api/v2/me')).body.data.project, code: 'second' });
  refused(t, await callSkill(shop, {}), 400, 'resource_required');
});

test.serial('a resource is not sold by a channel outside its list', async (t) => {
  const { shop } = await sells({ payWays: ['alipay'] });
  refused(t, await callSkill(shop, { resource: 'weather', payWay: 'wechat' }), 422, 'not_on_sale');
});

test.serial('no offer is created in a disabled project', async (t) => {
  const { shop, project } = await sells();
  await admin('PUT', `/api/v1/projects/${project}/toggle`, { enabled: false });
  refused(t, await callSkill(shop, { resource: 'weather' }), 422, 'project_disabled');
});

test.serial('no offer is created by a disabled channel', async (t) => {
  const { shop, project } = await sells({ payWays: ['alipay'] });
  await offerSkill(shop);
  await admin('PUT', `/api/v1/payment/config/alipay/toggle?project=${project}`, { enabled: false });
  refused(t, await callSkill(shop, { resource: 'weather', payWay: 'alipay' }), 422, 'channel_disabled');
});

test.serial('no offer is created by a channel with an incomplete configuration', async (t) => {
  const { shop, project } = await sells({ payWays: ['alipay'] });
  const incomplete = { mode: 'sandbox', appId: '2021000000000001' };
  await admin('POST', `/api/v1/payment/config/alipay?project=${project}`, incomplete);
  refused(t, await callSkill(shop, { resource: 'weather', payWay: 'alipay' }), 422, 'channel_not_configured');
});

test.serial('an offer that the channel declines is refused', async (t) => {
  const { shop } = await sells({ priceMinor: 2n });
  refused(t, await callSkill(shop, { resource: 'weather' }), 422, 'channel_refused');
});

test.serial('an offer for which the channel stays silent is 504 with its number', async (t) => {
  const { shop } = await buys();
  const silence = { fault: 'commit-then-timeout', hangUpMs: 100, times: 1 };
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'create', ...silence });
  const answer = await callSkill(shop, { resource: 'weather' });
  refused(t, answer, 504, 'channel_outcome_unknown');
  t.regex(answer.body.orderNo, /^X/);
});

test.serial('an offer with a forged channel answer is 502', async (t) => {
  const { shop } = await buys();
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'create', fault: 'wrong-key', times: 1 });
  refused(t, await callSkill(shop, { resource: 'weather' }), 502, 'channel_answer_unusable');
});

test.serial('no more unpaid offers than allowed may be open, and a paid offer frees its place', async (t) => {
  const { shop } = await buys();
  const offers = [];
  for (let number = 0; number < 5; number += 1) offers.push(await offerSkill(shop));
  const answer = await callSkill(shop, { resource: 'weather' });
  refused(t, answer, 429, 'too_many_offers');
  t.truthy(answer.headers.get('retry-after'));
  await paySkill(service, offers[0] ?? '');
  t.is((await callSkill(shop, { resource: 'weather' })).status, 402);
});

test.serial(
  'a request that differs from the priced one is refused, and the same request or an empty one is accepted',
  async (t) => {
    const { shop } = await buys();
    const priced = { resource: 'weather', input: { city: 'Paris', days: [1, 2] } };
    const outTradeNo = await paidSkill(service, shop, priced);
    for (const other of [{ ...priced, input: { city: 'Rome', days: [1, 2] } }, { resource: 'weather' }])
      refused(t, await callSkill(shop, other, outTradeNo), 409, 'resource_mismatch');
    const reordered = { input: { days: [1, 2], city: 'Paris' }, resource: 'weather' };
    for (const same of [priced, reordered, {}, undefined])
      t.is((await callSkill(shop, same, outTradeNo)).status, 200, JSON.stringify(same));
  },
);

test.serial('an invalid proof is refused', async (t) => {
  const { shop } = await buys();
  const answer = await callSkill(shop, undefined, undefined, { 'payment-signature': 'nonsense' });
  refused(t, answer, 400, 'proof_invalid');
});

test.serial('an offer closed by the merchant is 409', async (t) => {
  const { shop } = await buys();
  const outTradeNo = await offerSkill(shop);
  t.is((await shop.call('POST', `/api/v2/payment/close/${outTradeNo}`)).status, 200);
  refused(t, await callSkill(shop, undefined, outTradeNo), 409, 'order_closed');
});

test.serial('an expired offer of a product off sale is 402 without a new offer', async (t) => {
  const { shop, project } = await sells();
  const outTradeNo = await offerSkill(shop);
  const ended = { state: 'closed', closeReason: 'expired', nextCheckAt: null } as const;
  await service.app.store.transaction(async (tx) => {
    await tx.orders.update({ orderNo: outTradeNo }, ended);
    await tx.products.update({ code: 'weather', project }, { enabled: false });
  });
  const answer = await callSkill(shop, undefined, outTradeNo);
  refused(t, answer, 402, 'payment_expired');
  t.is(answer.body.data, undefined);
  for (const name of ['x-out-trade-no', 'weixin-pay-required', 'payment-required'])
    t.is(answer.headers.get(name), null, name);
});

test.serial('neither the content nor the money is returned while the work is under way', async (t) => {
  let done = () => {};
  const begun = Promise.withResolvers<void>();
  const url = await serve(t, (_request, response) => {
    done = () => void response.end('done');
    begun.resolve();
  });
  const market = await sells({ resource: { handler: 'http', url } });
  const { databaseUrl, simulator, clock } = service;
  const beside = { url: databaseUrl, simulator, now: clock.now, env };
  const impatient = await startService(t, { ...beside, patience: { work: 1 } });
  const outTradeNo = await paidSkill(service, market.shop);
  const working = callSkill(market.shop, undefined, outTradeNo);
  await begun.promise;
  refused(t, await redeemAt(impatient.url, market.shop, outTradeNo), 409, 'fulfilment_in_progress');
  refused(t, await refund(market, { outTradeNo }), 409, 'fulfilment_in_progress');
  done();
  await working;
  await until('the work is done', async () => {
    const { body } = await market.shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
    return body.data.fulfilment === 'done';
  });
  const given = await callSkill(market.shop, undefined, outTradeNo);
  t.is(given.status, 200, JSON.stringify(given.body));
  t.is(given.body.data.content, 'done');
});

test.serial('a temporary failure of the work costs nothing, and a call after the pause gets the content', async (t) => {
  let calls = 0;
  const url = await serve(t, (_request, response) => {
    calls += 1;
    response.statusCode = calls === 1 ? 503 : 200;
    response.end('done');
  });
  const { shop } = await sells({ resource: { handler: 'http', url } });
  const outTradeNo = await paidSkill(service, shop);
  const answer = await callSkill(shop, undefined, outTradeNo);
  refused(t, answer, 503, 'fulfilment_unavailable');
  t.truthy(answer.headers.get('retry-after'));
  service.clock.advance(3);
  const given = await callSkill(shop, undefined, outTradeNo);
  t.is(given.status, 200, JSON.stringify(given.body));
  t.is(given.body.data.content, 'done');
});

test.serial('work that failed permanently reports a pending refund', async (t) => {
  const url = await serve(t, (_request, response) => void response.writeHead(404).end());
  const { shop } = await sells({ resource: { handler: 'http', url } });
  const outTradeNo = await paidSkill(service, shop);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: '502', orderNo: outTradeNo });
  refused(t, await callSkill(shop, undefined, outTradeNo), 500, 'fulfilment_failed_refund_pending');
});

test.serial(
  'an Idempotency-Key of the first call returns the same offer, and is refused with another input',
  async (t) => {
    const { shop } = await buys();
    const key = { 'idempotency-key': 'once' };
    const first = await callSkill(shop, { resource: 'weather', input: 1 }, undefined, key);
    const again = await callSkill(shop, { resource: 'weather', input: 1 }, undefined, key);
    t.is(again.body.data.outTradeNo, first.body.data.outTradeNo);
    const other = await callSkill(shop, { resource: 'weather', input: 2 }, undefined, key);
    refused(t, other, 422, 'idempotency_conflict');
  },
);

test.serial('an Idempotency-Key refunds once, and is refused with another amount', async (t) => {
  const market = await buys();
  const outTradeNo = await paidSkill(service, market.shop);
  const key = { 'idempotency-key': 'back' };
  const first = await refund(market, { outTradeNo, refundAmount: 0.1 }, key);
  const again = await refund(market, { outTradeNo, refundAmount: 0.1 }, key);
  t.deepEqual([again.status, again.body], [200, first.body]);
  t.is(again.headers.get('idempotent-replayed'), 'true');
  refused(t, await refund(market, { outTradeNo, refundAmount: 0.2 }, key), 422, 'idempotency_conflict');
});

test.serial('an unpaid offer cannot be refunded', async (t) => {
  const market = await buys();
  refused(t, await refund(market, { outTradeNo: await offerSkill(market.shop) }), 409, 'order_not_paid');
});

test.serial('a refund above the paid amount is refused', async (t) => {
  const market = await buys();
  const outTradeNo = await paidSkill(service, market.shop);
  refused(t, await refund(market, { outTradeNo, refundAmount: 0.51 }), 422, 'refund_exceeds_refundable');
});

test.serial('a merchantRefundNo cannot be reused with another amount', async (t) => {
  const market = await buys();
  const outTradeNo = await paidSkill(service, market.shop);
  await refund(market, { outTradeNo, refundAmount: 0.1, merchantRefundNo: 'r-1' });
  const other = { outTradeNo, refundAmount: 0.2, merchantRefundNo: 'r-1' };
  refused(t, await refund(market, other), 409, 'merchant_number_used');
});

test.serial('a repeated equal refund is refused until the outcome of the first one is known', async (t) => {
  const market = await buys();
  const outTradeNo = await paidSkill(service, market.shop);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: '502', orderNo: outTradeNo });
  await refund(market, { outTradeNo, refundAmount: 0.1 });
  refused(t, await refund(market, { outTradeNo, refundAmount: 0.1 }), 409, 'refund_in_progress');
});

test.serial('an exception that blocks refunds blocks a pay-per-call refund', async (t) => {
  const market = await buys();
  const outTradeNo = await paidSkill(service, market.shop);
  const exception = {
    id: randomUUID(),
    orderNo: outTradeNo,
    kind: 'refund_unexplained',
    dedupe: 'once',
    state: 'open',
    blocksRefunds: true,
    clientId: market.shop.clientId,
    project: market.project,
    createdAt: service.clock.now(),
  } as const;
  await service.app.store.transaction((tx) => tx.exceptions.insert(exception));
  refused(t, await refund(market, { outTradeNo }), 409, 'refunds_blocked');
});

test.serial('a channel accepts a limited number of refunds of one order, within a limited time', async (t) => {
  const market = await buys();
  const outTradeNo = await paidSkill(service, market.shop);
  await refund(market, { outTradeNo, refundAmount: 0.01 });
  await service.app.store.transaction(async (tx) => {
    const made = await tx.refunds.find({ orderNo: outTradeNo });
    if (!made) throw new Error('no refund');
    for (let number = 1; number < 50; number += 1)
      await tx.refunds.insert({ ...made, refundNo: `${made.refundNo}-${number}` });
  });
  refused(t, await refund(market, { outTradeNo, refundAmount: 0.1 }), 422, 'refund_limit_reached');
  const old = await paidSkill(service, market.shop);
  const paidAt = new Date(service.clock.now().getTime() - 366 * 86_400_000);
  await service.app.store.transaction((tx) => tx.orders.update({ orderNo: old }, { paidAt }));
  refused(t, await refund(market, { outTradeNo: old, refundAmount: 0.1 }), 409, 'refund_window_over');
});

test.serial('a product may forbid refunds after delivery to the merchant, but not to an administrator', async (t) => {
  const market = await sells({ refundAfterFulfilment: false });
  const outTradeNo = await paidSkill(service, market.shop);
  t.is((await callSkill(market.shop, undefined, outTradeNo)).status, 200);
  refused(t, await refund(market, { outTradeNo }), 409, 'refund_after_fulfilment');
  const asPayment = { orderNo: outTradeNo, refundAmount: 0.5 };
  const merchants = as(service, market.shop.token);
  refused(t, await merchants('POST', '/api/v2/payment/refund', asPayment), 409, 'refund_after_fulfilment');
  t.is((await admin('POST', '/api/v1/console/payment/refund', asPayment)).status, 200);
});

test.serial(
  'a product that forbids refunds after delivery allows its merchant no partial refund before it',
  async (t) => {
    const market = await sells({ refundAfterFulfilment: false });
    const outTradeNo = await paidSkill(service, market.shop);
    const most = { outTradeNo, refundAmount: 0.4 };
    refused(t, await refund(market, most), 409, 'partial_refund_before_delivery');
    const merchants = as(service, market.shop.token);
    const asPayment = { orderNo: outTradeNo, refundAmount: 0.4 };
    refused(t, await merchants('POST', '/api/v2/payment/refund', asPayment), 409, 'partial_refund_before_delivery');
    t.is(
      (await admin('POST', '/api/v1/console/payment/refund', { orderNo: outTradeNo, refundAmount: 0.1 })).status,
      200,
    );
    t.is((await refund(market, { outTradeNo })).status, 200, 'the rest is all that is left');
    refused(t, await callSkill(market.shop, undefined, outTradeNo), 410, 'order_refunded');
  },
);

for (const path of ['/api/v2/skillpay/refund', '/api/v2/payment/refund'])
  test.serial(
    `a partial refund by the application before delivery ends the claim to the content: ${path}`,
    async (t) => {
      const market = await sells({ refundAfterFulfilment: true });
      const outTradeNo = await paidSkill(service, market.shop);
      const number = path.includes('skillpay') ? { outTradeNo } : { orderNo: outTradeNo };
      t.is((await market.shop.call('POST', path, { ...number, refundAmount: 0.49 })).status, 200);
      refused(t, await callSkill(market.shop, undefined, outTradeNo), 410, 'order_refunded');
      const seen = await market.shop.call('GET', `/api/v2/skillpay/query/${outTradeNo}`);
      t.like(seen.body.data, { fulfilment: 'none', fulfilledAt: null });
      t.is((await refund(market, { outTradeNo })).status, 200, 'the rest is refunded as well');
      refused(t, await callSkill(market.shop, undefined, outTradeNo), 410, 'order_refunded');
    },
  );

test.serial(
  'a partial refund by the operator before delivery, here or in the portal, keeps the content available',
  async (t) => {
    const market = await sells({ refundAfterFulfilment: true });
    const here = await paidSkill(service, market.shop);
    t.is((await admin('POST', '/api/v1/console/payment/refund', { orderNo: here, refundAmount: 0.1 })).status, 200);
    t.is((await callSkill(market.shop, undefined, here)).status, 200);
    const portal = await paidSkill(service, market.shop);
    await service.sim('/sim/refund-elsewhere', { orderNo: portal, amount: '0.10' });
    await learned(portal, 10n);
    t.is((await callSkill(market.shop, undefined, portal)).status, 200);
    const whole = await paidSkill(service, market.shop);
    await service.sim('/sim/refund-elsewhere', { orderNo: whole, amount: '0.50' });
    await learned(whole, 50n);
    refused(t, await callSkill(market.shop, undefined, whole), 410, 'order_refunded');
  },
);

/** Waits until the service has recorded this refunded amount of an order. */
async function learned(orderNo: string, refunded: bigint): Promise<void> {
  await until(`${orderNo} refunded`, async () => {
    await service.app.sweep.once();
    return (await service.app.store.read((tx) => tx.orders.find({ orderNo })))?.refunded === refunded;
  });
}

test.serial('a pending partial refund ends the claim, too', async (t) => {
  const market = await sells({ refundAfterFulfilment: true });
  const outTradeNo = await paidSkill(service, market.shop);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: '502', orderNo: outTradeNo });
  t.is((await refund(market, { outTradeNo, refundAmount: 0.2 })).status, 200);
  refused(t, await callSkill(market.shop, undefined, outTradeNo), 410, 'order_refunded');
});
