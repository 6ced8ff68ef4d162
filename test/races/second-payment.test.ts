import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { payOrder } from '../support/orders.ts';
import { runUntilQuiet } from '../support/books.ts';
import { request, startService, until } from '../support/service.ts';

interface Line {
  type: string;
  number: string;
  tradeId: string;
  minor: number;
}

for (const payWay of ['alipay', 'wechat'] as const)
  test(`${payWay}: a second payment of an order goes back by a command, once, and the first one stays`, async (t) => {
    const service = await startService(t);
    const twin = await startService(t, { url: service.databaseUrl, simulator: service.simulator });
    const shop = await service.merchant();
    const admin = await firstAdmin(service);
    const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
    const { store } = service.app;
    const first = await store.read((tx) => tx.orders.find({ orderNo }));
    await service.sim('/sim/pay', { orderNo, again: true });
    const listed = await until('it is listed', () =>
      store.read((tx) => tx.exceptions.find({ orderNo, kind: 'double_paid', state: 'open' })),
    );
    t.is(listed.receivedMinor, 1000n);
    const answerWith = { action: 'refund', reason: 'Paid twice' };
    const refund = (url: string) =>
      request(url, 'POST', `/api/v1/exceptions/${listed.id}/resolve`, answerWith, {
        authorization: `Bearer ${admin.token}`,
      });
    const answers = await Promise.all([refund(service.url), refund(twin.url), refund(service.url)]);
    t.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
    await runUntilQuiet(service, 600, 60);
    const refunds = await store.read((tx) => tx.refunds.list({ orderNo }));
    t.deepEqual(
      refunds.map(({ state, amount, surplus }) => ({ state, amount, surplus })),
      [{ state: 'succeeded', amount: 1000n, surplus: true }],
    );
    const after = await store.read((tx) => tx.orders.find({ orderNo }));
    t.like(after, { state: 'paid', paid: 1000n, refunded: 0n, refunding: 0n, channelTradeNo: first?.channelTradeNo });
    const { entries } = (await service.sim(`/sim/ledger?orderNo=${orderNo}`)) as unknown as { entries: Line[] };
    const paid = entries.filter(({ type }) => type === 'paid');
    const back = entries.filter(({ type }) => type === 'refunded');
    t.is(paid.length, 2);
    t.deepEqual(
      back.map(({ tradeId, minor }) => ({ tradeId, minor })),
      [{ tradeId: paid[1]!.tradeId, minor: 1000 }],
      'the second payment went back',
    );
    t.deepEqual(await store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' })), []);
    const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
    t.is(own.status, 200, 'nothing blocks refunds of the order itself');
  });
