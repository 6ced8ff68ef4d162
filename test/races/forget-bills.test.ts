import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { billedShop } from '../support/billed-shop.ts';
import { placeOrder } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { startService, until } from '../support/service.ts';

/** The payer data in a channel's bill line: the subject of the order, or PayPal's payer id. */
const SAID = { alipay: 'Tea for Zoe', wechat: 'Tea for Zoe', paypal: 'SIMPAYER00001' };

for (const payWay of ['alipay', 'wechat', 'paypal'] as const)
  test(`${payWay}: bills contain nothing about a deleted payer, whether they arrived before or after`, async (t) => {
    const service = await startService(t);
    const { store, bills, sweep } = service.app;
    const shop = await billedShop(service, payWay);
    const merchant = await service.merchant({ scopes: ['payment:write', 'payment:read', 'user:write'] as never });
    const admin = await firstAdmin(service);
    const buy = async (userId: string) => {
      t.is((await merchant.call('POST', '/api/v2/users', { userId })).status, 201);
      const currency = payWay === 'paypal' ? 'USD' : 'CNY';
      const orderNo = await placeOrder(merchant, { payWay, userId, currency, subject: 'Tea for Zoe' });
      await shop.pay(orderNo);
      const asked = await merchant.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
      const { refundNo } = asked.body.data;
      await until(`${refundNo} done`, async () => {
        await sweep.once();
        return (await store.read((tx) => tx.refunds.find({ refundNo })))?.state === 'succeeded';
      });
      return orderNo;
    };
    const [before, after, kept] = [await buy('before'), await buy('after'), await buy('kept')];
    /** The orders whose lines still contain it; all lines keep their numbers. */
    const marked = async () => {
      const lines = await store.read((tx) => tx.billLines.list({}));
      const numbers = lines.filter(({ channelTradeNo }) => channelTradeNo !== null).map(({ orderNo }) => orderNo);
      t.deepEqual(numbers.toSorted(), [before, before, after, after, kept, kept].toSorted());
      return new Set(lines.filter(({ raw }) => raw.includes(SAID[payWay])).map(({ orderNo }) => orderNo));
    };
    t.is((await admin.call('DELETE', '/api/v1/users/before')).status, 204);
    await shop.nextDay();
    await bills.plan();
    await until('the bill is compared', async () => {
      await bills.sweep.once();
      return (await shop.bill()).state === 'done';
    });
    t.deepEqual(await marked(), new Set([after, kept]));
    const { call: later } = await admin.logIn();
    t.is((await later('DELETE', '/api/v1/users/after')).status, 204);
    t.deepEqual(await marked(), new Set([kept]));
    t.deepEqual(await shop.differences(), []);
    const books = await proveBooks(service.app);
    t.true(books.ok, JSON.stringify(books.proofs.filter(({ ok }) => !ok)));
  });
