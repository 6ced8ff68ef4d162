import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { until } from '../../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
const { service, admin, viewer } = file;
coverRoutes(test, file);

const NOBODYS = 'R20300101000000ABCDEFGHJK';

/** Requests a refund of 4 CNY; returns its number. */
async function refund(orderNo: string, more: object = {}): Promise<string> {
  const { body } = await admin('POST', `/api/v1/orders/${orderNo}/refunds`, { refundAmount: 4, ...more });
  return body.data.refundNo;
}

test.serial('the refunds of all orders are listed, newest first, in pages', async (t) => {
  const { paid, shop } = await openMarket(file);
  const orderNo = await paid();
  const older = await refund(orderNo, { refundAmount: 1 });
  const newer = await refund(orderNo, { refundAmount: 2 });
  const first = await viewer('GET', `/api/v1/refunds?clientId=${shop.clientId}&limit=1`);
  t.is(first.status, 200);
  t.like(first.body.data[0], { refundNo: newer, orderNo, refundAmount: 2, refundAmountMinor: 200, origin: 'admin' });
  t.true(first.body.page.hasMore);
  const query = `clientId=${shop.clientId}&cursor=${first.body.page.nextCursor}`;
  const rest = await viewer('GET', `/api/v1/refunds?${query}`);
  t.is(rest.body.data.length, 1);
  t.is(rest.body.data[0].refundNo, older);
});

test.serial('each filter of the refunds finds only matching refunds', async (t) => {
  const { paid, shop } = await openMarket(file);
  const orderNo = await paid();
  const refundNo = await refund(orderNo, { merchantRefundNo: 'm-1' });
  await until('the refund', async () => {
    const { body } = await viewer('GET', `/api/v1/refunds/${refundNo}`);
    return body.data.status === 'succeeded';
  });
  const numbers = async (query: string) =>
    (await viewer('GET', `/api/v1/refunds?clientId=${shop.clientId}&${query}`)).body.data.map(
      (row: { refundNo: string }) => row.refundNo,
    );
  const from = 'createdFrom=2020-01-01T00:00:00Z';
  for (const query of [`refundNo=${refundNo}`, `orderNo=${orderNo}`, 'merchantRefundNo=m-1', 'status=succeeded', from])
    t.deepEqual(await numbers(query), [refundNo], query);
  for (const query of ['origin=admin', 'project=default']) t.deepEqual(await numbers(query), [refundNo], query);
  const to = 'createdTo=2020-01-01T00:00:00Z';
  for (const query of [`refundNo=${NOBODYS}`, `orderNo=${NOBODYS}`, 'merchantRefundNo=m-2', 'status=failed', to])
    t.deepEqual(await numbers(query), [], query);
  for (const query of ['origin=late', 'project=other']) t.deepEqual(await numbers(query), [], query);
});

test.serial('an invalid filter of the refunds is 400', async (t) => {
  for (const query of ['status=eaten', 'origin=sky', 'limit=0', 'cursor=x', 'createdFrom=today', 'colour=red'])
    refused(t, await viewer('GET', `/api/v1/refunds?${query}`), 400, 'invalid_request');
});

test.serial('a refund is shown with its amount, its reason and its outcome', async (t) => {
  const { paid } = await openMarket(file);
  const orderNo = await paid({ payWay: 'paypal' });
  const refundNo = await refund(orderNo, { reason: 'Returned' });
  const { status, body } = await viewer('GET', `/api/v1/refunds/${refundNo}`);
  t.is(status, 200);
  t.like(body.data, {
    refundNo,
    orderNo,
    refundAmount: 4,
    refundAmountMinor: 400,
    currency: 'USD',
    reason: 'Returned',
    status: 'succeeded',
    failure: null,
  });
  t.truthy(body.data.finishedAt);
});

test.serial('a sync queries the channel and finds a refund that succeeded', async (t) => {
  const { paid, withoutNotifications } = await openMarket(file);
  const orderNo = await paid({ payWay: 'wechat' });
  await withoutNotifications('wechat', orderNo);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'pending-refund', orderNo });
  const refundNo = await refund(orderNo);
  t.is((await viewer('GET', `/api/v1/refunds/${refundNo}`)).body.data.status, 'processing');
  await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'succeeded' });
  const { status, body } = await admin('POST', `/api/v1/refunds/${refundNo}/sync`);
  t.is(status, 200);
  t.like(body.data, { refundNo, status: 'succeeded', refundAmount: 4 });
});

test.serial('an abnormal refund is retried with the same number', async (t) => {
  const { abnormal } = await openMarket(file);
  const { refundNo } = await abnormal();
  const { status, body } = await admin('POST', `/api/v1/refunds/${refundNo}/retry`);
  t.is(status, 200);
  t.is(body.data.refundNo, refundNo);
  t.true(['processing', 'succeeded'].includes(body.data.status), body.data.status);
});

test.serial('a failed refund is retried, and its amount is reserved again', async (t) => {
  const { paid, withoutNotifications } = await openMarket(file);
  const orderNo = await paid({ payWay: 'wechat' });
  await withoutNotifications('wechat', orderNo);
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'pending-refund', orderNo });
  const refundNo = await refund(orderNo);
  await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'failed' });
  t.is((await admin('POST', `/api/v1/refunds/${refundNo}/sync`)).body.data.status, 'failed');
  t.is((await viewer('GET', `/api/v1/orders/${orderNo}`)).body.data.refundableAmount, 10);
  const { status, body } = await admin('POST', `/api/v1/refunds/${refundNo}/retry`);
  t.is(status, 200);
  t.like(body.data, { refundNo, refundAmount: 4, refundableAmount: 6 });
});

test.serial('a refund that succeeded cannot be retried', async (t) => {
  const { paid } = await openMarket(file);
  const refundNo = await refund(await paid({ payWay: 'paypal' }));
  refused(t, await admin('POST', `/api/v1/refunds/${refundNo}/retry`), 409, 'refund_not_retryable');
});

test.serial(
  'an abnormal refund that was paid outside the channel counts as refunded, and its exception ends',
  async (t) => {
    const { abnormal } = await openMarket(file);
    const { orderNo, refundNo } = await abnormal();
    const request = { action: 'paid_elsewhere', reason: 'Paid back by bank transfer' };
    const { status, body } = await admin('POST', `/api/v1/refunds/${refundNo}/resolve`, request);
    t.is(status, 200);
    t.like(body.data, { refundNo, status: 'succeeded', refundedAmount: 4, refundableAmount: 6 });
    const { data } = (await viewer('GET', `/api/v1/exceptions?orderNo=${orderNo}`)).body;
    t.like(data[0], { state: 'resolved', resolution: 'paid_elsewhere', reason: request.reason });
  },
);

test.serial(
  'an abnormal refund that the channel no longer has is released, and its amount is free again',
  async (t) => {
    const { abnormal } = await openMarket(file);
    const { orderNo, refundNo } = await abnormal();
    await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'failed' });
    const request = { action: 'release', reason: 'The bank sent it back' };
    const { status, body } = await admin('POST', `/api/v1/refunds/${refundNo}/resolve`, request);
    t.is(status, 200);
    t.like(body.data, { refundNo, status: 'failed', refundedAmount: 0, refundableAmount: 10 });
    t.like(body.data.failure, { code: 'released', message: request.reason });
  },
);

test.serial('a refund that succeeded at the channel is not released', async (t) => {
  const { abnormal } = await openMarket(file);
  const { orderNo, refundNo } = await abnormal();
  await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'succeeded' });
  const answer = await admin('POST', `/api/v1/refunds/${refundNo}/resolve`, { action: 'release', reason: 'x' });
  refused(t, answer, 409, 'refund_not_released');
});

test.serial('a refund that is not abnormal cannot be resolved by an operator', async (t) => {
  const { paid } = await openMarket(file);
  const refundNo = await refund(await paid({ payWay: 'paypal' }));
  const request = { action: 'paid_elsewhere', reason: 'x' };
  refused(t, await admin('POST', `/api/v1/refunds/${refundNo}/resolve`, request), 409, 'refund_not_abnormal');
});

test.serial('a resolution needs a known action and a reason', async (t) => {
  for (const [body, pointer] of [
    [{ action: 'forget', reason: 'x' }, '/action'],
    [{ action: 'release' }, '/reason'],
  ] as const) {
    const answer = await admin('POST', `/api/v1/refunds/${NOBODYS}/resolve`, body);
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});

test.serial('an unknown refund is 404 at every operation', async (t) => {
  refused(t, await viewer('GET', `/api/v1/refunds/${NOBODYS}`), 404, 'not_found');
  for (const verb of ['retry', 'sync']) {
    refused(t, await admin('POST', `/api/v1/refunds/${NOBODYS}/${verb}`), 404, 'not_found');
  }
  const request = { action: 'paid_elsewhere', reason: 'x' };
  refused(t, await admin('POST', `/api/v1/refunds/${NOBODYS}/resolve`, request), 404, 'not_found');
});
