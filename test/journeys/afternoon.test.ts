import test from 'ava';
import { operatorAt } from '../cli/operator.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

test("an operator resolves a customer's complaint, starting from the number on the receipt", async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  const shop = await service.merchant();

  // The notifications of Alipay are lost at noon, and a payer pays for tea: the shop still waits for the money.
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  const orderNo = await placeOrder(shop, {
    subject: '红茶 Tea',
    amount: 88,
    userId: 'u-7',
    merchantOrderNo: 'tea-4711',
  });
  for (let other = 0; other < 3; other += 1) await placeOrder(shop, { subject: 'Other', amount: 1, payWay: 'wechat' });
  const receipt = (await payctl.json(`simulator pay ${orderNo}`)).payments[0].number;

  // The customer calls. The number on the receipt is the channel's, and the service does not have it yet.
  t.deepEqual(await payctl.json(`order list --channel-trade-no ${receipt}`), []);
  // The customer knows the amount and the time.
  const [found, ...more] = await payctl.json('order list --pay-way alipay --amount-min 88 --amount-max 88 --since 3h');
  t.deepEqual([found.orderNo, more.length], [orderNo, 0]);

  // The explanation gives the reason why the order is unpaid, and the time of the next query.
  const why = await payctl.done(`explain ${orderNo}`);
  t.regex(why, /^order\tP\w+\tpending$/m);
  t.regex(why, /^why\tThe order was created at the channel and is waiting for the payer\.$/m);
  t.regex(why, /^next\tthe channel is queried for the payment\t\d{4}-\d\d-\d\dT[\d:.]+Z$/m);
  t.regex(why, /^money\tnothing paid$/m);

  // Query the channel now.
  t.is((await payctl.json(`order sync ${orderNo}`)).status, 'paid');
  t.deepEqual(
    (await payctl.json(`order list --channel-trade-no ${receipt}`)).map((row: { orderNo: string }) => row.orderNo),
    [orderNo],
  );
  t.regex(await payctl.done(`explain ${orderNo}`), /^step\t\S+\tmove\tpending → paid\t.*88\.00 CNY/m);

  // The tea is sold out: half of the money is refunded, after a dry run.
  const refund = `refund create ${orderNo} --amount 44 --reason "half of it was sold out"`;
  t.true((await payctl.json(`${refund} --dry-run`)).dryRun);
  t.is((await payctl.payctl(refund)).code, 2, 'without a terminal --yes is required');
  const { refundNo } = await payctl.json(`${refund} -y`);
  await until('the refund', async () => (await payctl.json(`refund get ${refundNo}`)).status === 'succeeded');
  t.like(await payctl.json(`order get ${orderNo}`), { status: 'partially_refunded', refundableAmount: 44 });

  // The explanation has the answer for the customer.
  const told = await payctl.done(`explain ${orderNo}`);
  t.regex(told, new RegExp(`^refund\t${refundNo}\tsucceeded\t44\\.00 CNY\t“half of it was sold out”$`, 'm'));
  t.regex(told, /^money\tpaid 88\.00 = refunded 44\.00 \+ refunding 0\.00 \+ kept 44\.00 CNY\trefundable 44\.00$/m);

  // The statistics, the ledger check and the customer's history include the order.
  const stats = await payctl.json('project stats default --mode simulator');
  t.like(
    stats.totals.amounts.find(({ payWay }: { payWay: string }) => payWay === 'alipay'),
    { currency: 'CNY', paidOrders: 1, paidAmount: 88, refunds: 1, refundedAmount: 44 },
  );
  t.regex(await payctl.done('project stats --mode simulator'), /^alipay\t1\t88\t1\t44\tCNY$/m);
  t.is((await payctl.json('user orders u-7'))[0].orderNo, orderNo);
  t.is((await payctl.payctl('audit')).code, 0);
  t.is((await payctl.payctl('doctor')).code, 0);
  await payctl.done('logout');
  t.is((await payctl.payctl(`order get ${orderNo}`)).code, 4);
});

test("a customer's refund is found by the number on the receipt, synced, and the rest is refunded", async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const payctl = await operatorAt(t, service);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { subject: 'Cup', amount: 30 });
  await payOrder(service, shop, { subject: 'Another cup', amount: 30 });
  const receipt = (await payctl.json(`order get ${orderNo}`)).channelTradeNo;
  // The next refund must wait for its slot even on a slow machine.
  service.clock.stop();
  // The channel accepted the shop's refund, but its answer and its notification were lost.
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  await payctl.done('simulator faults --pay-way alipay --call refund --fault commit-then-timeout --times 1');
  await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 10, reason: 'a crack' });

  const [found, ...more] = await payctl.json(`order list --channel-trade-no ${receipt}`);
  t.deepEqual([found.orderNo, more.length], [orderNo, 0]);
  const why = await payctl.done(`explain ${orderNo}`);
  t.regex(why, /^why\tThe order is paid; a refund is in progress\.$/m);
  t.regex(why, /^refund-why\tThe refund was sent without a usable response; it may or may not have succeeded\.$/m);
  t.regex(why, /^refund-next\tthe channel is queried.*\t\d{4}-\d\d-\d\dT[\d:.]+Z$/m);
  t.regex(why, /refunding 10\.00 \+ kept 20\.00 CNY/);

  t.like(await payctl.json(`order sync ${orderNo}`), { status: 'partially_refunded', refundedAmount: 10 });
  const { refundNo } = await payctl.json(`refund create ${orderNo} --amount 20 --reason "all of it" -y`);
  // Alipay accepts the refunds of one order a few seconds apart, so the service queues this one and sends it later.
  t.regex(await payctl.done(`explain ${orderNo}`), /^refund-why\t.*this refund is queued\.$/m);
  service.clock.advance(5);
  await until('the rest', async () => {
    await service.app.sweep.once();
    return (await payctl.json(`refund get ${refundNo}`)).status === 'succeeded';
  });
  t.is((await payctl.json(`explain ${orderNo}`)).situation, 'refunded');
  const { totals } = await payctl.json('project stats --mode simulator');
  t.like(totals, { paidOrders: 2, refunds: 2 });
  t.like(totals.amounts[0], { paidAmount: 60, refundedAmount: 30 });
  t.is((await payctl.payctl('audit')).code, 0);
});
