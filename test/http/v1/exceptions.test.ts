import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket, openOwnMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin, service } = file;
coverRoutes(test, file);

const resolve = (id: string, action: string, reason = 'Agreed with the customer') =>
  admin('POST', `/api/v1/exceptions/${id}/resolve`, { action, reason });

test.serial('a payment of another amount is listed with the received amount', async (t) => {
  const { mismatch, project, shop } = await openOwnMarket(file);
  const { orderNo, id } = await mismatch();
  const { status, body } = await admin('GET', `/api/v1/exceptions?project=${project}`);
  t.is(status, 200);
  t.is(body.data.length, 1);
  t.like(body.data[0], {
    id,
    orderNo,
    project,
    clientId: shop.clientId,
    refundNo: null,
    kind: 'amount_mismatch',
    state: 'open',
    receivedCurrency: 'CNY',
    resolution: null,
    resolvedAt: null,
  });
  t.not(body.data[0].receivedMinor, 1000);
  t.deepEqual(body.page, { nextCursor: null, hasMore: false });
});

test.serial('one exception is read by its id, and an unknown id is 404', async (t) => {
  const { mismatch } = await openOwnMarket(file);
  const { orderNo, id } = await mismatch();
  const { status, body } = await admin('GET', `/api/v1/exceptions/${id}`);
  t.is(status, 200);
  t.like(body.data, { id, orderNo, kind: 'amount_mismatch', state: 'open' });
  for (const none of ['00000000-0000-4000-8000-000000000000', 'nothing', '42'])
    for (const answer of [await admin('GET', `/api/v1/exceptions/${none}`), await resolve(none, 'acknowledge')])
      refused(t, answer, 404, 'not_found');
});

test.serial('the list is filtered by state, kind, order and project', async (t) => {
  const { mismatch, project } = await openOwnMarket(file);
  const { orderNo, id } = await mismatch();
  const ids = async (query: string) =>
    (await admin('GET', `/api/v1/exceptions?project=${project}&${query}`)).body.data.map(
      (row: { id: string }) => row.id,
    );
  for (const query of ['state=open', 'kind=amount_mismatch', `orderNo=${orderNo}`]) t.deepEqual(await ids(query), [id]);
  for (const query of ['state=resolved', 'kind=late_paid', 'orderNo=P20300101000000ABCDEFGHJK'])
    t.deepEqual(await ids(query), [], query);
});

test.serial('the list comes newest first, in pages', async (t) => {
  const { mismatch, project } = await openOwnMarket(file);
  const older = await mismatch();
  const newer = await mismatch();
  const first = await admin('GET', `/api/v1/exceptions?project=${project}&limit=1`);
  t.is(first.body.data[0].id, newer.id);
  t.true(first.body.page.hasMore);
  const { nextCursor } = first.body.page;
  const rest = await admin('GET', `/api/v1/exceptions?project=${project}&limit=1&cursor=${nextCursor}`);
  t.is(rest.body.data[0].id, older.id);
  t.deepEqual(rest.body.page, { nextCursor: null, hasMore: false });
});

test.serial('only a failed action that is still due can be retried', async (t) => {
  const { mismatch } = await openMarket(file);
  const { id } = await mismatch();
  refused(t, await resolve(id, 'retry'), 400, 'invalid_request');
});

test.serial('an invalid filter is 400', async (t) => {
  for (const query of ['state=new', 'kind=eaten', 'limit=0', 'cursor=x', 'colour=red', 'project=a%20b'])
    refused(t, await admin('GET', `/api/v1/exceptions?${query}`), 400, 'invalid_request');
});

test.serial('accepting another amount makes the order paid with the received amount', async (t) => {
  const { mismatch } = await openMarket(file);
  const { orderNo, id } = await mismatch();
  const { status, body } = await resolve(id, 'accept');
  t.is(status, 200);
  t.like(body.data, {
    id,
    state: 'resolved',
    resolution: 'accept',
    reason: 'Agreed with the customer',
    resolvedBy: 'admin:alice',
  });
  t.truthy(body.data.resolvedAt);
  const order = (await admin('GET', `/api/v1/orders/${orderNo}`)).body.data;
  t.like(order, { status: 'paid', exception: null, amountMinor: 1000 });
  t.is(Math.round(order.refundableAmount * 100), body.data.receivedMinor);
});

test.serial('refunding another amount refunds the received amount and leaves the order as it was', async (t) => {
  const { mismatch } = await openMarket(file);
  const { orderNo, id } = await mismatch();
  const { body } = await resolve(id, 'refund');
  t.like(body.data, { state: 'resolved', resolution: 'refund' });
  const { data } = (await admin('GET', `/api/v1/orders/${orderNo}`)).body;
  t.is(data.status, 'pending');
  t.like(data.refunds[0], { origin: 'surplus', refundAmountMinor: body.data.receivedMinor });
});

test.serial('another amount cannot only be acknowledged', async (t) => {
  const { mismatch } = await openMarket(file);
  const { id } = await mismatch();
  const answer = await resolve(id, 'acknowledge');
  refused(t, answer, 400, 'invalid_request');
  t.is(answer.body.errors[0].pointer, '/action');
});

test.serial(
  'an exception without its own money is acknowledged, and can be neither accepted nor refunded',
  async (t) => {
    const { shop } = await openMarket(file, { latePayment: { afterClose: 'accept' } as never });
    const placed = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount: 10, payWay: 'wechat' });
    const { orderNo } = placed.body.data;
    await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
    await service.sim('/sim/pay', { orderNo, force: true });
    await admin('POST', `/api/v1/orders/${orderNo}/sync`);
    const [row] = (await admin('GET', `/api/v1/exceptions?orderNo=${orderNo}`)).body.data;
    t.is(row.kind, 'late_paid');
    for (const action of ['accept', 'refund']) refused(t, await resolve(row.id, action), 400, 'invalid_request');
    t.like((await resolve(row.id, 'acknowledge', 'Seen')).body.data, { state: 'resolved', reason: 'Seen' });
  },
);

test.serial('an exception is resolved once', async (t) => {
  const { mismatch } = await openMarket(file);
  const { id } = await mismatch();
  t.is((await resolve(id, 'refund')).status, 200);
  refused(t, await resolve(id, 'accept'), 409, 'exception_resolved');
});

test.serial('a payment is not accepted when another order with the same merchantOrderNo is paid', async (t) => {
  const { mismatch, paid } = await openMarket(file);
  const merchantOrderNo = 'cart-7';
  const { orderNo, id } = await mismatch({ merchantOrderNo });
  await admin('POST', `/api/v1/orders/${orderNo}/close`);
  await service.app.store.transaction((tx) => tx.orders.update({ orderNo }, { state: 'closed' }));
  await paid({ merchantOrderNo });
  refused(t, await resolve(id, 'accept'), 409, 'order_already_paid');
});

test.serial('the exception of an abnormal refund ends only with the refund', async (t) => {
  const { abnormal } = await openMarket(file);
  const { orderNo, refundNo } = await abnormal();
  const [row] = (await admin('GET', `/api/v1/exceptions?orderNo=${orderNo}`)).body.data;
  t.like(row, { kind: 'refund_abnormal', refundNo });
  const answer = await resolve(row.id, 'acknowledge');
  refused(t, answer, 400, 'invalid_request');
  t.regex(answer.body.detail, new RegExp(refundNo));
});

test.serial('an unknown exception is 404', async (t) => {
  refused(t, await resolve('00000000-0000-4000-8000-000000000000', 'acknowledge'), 404, 'not_found');
});

test.serial('a resolution needs a known action and a reason', async (t) => {
  const { mismatch } = await openMarket(file);
  const { id } = await mismatch();
  for (const [body, pointer] of [
    [{ action: 'forget', reason: 'x' }, '/action'],
    [{ action: 'accept' }, '/reason'],
    [{ action: 'accept', reason: '' }, '/reason'],
    [{ action: 'accept', reason: 'x'.repeat(501) }, '/reason'],
  ] as const) {
    const answer = await admin('POST', `/api/v1/exceptions/${id}/resolve`, body);
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});
