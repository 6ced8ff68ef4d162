import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { billedShop } from '../support/billed-shop.ts';
import { placeOrder } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { startService, until } from '../support/service.ts';

const MARK = 'zqMARKzq';

// PayPal's reports have neither the subject nor the payer.
for (const payWay of ['alipay', 'wechat'] as const)
  test(`${payWay}: bills say nothing about a payer who was forgotten, before or after they came`, async (t) => {
    const service = await startService(t);
    const { store, bills } = service.app;
    const shop = await billedShop(service, payWay);
    const merchant = await service.merchant({ scopes: ['payment:write', 'payment:read', 'user:write'] as never });
    const admin = await firstAdmin(service);
    const buy = async (userId: string) => {
      t.is((await merchant.call('POST', '/api/v2/users', { userId })).status, 201);
      const orderNo = await placeOrder(merchant, { payWay, userId, subject: `Tea for ${MARK}` });
      await shop.pay(orderNo);
      return orderNo;
    };
    const [before, after, kept] = [await buy('before'), await buy('after'), await buy('kept')];
    const marked = async () => {
      const lines = await store.read((tx) => tx.billLines.list({}));
      t.deepEqual(lines.map(({ orderNo }) => orderNo).toSorted(), [before, after, kept].toSorted());
      t.true(lines.every(({ amount, channelTradeNo }) => amount === 1000n && channelTradeNo !== null));
      return lines.filter(({ raw }) => raw.includes(MARK)).map(({ orderNo }) => orderNo);
    };
    t.is((await admin.call('DELETE', '/api/v1/users/before')).status, 204);
    await shop.nextDay();
    await bills.plan();
    await until('the bill is compared', async () => {
      await bills.sweep.once();
      return (await shop.bill()).state === 'done';
    });
    t.deepEqual((await marked()).toSorted(), [after, kept].toSorted());
    const { call: later } = await admin.logIn();
    t.is((await later('DELETE', '/api/v1/users/after')).status, 204);
    t.deepEqual(await marked(), [kept]);
    t.deepEqual(await shop.differences(), []);
    const books = await proveBooks(service.app);
    t.true(books.ok, JSON.stringify(books.proofs.filter(({ ok }) => !ok)));
  });
