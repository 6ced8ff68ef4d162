import test from 'ava';
import { PAY_WAYS } from '../../../server/payments/channel.ts';
import { Order, PlacePaymentRequest } from '../../../server/routes/schemas/orders.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket, openOwnMarket } from '../../support/market.ts';
import { placeOrder } from '../../support/orders.ts';
import { PAY_REFUSALS, REFUND_REFUSALS } from '../../support/payment-refusals.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { until } from '../../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
const { service, admin } = file;
coverRoutes(test, file);

const NOBODYS = 'P20300101000000ABCDEFGHJK';
const coffee = { subject: 'Two coffees', amount: 12.5, payWay: 'alipay' };

for (const { when, status, code, request } of PAY_REFUSALS) {
  test.serial(`a payment is refused ${when}`, async (t) => {
    const market = await openOwnMarket(file);
    refused(t, await market.shop.call('POST', '/api/v2/payment/pay', await request(market)), status, code);
  });
}

for (const { when, status, code, request } of REFUND_REFUSALS) {
  test.serial(`a refund is refused ${when}`, async (t) => {
    const market = await openMarket(file);
    refused(t, await market.shop.call('POST', '/api/v2/payment/refund', await request(market)), status, code);
  });
}

test.serial('a payment is refused when its merchantOrderNo belongs to a different payment', async (t) => {
  const { shop } = await openMarket(file);
  const merchantOrderNo = 'cart-7';
  await placeOrder(shop, { ...coffee, merchantOrderNo });
  const other = { ...coffee, merchantOrderNo, amount: 13 };
  refused(t, await shop.call('POST', '/api/v2/payment/pay', other), 409, 'merchant_number_used');
});

test.serial(
  'a repeated merchantOrderNo must have the same options of its channel, and options of other channels are ignored',
  async (t) => {
    const { shop } = await openMarket(file);
    const merchantOrderNo = 'cart-8';
    const channelOptions = { alipay: { storeId: 'S1' } };
    const orderNo = await placeOrder(shop, { ...coffee, merchantOrderNo, channelOptions });
    const again = { ...channelOptions, wechat: { attach: 'A1' } };
    t.is(await placeOrder(shop, { ...coffee, merchantOrderNo, channelOptions: again }), orderNo);
    const other = { ...coffee, merchantOrderNo, channelOptions: { alipay: { storeId: 'S2' } } };
    refused(t, await shop.call('POST', '/api/v2/payment/pay', other), 409, 'merchant_number_used');
  },
);

for (const [payWay, header] of [
  ['alipay', 'trace_id'],
  ['wechat', 'Request-ID'],
  ['paypal', 'PayPal-Debug-Id'],
] as const)
  test.serial(`an inconclusive answer of ${payWay} still returns the ${header} that its support needs`, async (t) => {
    const { shop } = await openOwnMarket(file);
    await service.sim('/sim/faults', { payWay, call: 'create', fault: '500-after-commit', times: 1 });
    const { status, body } = await shop.call('POST', '/api/v2/payment/pay', { ...coffee, payWay });
    t.is(status, 504);
    const { orderNo, supportId } = body;
    t.regex(supportId, /^[0-9a-f]{14}$/);
    const isThere = ({ detail }: { detail: { supportId?: string } }) => detail.supportId === supportId;
    await until('the message in the timeline', async () => {
      const timeline = await admin('GET', `/api/v1/orders/${orderNo}/timeline`);
      return timeline.body.data.some(isThere);
    });
  });

test.serial('a refusal of the channel contains the id that its support needs', async (t) => {
  const { shop } = await openMarket(file);
  const answer = await shop.call('POST', '/api/v2/payment/pay', { ...coffee, amount: 0.02 });
  refused(t, answer, 422, 'channel_refused');
  t.regex(answer.body.channel.supportId, /^[0-9a-f]{14}$/);
});

for (const [payWay, word, code, cause] of [
  ['alipay', 'BRAND_NEW_REASON', 'ACQ.BRAND_NEW_REASON', 'unlisted'],
  ['alipay', 'TRADE_HAS_SUCCESS', 'ACQ.TRADE_HAS_SUCCESS', 'trade_may_exist'],
  ['wechat', 'BRAND_NEW_REASON', 'BRAND_NEW_REASON', 'unlisted'],
  ['wechat', 'OUT_TRADE_NO_USED', 'OUT_TRADE_NO_USED', 'trade_may_exist'],
  ['paypal', 'PAYEE_NOT_CONSENTED', 'PAYEE_NOT_CONSENTED', 'unlisted'],
  ['paypal', 'DUPLICATE_INVOICE_ID', 'DUPLICATE_INVOICE_ID', 'trade_may_exist'],
] as const)
  test.serial(
    `a create that ${payWay} refuses with ${word} returns the channel's code, ends nothing, and is not stored as the answer`,
    async (t) => {
      const { shop } = await openMarket(file);
      await service.sim('/sim/faults', { payWay, call: 'create', fault: 'refused', word, times: 1 });
      const pay = () =>
        shop.call('POST', '/api/v2/payment/pay', { ...coffee, payWay }, { 'idempotency-key': `${payWay}-${word}` });
      const first = await pay();
      refused(t, first, 502, 'channel_refusal_inconclusive');
      const { orderNo } = first.body;
      t.like(first.body, { retryable: true, cause, channel: { payWay, code } });
      t.truthy(first.body.channel.message);
      t.is((await admin('GET', `/api/v1/orders/${orderNo}`)).body.data.status, 'created');
      const again = await pay();
      t.is(again.status, 201);
      t.is(again.body.data.orderNo, orderNo);
    },
  );

test.serial('a refusal that would end a first create is inconclusive for a repeated one', async (t) => {
  const { shop } = await openMarket(file);
  const pay = () => shop.call('POST', '/api/v2/payment/pay', coffee, { 'idempotency-key': 'refused-again' });
  const fault = { payWay: 'alipay', call: 'create', times: 1 };
  await service.sim('/sim/faults', { ...fault, fault: '502' });
  const { orderNo } = (await pay()).body;
  await service.sim('/sim/faults', { ...fault, fault: 'refused', word: 'INVALID_PARAMETER' });
  const again = await pay();
  refused(t, again, 502, 'channel_refusal_inconclusive');
  t.like(again.body, { orderNo, cause: 'repeated', channel: { code: 'ACQ.INVALID_PARAMETER' } });
  t.is((await pay()).status, 201);
});

test.serial('a silent channel leaves an order, and the answer contains its number', async (t) => {
  const { shop } = await openMarket(file);
  const silence = { fault: 'commit-then-timeout', hangUpMs: 100, times: 1 };
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'create', ...silence });
  const answer = await shop.call('POST', '/api/v2/payment/pay', coffee);
  refused(t, answer, 504, 'channel_outcome_unknown');
  t.true(answer.body.retryable);
  t.like((await admin('GET', `/api/v1/orders/${answer.body.orderNo}`)).body.data, {
    amountMinor: 1250,
    status: 'created',
  });
});

/** The longest value of each member that a merchant writes and reads again. */
const LONGEST = {
  subject: '茶'.repeat(127),
  orderType: '类'.repeat(64),
  userId: 'u'.repeat(64),
  extra: '"'.repeat(4096),
  merchantOrderNo: 'N'.repeat(64),
};
/** Members covered by other tests of this file. */
const OTHERWISE = ['amount', 'currency', 'payWay', 'product', 'scene'];

test.serial('merchant members of an order are returned at their maximum length, and rejected beyond it', async (t) => {
  const { shop } = await openMarket(file);
  const shown = Object.keys(PlacePaymentRequest.shape).filter((name) => name in Order.shape);
  t.deepEqual(shown.toSorted(), [...Object.keys(LONGEST), ...OTHERWISE].toSorted());
  const { status, body } = await shop.call('POST', '/api/v2/payment/pay', { ...coffee, ...LONGEST });
  t.is(status, 201);
  t.like(body.data, LONGEST);
  for (const [name, text] of Object.entries(LONGEST)) {
    const longer = { ...coffee, [name]: text + text.slice(-1) };
    const answer = await shop.call('POST', '/api/v2/payment/pay', longer);
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, `/${name}`);
  }
});

for (const [payWay, scene, type] of [
  ['alipay', 'qr', 'qr'],
  ['wechat', 'qr', 'qr'],
  ['paypal', 'redirect', 'redirect'],
] as const)
  test.serial(`a payment by ${payWay} is placed, and the answer shows how the payer pays`, async (t) => {
    const { shop } = await openMarket(file);
    const request = { ...coffee, payWay, extra: '{"table":7}', userId: 'user-1001', orderType: 'goods' };
    const { status, body } = await shop.call('POST', '/api/v2/payment/pay', request);
    t.is(status, 201);
    t.like(body.data, {
      ...request,
      kind: 'payment',
      status: 'pending',
      mode: 'simulator',
      scene,
      project: 'default',
      clientId: shop.clientId,
      amountMinor: 1250,
      currency: payWay === 'paypal' ? 'USD' : 'CNY',
      refundedAmount: 0,
      refundableAmount: 0,
      paidAt: null,
      refunds: [],
      merchantOrderNo: null,
      stale: false,
    });
    t.regex(body.data.orderNo, /^P\d{14}[0-9A-Z]{9,}$/);
    t.is(body.data.payment.type, type);
    t.truthy(type === 'qr' ? body.data.payment.qrCode : body.data.payment.url);
    t.truthy(body.data.payUrl);
  });

test.serial('the same merchantOrderNo with the same content is the same order', async (t) => {
  const { shop } = await openMarket(file);
  const request = { ...coffee, merchantOrderNo: 'cart-1' };
  t.is(await placeOrder(shop, request), await placeOrder(shop, request));
});

test.serial('an Idempotency-Key returns the stored answer and creates no second order', async (t) => {
  const { shop } = await openMarket(file);
  const key = { 'idempotency-key': 'pay-1' };
  const first = await shop.call('POST', '/api/v2/payment/pay', coffee, key);
  const again = await shop.call('POST', '/api/v2/payment/pay', coffee, key);
  t.is(again.status, 201);
  t.is(again.headers.get('idempotent-replayed'), 'true');
  t.deepEqual(again.body, first.body);
  t.is((await shop.call('GET', '/api/v2/payment/orders')).body.data.length, 1);
});

for (const [path, request, other] of [
  ['pay', coffee, { ...coffee, amount: 13 }],
  ['refund', { refundAmount: 1 }, { refundAmount: 2 }],
] as const)
  test.serial(`the Idempotency-Key of one ${path} request is refused with another one`, async (t) => {
    const { shop, paid } = await openMarket(file);
    const orderNo = path === 'refund' ? { orderNo: await paid() } : {};
    const send = (body: object) =>
      shop.call('POST', `/api/v2/payment/${path}`, { ...orderNo, ...body }, { 'idempotency-key': 'once' });
    t.true((await send(request)).status < 300);
    refused(t, await send(other), 422, 'idempotency_conflict');
  });

test.serial('the Idempotency-Key of closing one order is refused with another order', async (t) => {
  const { shop } = await openMarket(file);
  const close = async () =>
    shop.call('POST', `/api/v2/payment/close/${await placeOrder(shop, coffee)}`, undefined, { 'idempotency-key': 'c' });
  t.is((await close()).status, 200);
  refused(t, await close(), 422, 'idempotency_conflict');
});

test.serial('a rejected pay request names each invalid member', async (t) => {
  const { shop } = await openMarket(file);
  for (const [change, pointer] of [
    [{ subject: '' }, '/subject'],
    [{ subject: 'x'.repeat(128) }, '/subject'],
    [{ amount: undefined }, '/amount'],
    [{ payWay: 'cash' }, '/payWay'],
    [{ currency: 'USD' }, '/currency'],
    [{ scene: 'redirect' }, '/scene'],
    [{ payWay: 'wechat', scene: 'jsapi' }, '/openId'],
    [{ payWay: 'wechat', scene: 'jsapi', openId: 'o1', appId: 'wx0000000000000000' }, '/appId'],
    [{ appId: 'wx0000000000000000' }, '/appId'],
    [{ payCode: '12345' }, '/payCode'],
    [{ channelOptions: { alipay: { discount: 1 } } }, '/channelOptions/alipay/discount'],
    [{ channelOptions: { cash: {} } }, '/channelOptions/cash'],
    [{ channelOptions: { paypal: { locale: 'english' } } }, '/channelOptions/paypal/locale'],
    [
      { channelOptions: { alipay: { enablePayChannels: ['pcredit'], disablePayChannels: ['balance'] } } },
      '/channelOptions/alipay/disablePayChannels',
    ],
    [{ expireSeconds: 59 }, '/expireSeconds'],
    [{ notifyUrl: 'ftp://shop.example/' }, '/notifyUrl'],
    // Private addresses are never called: the same rule as for webhooks.
    [{ notifyUrl: 'http://10.0.0.7/hook' }, '/notifyUrl'],
    [{ notifyUrl: 'http://localhost/hook' }, '/notifyUrl'],
    [{ extra: 'x'.repeat(4097) }, '/extra'],
    [{ product: 'nothing' }, '/product'],
  ] as const) {
    const answer = await shop.call('POST', '/api/v2/payment/pay', { ...coffee, ...change });
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});

test.serial(
  'profit sharing is refused for every channel, because the service cannot release the frozen money',
  async (t) => {
    const { shop } = await openMarket(file);
    for (const payWay of ['wechat', 'alipay']) {
      const frozen = { ...coffee, payWay, channelOptions: { wechat: { profitSharing: true } } };
      const answer = await shop.call('POST', '/api/v2/payment/pay', frozen);
      refused(t, answer, 400, 'profit_sharing_unsupported');
      t.like(answer.body.errors[0], { pointer: '/channelOptions/wechat/profitSharing' });
      t.regex(answer.body.detail, /neither shares it nor releases it/);
      await placeOrder(shop, { ...coffee, payWay, channelOptions: { wechat: { profitSharing: false } } });
    }
  },
);

test.serial('an openid of another official account pays if the request names its app', async (t) => {
  const { shop, project } = await openOwnMarket(file);
  // The first order stores the simulator's configuration for the project.
  await placeOrder(shop, { payWay: 'wechat' });
  const linked: string[] = [];
  for (const what of ['app-id-jsapi', 'app-id-jsapi']) {
    const { wechat } = await service.sim('/sim/rotate', { payWay: 'wechat', account: project, what });
    linked.push((wechat as unknown as { fields: Record<string, string> }).fields.appIdJsapi!);
  }
  const fields = { mode: 'simulator', appIdJsapi: linked.join(',') };
  t.is((await admin('POST', `/api/v1/payment/config/wechat?project=${project}`, fields)).status, 200);
  const [first, second] = linked;
  const pay = (openId: string, appId?: string) =>
    shop.call('POST', '/api/v2/payment/pay', { ...coffee, payWay: 'wechat', scene: 'jsapi', openId, appId });
  t.is((await pay('o-of-first')).body.data.payment.params.appId, first);
  t.is((await pay('o-of-second', second)).body.data.payment.params.appId, second);
  const wrong = await pay('o-of-second');
  refused(t, wrong, 422, 'channel_refused');
  t.like(wrong.body.channel, { payWay: 'wechat', code: 'PARAM_ERROR', message: 'appid和openid不匹配' });
});

for (const payWay of PAY_WAYS)
  test.serial(`a query finds a payment by ${payWay} paid, with the refundable amount`, async (t) => {
    const { shop, paid } = await openMarket(file);
    const orderNo = await paid({ payWay, amount: 12.5 });
    const { status, body } = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
    t.is(status, 200);
    t.like(body.data, { orderNo, status: 'paid', amount: 12.5, refundableAmount: 12.5, refundedAmount: 0 });
    t.truthy(body.data.channelTradeNo);
    t.truthy(body.data.paidAt);
    t.is(body.data.payment, undefined);
  });

test.serial('an unknown order is 404 at every operation', async (t) => {
  const { shop } = await openMarket(file);
  refused(t, await shop.call('GET', `/api/v2/payment/query/${NOBODYS}`), 404, 'not_found');
  refused(t, await shop.call('POST', `/api/v2/payment/close/${NOBODYS}`), 404, 'not_found');
  refused(t, await shop.call('POST', `/api/v2/payment/capture/${NOBODYS}`), 404, 'not_found');
  refused(t, await shop.call('GET', `/api/v2/payment/refunds/${NOBODYS}`), 404, 'not_found');
  const refund = { orderNo: NOBODYS, refundAmount: 1 };
  refused(t, await shop.call('POST', '/api/v2/payment/refund', refund), 404, 'not_found');
});

test.serial('an order of another application is 404 at every operation', async (t) => {
  const { shop: stranger } = await openMarket(file);
  const { shop, paid } = await openMarket(file);
  const orderNo = await paid();
  const refund = { orderNo, refundAmount: 1 };
  const { refundNo } = (await shop.call('POST', '/api/v2/payment/refund', refund)).body.data;
  refused(t, await stranger.call('GET', `/api/v2/payment/query/${orderNo}`), 404, 'not_found');
  refused(t, await stranger.call('GET', `/api/v2/payment/orders/${orderNo}/timeline`), 404, 'not_found');
  refused(t, await stranger.call('POST', `/api/v2/payment/close/${orderNo}`), 404, 'not_found');
  refused(t, await stranger.call('POST', `/api/v2/payment/capture/${orderNo}`), 404, 'not_found');
  refused(t, await stranger.call('GET', `/api/v2/payment/refunds/${refundNo}`), 404, 'not_found');
  refused(t, await stranger.call('POST', '/api/v2/payment/refund', refund), 404, 'not_found');
});

test.serial('an application lists its own orders, newest first, in pages', async (t) => {
  const { shop } = await openMarket(file);
  const { shop: stranger } = await openMarket(file);
  await placeOrder(stranger, coffee);
  const older = await placeOrder(shop, coffee);
  const newer = await placeOrder(shop, coffee);
  const first = await shop.call('GET', '/api/v2/payment/orders?limit=1');
  t.is(first.status, 200);
  t.is(first.body.data[0].orderNo, newer);
  t.true(first.body.page.hasMore);
  const rest = await shop.call('GET', `/api/v2/payment/orders?cursor=${first.body.page.nextCursor}`);
  t.deepEqual(
    rest.body.data.map(({ orderNo }: { orderNo: string }) => orderNo),
    [older],
  );
  t.deepEqual(rest.body.page, { nextCursor: null, hasMore: false });
});

test.serial('own orders are filtered by number, status, payer and time', async (t) => {
  const { shop } = await openMarket(file);
  const orderNo = await placeOrder(shop, { ...coffee, merchantOrderNo: 'cart-2', userId: 'ann' });
  const numbers = async (query: string) =>
    (await shop.call('GET', `/api/v2/payment/orders?${query}`)).body.data.map(
      (row: { orderNo: string }) => row.orderNo,
    );
  for (const query of ['merchantOrderNo=cart-2', 'status=pending', 'userId=ann', 'createdFrom=2020-01-01T00:00:00Z'])
    t.deepEqual(await numbers(query), [orderNo], query);
  for (const query of ['merchantOrderNo=cart-3', 'status=paid', 'userId=bob', 'createdTo=2020-01-01T00:00:00Z'])
    t.deepEqual(await numbers(query), [], query);
});

test.serial('the timeline of an own order has no message of the channel and no name of an administrator', async (t) => {
  const { shop, paid } = await openMarket(file);
  await shop.call('PUT', '/api/v2/webhook', { url: 'https://hidden.example/hooks' });
  const orderNo = await paid();
  const refund = await admin('POST', `/api/v1/orders/${orderNo}/refunds`, { refundAmount: 4, reason: 'Broken cup' });
  await service.app.messages.flush();
  const whole = JSON.stringify((await admin('GET', `/api/v1/orders/${orderNo}/timeline`)).body);
  const { status, body } = await shop.call('GET', `/api/v2/payment/orders/${orderNo}/timeline`);
  t.is(status, 200);
  const told = JSON.stringify(body);
  for (const word of ['admin:', 'hidden.example', '"message"', '"outcome"', '"requestId"', '"actor"']) {
    t.true(whole.includes(word), word);
    t.false(told.includes(word), word);
  }
  const entries = body.data as { at: string; kind: string; summary: string; detail: Record<string, unknown> }[];
  const moves = entries.filter(({ kind }) => kind === 'move');
  t.deepEqual(
    moves.slice(0, 3).map(({ detail }) => detail['toState']),
    ['created', 'pending', 'paid'],
  );
  t.deepEqual(Object.keys(moves[0]!.detail), ['refundNo', 'fromState', 'toState', 'cause']);
  t.true(moves.some(({ detail }) => detail['refundNo'] === refund.body.data.refundNo));
  t.true(entries.some(({ kind, detail }) => kind === 'event' && detail['type'] === 'order.paid'));
  t.like(
    entries.find(({ kind }) => kind === 'delivery'),
    { summary: 'delivery pending', detail: { state: 'pending' } },
  );
  t.deepEqual(
    entries.map(({ at }) => at),
    entries.map(({ at }) => at).toSorted(),
  );
});

test.serial('an invalid filter of the own orders is 400', async (t) => {
  const { shop } = await openMarket(file);
  for (const query of ['status=eaten', 'limit=201', 'cursor=x', 'createdFrom=today', 'clientId=app_1', 'project=other'])
    refused(t, await shop.call('GET', `/api/v2/payment/orders?${query}`), 400, 'invalid_request');
});

for (const [payWay, status] of [
  ['alipay', 'closing'],
  ['wechat', 'closed'],
  ['paypal', 'closed'],
] as const)
  test.serial(`closing an open order of ${payWay} answers ${status}, also the second time`, async (t) => {
    const { shop } = await openMarket(file);
    const orderNo = await placeOrder(shop, { ...coffee, payWay });
    for (const time of ['first', 'second']) {
      const closed = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
      t.is(closed.status, 200, time);
      t.like(closed.body.data, { orderNo, status, closeReason: 'merchant', payment: undefined });
    }
  });

test.serial('an order approved by the payer is captured on request, and shows numbers, fee and net', async (t) => {
  const { shop } = await openMarket(file);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  const orderNo = await placeOrder(shop, { ...coffee, payWay: 'paypal', amount: 10 });
  const early = await shop.call('POST', `/api/v2/payment/capture/${orderNo}`);
  t.is(early.status, 200);
  t.like(early.body.data, { orderNo, status: 'pending', settlement: null });
  t.truthy(early.body.data.channelOrderId);
  await service.sim('/sim/approve', { orderNo });
  const { status, body } = await shop.call('POST', `/api/v2/payment/capture/${orderNo}`);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: true });
  t.is(status, 200);
  t.like(body.data, { orderNo, status: 'paid', channelOrderId: early.body.data.channelOrderId });
  t.deepEqual(body.data.settlement, {
    fee: { amount: 0.3, amountMinor: 30, currency: 'USD' },
    net: { amount: 9.7, amountMinor: 970, currency: 'USD' },
    received: null,
  });
  t.like((await shop.call('POST', `/api/v2/payment/capture/${orderNo}`)).body.data, { status: 'paid' });
});

test.serial('a paid order cannot be closed', async (t) => {
  const { shop, paid } = await openMarket(file);
  refused(t, await shop.call('POST', `/api/v2/payment/close/${await paid()}`), 409, 'order_already_paid');
});

for (const payWay of PAY_WAYS)
  test.serial(`a part of a payment by ${payWay} is refunded, and the rest stays refundable`, async (t) => {
    const { shop, paid } = await openMarket(file);
    const orderNo = await paid({ payWay });
    const request = { orderNo, refundAmount: 2.5, merchantRefundNo: 'r-1', reason: 'One coffee was cold' };
    const { status, body } = await shop.call('POST', '/api/v2/payment/refund', request);
    t.is(status, 200);
    t.like(body.data, { ...request, origin: 'merchant', refundAmountMinor: 250, failure: null, refundableAmount: 7.5 });
    const done = await until('the refund', async () => {
      await service.app.sweep.once();
      const { data } = (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body;
      return data.status === 'partially_refunded' && data;
    });
    t.like(done, { refundedAmount: 2.5, refundableAmount: 7.5 });
    t.like(done.refunds[0], { refundNo: body.data.refundNo, status: 'succeeded' });
  });

test.serial('a repeated merchantRefundNo is the same refund', async (t) => {
  const { shop, paid } = await openMarket(file);
  const request = { orderNo: await paid(), refundAmount: 2, merchantRefundNo: 'again-1' };
  const first = await shop.call('POST', '/api/v2/payment/refund', request);
  const again = await shop.call('POST', '/api/v2/payment/refund', request);
  t.is(again.status, 200);
  t.is(again.body.data.refundNo, first.body.data.refundNo);
  t.is(again.body.data.refundableAmount, 8);
});

test.serial('a refund is read by its number', async (t) => {
  const { shop, paid } = await openMarket(file);
  const orderNo = await paid();
  const { refundNo } = (await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 })).body.data;
  const { status, body } = await shop.call('GET', `/api/v2/payment/refunds/${refundNo}`);
  t.is(status, 200);
  t.like(body.data, { refundNo, orderNo, refundAmount: 4, refundAmountMinor: 400, currency: 'CNY', reason: null });
});

test.serial('a rejected refund request names each invalid member', async (t) => {
  const { shop, paid } = await openMarket(file);
  const orderNo = await paid();
  for (const [request, pointer] of [
    [{ refundAmount: 1 }, '/orderNo'],
    [{ orderNo }, '/refundAmount'],
    [{ orderNo, refundAmount: 1, reason: 'x'.repeat(81) }, '/reason'],
    [{ orderNo, refundAmount: 1, merchantRefundNo: 'a b' }, '/merchantRefundNo'],
  ] as const) {
    const answer = await shop.call('POST', '/api/v2/payment/refund', request);
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});
