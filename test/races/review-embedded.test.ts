import test from 'ava';
import { join } from 'node:path';
import { PAY_WAYS } from '../../server/payments/channel.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { layMigrated } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

test('pay, query, refund and close of each channel work on the embedded database with running jobs, without a deadlock', async (t) => {
  const folder = join(temporaryFolder(t), 'data');
  await layMigrated(folder);
  const service = await startService(t, { url: `pglite://${folder}` });
  await service.app.startJobs();
  const shop = await service.merchant();
  for (const payWay of PAY_WAYS) {
    const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
    const key = { 'idempotency-key': `one-${payWay}` };
    const refunds = await Promise.all(
      ['a', 'b', 'c'].map((merchantRefundNo) =>
        shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 2, merchantRefundNo }, key),
      ),
    );
    t.is(refunds.filter(({ status }) => status === 200).length, 1, 'one key is one refund');
    const { store, sweep } = service.app;
    await until('the refund is done', async () => {
      await sweep.once();
      return store.read((tx) => tx.refunds.find({ orderNo, state: 'succeeded' }));
    });
    t.is((await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data.refundedAmount, 2);
    const merchantOrderNo = `again-${payWay}`;
    const other = await placeOrder(shop, { payWay, merchantOrderNo });
    t.is(await placeOrder(shop, { payWay, merchantOrderNo }), other);
    t.is((await shop.call('POST', `/api/v2/payment/close/${other}`)).status, 200);
    const late = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
    t.is(late.body.code, 'order_already_paid');
  }
  await assertLedgersMatch(t, service);
});
