import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { until } from '../../support/service.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

const LIST = '/api/v2/payment/refunds';
const numbersOf = ({ body }: { body: { data: { refundNo: string }[] } }) => body.data.map(({ refundNo }) => refundNo);

test.serial('an application lists the refunds of its orders, newest first, in pages', async (t) => {
  const { shop, paid } = await openMarket(file);
  const orderNo = await paid();
  const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
  const other = await file.admin('POST', `/api/v1/orders/${orderNo}/refunds`, { refundAmount: 2, reason: 'Returned' });
  const first = await shop.call('GET', `${LIST}?limit=1`);
  t.is(first.status, 200);
  t.like(first.body.data[0], { refundNo: other.body.data.refundNo, orderNo, refundAmount: 2, origin: 'admin' });
  t.true(first.body.page.hasMore);
  const rest = await shop.call('GET', `${LIST}?cursor=${first.body.page.nextCursor}`);
  t.like(rest.body.data, [{ refundNo: own.body.data.refundNo, refundAmount: 1, origin: 'merchant' }]);
  t.deepEqual(rest.body.page, { nextCursor: null, hasMore: false });
  const one = await shop.call('GET', `${LIST}/${own.body.data.refundNo}`);
  t.deepEqual(Object.keys(rest.body.data[0]).toSorted(), Object.keys(one.body.data).toSorted());
});

test.serial('each filter of the own refunds finds only matching refunds', async (t) => {
  const { shop, paid } = await openMarket(file);
  const orderNo = await paid();
  const { data } = (
    await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4, merchantRefundNo: 'm-1' })
  ).body;
  const { refundNo } = data;
  await until(
    'the refund',
    async () => (await shop.call('GET', `${LIST}/${refundNo}`)).body.data.status === 'succeeded',
  );
  const found = async (query: string) => numbersOf(await shop.call('GET', `${LIST}?${query}`));
  const nobodys = 'P20300101000000ABCDEFGHJK';
  for (const query of [`refundNo=${refundNo}`, `orderNo=${orderNo}`, 'merchantRefundNo=m-1', 'status=succeeded'])
    t.deepEqual(await found(query), [refundNo], query);
  for (const query of ['origin=merchant', 'createdFrom=2020-01-01T00:00:00Z'])
    t.deepEqual(await found(query), [refundNo], query);
  for (const query of [`orderNo=${nobodys}`, 'merchantRefundNo=m-2', 'status=failed', 'origin=late'])
    t.deepEqual(await found(query), [], query);
  t.deepEqual(await found('createdTo=2020-01-01T00:00:00Z'), []);
});

test.serial('an application does not see the refunds of another one', async (t) => {
  const { shop, paid } = await openMarket(file);
  const orderNo = await paid();
  await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
  const stranger = await file.shop({ scopes: ['admin'] });
  for (const query of ['', `?orderNo=${orderNo}`])
    t.deepEqual((await stranger.call('GET', `${LIST}${query}`)).body.data, [], query);
});

test.serial('an invalid filter of the own refunds is 400', async (t) => {
  const { shop } = await openMarket(file);
  for (const query of ['status=eaten', 'origin=sky', 'limit=0', 'cursor=x', 'clientId=x', 'project=default'])
    refused(t, await shop.call('GET', `${LIST}?${query}`), 400, 'invalid_request');
});
