import test from 'ava';
import { disputed } from '../../support/disputes.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { service } = file;
coverRoutes(test, file);

test.serial('only the application of an order sees its disputes', async (t) => {
  const { paid, shop } = await openMarket(file);
  const other = await openMarket(file);
  const orderNo = await paid({ payWay: 'paypal' });
  const disputeNo = await disputed(service, orderNo, 'open', 'open');
  const { status, body } = await shop.call('GET', `/api/v2/payment/disputes/${disputeNo}`);
  t.is(status, 200);
  t.like(body.data, { disputeNo, orderNo, status: 'open', amount: 10, currency: 'USD' });
  const listed = async (query: string) =>
    (await shop.call('GET', `/api/v2/payment/disputes?${query}`)).body.data.map(
      (row: { disputeNo: string }) => row.disputeNo,
    );
  for (const query of ['', `orderNo=${orderNo}`, 'status=open']) t.deepEqual(await listed(query), [disputeNo], query);
  t.deepEqual(await listed('status=lost'), []);
  t.deepEqual((await other.shop.call('GET', '/api/v2/payment/disputes')).body.data, []);
  refused(t, await other.shop.call('GET', `/api/v2/payment/disputes/${disputeNo}`), 404, 'not_found');
  refused(t, await shop.call('GET', '/api/v2/payment/disputes?status=eaten'), 400, 'invalid_request');
});
