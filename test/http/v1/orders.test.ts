import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket, openOwnMarket } from '../../support/market.ts';
import { placeOrder } from '../../support/orders.ts';
import { REFUND_REFUSALS } from '../../support/payment-refusals.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { service, admin, viewer } = file;
coverRoutes(test, file);

const NOBODYS = 'P20300101000000ABCDEFGHJK';

for (const { when, status, code, request } of REFUND_REFUSALS) {
  test.serial(`a refund of an order is refused ${when}`, async (t) => {
    const { orderNo, ...body } = await request(await openMarket(file));
    refused(t, await admin('POST', `/api/v1/orders/${String(orderNo)}/refunds`, body), status, code);
  });
}

test.serial('the orders of all applications are listed, newest first, in pages', async (t) => {
  const { project, shop } = await openOwnMarket(file);
  const other = await file.shop({ project });
  const older = await placeOrder(shop, {});
  const newer = await placeOrder(other, {});
  const first = await viewer('GET', `/api/v1/orders?project=${project}&limit=1`);
  t.is(first.status, 200);
  t.like(first.body.data[0], { orderNo: newer, clientId: other.clientId, amount: 10, status: 'pending' });
  t.false('refunds' in first.body.data[0], 'members that were not read are omitted');
  t.true(first.body.page.hasMore);
  const rest = await viewer('GET', `/api/v1/orders?project=${project}&cursor=${first.body.page.nextCursor}`);
  t.is(rest.body.data.length, 1);
  t.is(rest.body.data[0].orderNo, older);
  t.deepEqual(rest.body.page, { nextCursor: null, hasMore: false });
});

test.serial('each filter of the orders finds only matching orders', async (t) => {
  const { paid, shop } = await openMarket(file);
  const request = { payWay: 'wechat', merchantOrderNo: 'cart-1', userId: 'ann', orderType: 'goods', amount: 12.5 };
  const orderNo = await paid(request);
  const { channelTradeNo } = (await admin('GET', `/api/v1/orders/${orderNo}`)).body.data;
  const numbers = async (query: string) =>
    (await viewer('GET', `/api/v1/orders?clientId=${shop.clientId}&${query}`)).body.data.map(
      (row: { orderNo: string }) => row.orderNo,
    );
  const matching = {
    orderNo,
    merchantOrderNo: 'cart-1',
    channelTradeNo,
    status: 'paid',
    payWay: 'wechat',
    mode: 'simulator',
    orderType: 'goods',
    userId: 'ann',
    project: 'default',
    amountMin: '12.5',
    amountMax: '12.50',
    createdFrom: '2020-01-01T00:00:00Z',
  };
  for (const [name, value] of Object.entries(matching)) t.deepEqual(await numbers(`${name}=${value}`), [orderNo], name);
  const others = {
    orderNo: NOBODYS,
    merchantOrderNo: 'cart-2',
    channelTradeNo: '0',
    status: 'refunded',
    exception: 'any',
    payWay: 'alipay',
    mode: 'live',
    orderType: 'food',
    userId: 'bob',
    project: 'other',
    amountMin: '12.51',
    amountMax: '12.49',
    createdTo: '2020-01-01T00:00:00Z',
  };
  for (const [name, value] of Object.entries(others)) t.deepEqual(await numbers(`${name}=${value}`), [], name);
});

test.serial('bounds of the amount apply in the currency of each order, in the list and in the export', async (t) => {
  const { shop } = await openMarket(file);
  const placed = async (amount: number | string, currency?: string) =>
    placeOrder(shop, currency ? { payWay: 'paypal', amount, currency } : { payWay: 'wechat', amount });
  const yen = await placed(5000, 'JPY');
  const forint = await placed(90, 'HUF');
  const dollars = await placed('12.50', 'USD');
  const yuan = await placed('12.50');
  const found = async (query: string) => {
    const { body } = await viewer('GET', `/api/v1/orders?clientId=${shop.clientId}&${query}`);
    const rows: { orderNo: string }[] = body.data;
    const numbers = rows.map(({ orderNo }) => orderNo);
    const exported = await viewer('GET', `/api/v1/orders/export?format=csv&clientId=${shop.clientId}&${query}`);
    const [, ...lines] = String(exported.body).trim().split('\r\n');
    t.deepEqual(
      lines.map((line) => line.split(',')[0]),
      numbers,
      query,
    );
    return numbers;
  };
  t.deepEqual(await found('amountMax=100'), [yuan, dollars, forint]);
  t.deepEqual(await found('amountMin=100'), [yen]);
  t.deepEqual(await found('amountMin=5000&amountMax=5000'), [yen]);
  t.deepEqual(await found('amountMin=12.5&amountMax=12.50'), [yuan, dollars]);
  t.deepEqual(await found('amountMin=12.51&amountMax=90'), [forint]);
  t.deepEqual(await found('amountMin=0'), [yuan, dollars, forint, yen], 'the newest first, whatever the currency');
  const { body } = await viewer('GET', `/api/v1/orders?clientId=${shop.clientId}&amountMin=0&limit=3`);
  const next = await viewer(
    'GET',
    `/api/v1/orders?clientId=${shop.clientId}&amountMin=0&limit=3&cursor=${body.page.nextCursor}`,
  );
  t.deepEqual(
    next.body.data.map((row: { orderNo: string }) => row.orderNo),
    [yen],
  );
});

test.serial('exception=any finds the orders with an open exception', async (t) => {
  const { mismatch, shop } = await openMarket(file);
  await placeOrder(shop, {});
  const { orderNo } = await mismatch();
  for (const exception of ['any', 'amount_mismatch']) {
    const { data } = (await viewer('GET', `/api/v1/orders?clientId=${shop.clientId}&exception=${exception}`)).body;
    t.is(data.length, 1);
    t.like(data[0], { orderNo, exception: 'amount_mismatch' });
  }
});

test.serial('an invalid filter of the orders is 400', async (t) => {
  for (const query of [
    'status=eaten',
    'limit=0',
    'cursor=x',
    'payWay=cash',
    'amountMin=ten',
    'amountMin=1.234',
    'amountMax=-1',
    'colour=red',
  ])
    t.is((await viewer('GET', `/api/v1/orders?${query}`)).status, 400, query);
  refused(t, await viewer('GET', '/api/v1/orders?colour=red'), 400, 'invalid_request');
});

test.serial('an order is shown as it is stored', async (t) => {
  const { shop } = await openMarket(file);
  const orderNo = await placeOrder(shop, { amount: '12.50', extra: 'a\nb' });
  const { status, body } = await viewer('GET', `/api/v1/orders/${orderNo}`);
  t.is(status, 200);
  t.like(body.data, {
    orderNo,
    clientId: shop.clientId,
    amount: 12.5,
    amountMinor: 1250,
    currency: 'CNY',
    extra: 'a\nb',
    status: 'pending',
    refunds: [],
  });
});

test.serial('the timeline shows transitions, events and refunds in their order', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid();
  await admin('POST', `/api/v1/orders/${orderNo}/refunds`, { refundAmount: 4 });
  const { status, body } = await viewer('GET', `/api/v1/orders/${orderNo}/timeline`);
  t.is(status, 200);
  const entries = body.data as { at: string; kind: string; detail: Record<string, unknown> }[];
  const transitions = entries
    .filter(({ kind }) => kind === 'move')
    .map(({ detail }) => `${detail.rule} ${detail.toState}`);
  t.deepEqual(transitions.slice(0, 4), ['placed created', 'accepted pending', 'paid paid', 'refund_requested pending']);
  t.true(entries.some(({ kind, detail }) => kind === 'event' && detail.type === 'order.paid'));
  const paidTransition = entries.find(({ detail }) => detail.rule === 'paid')!;
  const { createdAt, paidAt } = (await viewer('GET', `/api/v1/orders/${orderNo}`)).body.data;
  const { at: atChannel } = paidTransition.detail.outcome as { at: string };
  t.is(
    paidAt,
    [createdAt, atChannel].toSorted().at(-1),
    'never before the order; the history has the time of the channel',
  );
  const times = entries.map(({ at }) => at);
  t.deepEqual(times, times.toSorted());
});

test.serial('the timeline has every message to and from the channel, with the account that signed it', async (t) => {
  const { paid, shop } = await openMarket(file);
  const orderNo = await paid();
  await service.app.messages.flush();
  const { body } = await viewer('GET', `/api/v1/orders/${orderNo}/timeline`);
  const messages = body.data.filter(({ kind }: { kind: string }) => kind === 'message');
  const directions = messages.map(({ detail }: { detail: { direction: string } }) => detail.direction);
  t.true(directions.includes('out') && directions.includes('in'), JSON.stringify(directions));
  const told = messages.find(({ detail }: { detail: { direction: string } }) => detail.direction === 'in');
  t.regex(told.detail.note, /^settled; verified with the key of account \w+/);
  t.false(JSON.stringify(messages).includes(shop.token));
});

test.serial('a sync queries the channel and finds a payment without a notification', async (t) => {
  const { shop } = await openMarket(file);
  const orderNo = await placeOrder(shop, {});
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'notice', fault: 'drop-notify', orderNo, times: 1 });
  await service.sim('/sim/pay', { orderNo });
  const { status, body } = await admin('POST', `/api/v1/orders/${orderNo}/sync`);
  t.is(status, 200);
  t.like(body.data, { orderNo, status: 'paid', refundableAmount: 10 });
});

test.serial('an administrator closes an open order', async (t) => {
  const { shop } = await openMarket(file);
  const orderNo = await placeOrder(shop, { payWay: 'wechat' });
  const { status, body } = await admin('POST', `/api/v1/orders/${orderNo}/close`);
  t.is(status, 200);
  t.like(body.data, { orderNo, status: 'closed', closeReason: 'admin' });
});

test.serial('a paid order cannot be closed', async (t) => {
  const { paid } = await openMarket(file);
  refused(t, await admin('POST', `/api/v1/orders/${await paid()}/close`), 409, 'order_already_paid');
});

test.serial('an administrator refunds a part of an order', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid();
  const request = { refundAmount: 2.5, reason: 'Returned' };
  const { status, body } = await admin('POST', `/api/v1/orders/${orderNo}/refunds`, request);
  t.is(status, 201);
  t.like(body.data, { ...request, orderNo, origin: 'admin', refundAmountMinor: 250, refundableAmount: 7.5 });
});

test.serial('a refund without an amount refunds the remainder', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid();
  await admin('POST', `/api/v1/orders/${orderNo}/refunds`, { refundAmount: 2.5 });
  const { body } = await admin('POST', `/api/v1/orders/${orderNo}/refunds`, {});
  t.like(body.data, { refundAmount: 7.5, refundableAmount: 0 });
});

test.serial('a rejected refund request names the invalid member', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid();
  for (const [body, pointer] of [
    [{ merchantRefundNo: 'a b' }, '/merchantRefundNo'],
    [{ refundAmount: {} }, '/refundAmount'],
    [{ reason: '' }, '/reason'],
  ] as const) {
    const answer = await admin('POST', `/api/v1/orders/${orderNo}/refunds`, body);
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});

test.serial('an Idempotency-Key makes one refund of two requests, and is refused with another amount', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid();
  const refund = (refundAmount: number) =>
    admin('POST', `/api/v1/orders/${orderNo}/refunds`, { refundAmount }, { 'idempotency-key': orderNo });
  const first = await refund(1);
  const again = await refund(1);
  t.deepEqual([again.status, again.body], [201, first.body]);
  t.is(again.headers.get('idempotent-replayed'), 'true');
  refused(t, await refund(2), 422, 'idempotency_conflict');
});

test.serial('the Idempotency-Key of closing one order is refused with another order', async (t) => {
  const { shop } = await openMarket(file);
  const close = async () =>
    admin('POST', `/api/v1/orders/${await placeOrder(shop, {})}/close`, undefined, {
      'idempotency-key': shop.clientId,
    });
  t.is((await close()).status, 200);
  refused(t, await close(), 422, 'idempotency_conflict');
});

test.serial('an unknown order is 404 at every operation', async (t) => {
  for (const path of ['', '/timeline'])
    refused(t, await viewer('GET', `/api/v1/orders/${NOBODYS}${path}`), 404, 'not_found');
  for (const path of ['/sync', '/close', '/refunds'])
    refused(t, await admin('POST', `/api/v1/orders/${NOBODYS}${path}`, {}), 404, 'not_found');
});
