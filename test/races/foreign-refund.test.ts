import test from 'ava';
import { settleForeignRefund } from '../../server/payments/refunds/lookups.ts';
import { disputed, disputeOf } from '../support/disputes.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startService } from '../support/service.ts';

test('a refund reported before its payment refunds nothing: the channel is queried and an exception opens', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { ports } = service.app;
  const orderNo = await placeOrder(shop, { payWay: 'wechat', amount: 10 });
  const told = {
    kind: 'succeeded' as const,
    amount: { minor: 400n, currency: 'CNY' },
    at: ports.now(),
    channelRefundNo: '50000000001',
  };
  await ports.store.transaction(async (tx) => {
    const order = await tx.orders.lock({ orderNo });
    await settleForeignRefund(ports, tx, order!, told, null, { cause: 'notice', actor: 'channel:wechat' });
  });
  const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
  t.like(order, { refunded: 0n, overrun: 0n, state: 'pending' });
  t.true(order!.nextCheckAt! <= ports.now());
  t.is(await ports.store.read((tx) => tx.refunds.count({ orderNo })), 0);
  const listed = await ports.store.read((tx) => tx.exceptions.find({ orderNo, kind: 'refund_unexplained' }));
  t.like(listed, { state: 'open', blocksRefunds: true, receivedMinor: 400n });
  await service.app.sweep.once();
  t.is(await stateOf(service, orderNo), 'pending');
});

test('a refund from before the dispute is not counted as the amount that the dispute took', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { ports } = service.app;
  const orderNo = await payOrder(service, shop, { payWay: 'paypal', amount: 10 });
  await disputed(service, orderNo, 'open', 'open', { amount: 4 });
  await disputed(service, orderNo, 'lose', 'lost');
  const { openedAt } = (await disputeOf(service, orderNo))!;
  const tell = (at: Date, channelRefundNo: string) =>
    ports.store.transaction(async (tx) => {
      const order = await tx.orders.lock({ orderNo });
      const told = { kind: 'succeeded', amount: { minor: 400n, currency: 'USD' }, at, channelRefundNo } as const;
      await settleForeignRefund(ports, tx, order!, told, null, { cause: 'notice', actor: 'channel:paypal' });
    });
  const refunded = async () => (await ports.store.read((tx) => tx.orders.find({ orderNo })))!.refunded;
  t.is(await refunded(), 400n);
  await tell(new Date(openedAt.getTime() - 3_600_000), 'EARLIER');
  t.is(await refunded(), 800n, 'another refund');
  await tell(openedAt, 'SAME');
  t.is(await refunded(), 800n, 'the same money');
});
