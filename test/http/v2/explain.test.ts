import test from 'ava';
import { payOrder } from '../../support/orders.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { service } = file;
coverRoutes(test, file);

test.serial(
  'an application reads why its own order and its refunds are in their state, and no other one',
  async (t) => {
    const shop = await file.shop();
    const orderNo = await payOrder(service, shop, { amount: 10 });
    await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
    const path = `/api/v2/payment/orders/${orderNo}/explain`;
    const { status, headers, body } = await shop.call('GET', path);
    t.is(status, 200);
    t.is(headers.get('content-language'), 'en');
    t.like(body.data, { orderNo, fix: null, equation: { currency: 'CNY', paid: 1000, kept: 600 } });
    t.is(body.data.refunds.length, 1);
    const other = await service.merchant();
    refused(t, await other.call('GET', path), 404, 'not_found');
    refused(t, await shop.call('GET', '/api/v2/payment/orders/P20300101000000ABCDEFGHJK/explain'), 404, 'not_found');
  },
);
