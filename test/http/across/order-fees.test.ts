import test from 'ava';
import { billLine, billRow, payee } from '../../support/bill-rows.ts';
import { statementsOf, writeLines } from '../../../server/db/queries/bill-lines.ts';
import { firstAdmin } from '../../support/admin.ts';
import { payOrder } from '../../support/orders.ts';
import { type Service, startService, until } from '../../support/service.ts';

/** An order of 10.00 with a refund of 4.00 two hours ago, and the bill lines of both. */
async function billed(service: Service): Promise<{ orderNo: string; refundNo: string }> {
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { amount: 10 });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const { refundNo } = body.data;
  const { store } = service.app;
  await until('the refund', async () => {
    const refund = await store.read((tx) => tx.refunds.find({ refundNo }));
    return refund?.state === 'succeeded';
  });
  const order = await store.read((tx) => tx.orders.find({ orderNo }));
  const billNo = `B${orderNo.slice(1)}`;
  const bill = {
    ...billRow({ payWay: 'alipay', account: order?.account ?? '', mode: 'simulator' }),
    billNo,
    reading: 1,
  };
  await store.transaction(async (tx) => {
    await tx.orders.update({ orderNo }, { paidAt: new Date(new Date().getTime() - 7_200_000) });
    await tx.payees.insertIfNew({ ...payee({ ...order!, account: order!.account }, order!.configVersion) });
    await tx.payees.update({ project: order!.project, payWay: 'alipay' }, { payee: order!.account });
    await tx.bills.insert({ ...bill, state: 'done' });
    await tx.orderFees.insert({ orderNo, refundNo: '', fee: 6n, currency: 'CNY', billNo });
    await tx.orderFees.insert({ orderNo, refundNo, fee: -2n, currency: 'CNY', billNo });
    await tx.billDifferences.insert({
      id: crypto.randomUUID(),
      billNo,
      payWay: 'alipay',
      project: 'default',
      day: bill.day,
      kind: 'fee_differs',
      orderNo,
      refundNo: null,
      key: orderNo,
      ours: null,
      theirs: null,
      state: 'listed',
      checks: 1,
      nextCheckAt: null,
      leasedUntil: null,
      queueKey: `alipay simulator ${bill.account}`,
      answer: null,
      createdAt: new Date(),
      finishedAt: null,
    });
  });
  const lines = [
    billLine({ line: 1, orderNo, channelTradeNo: 'T1' }),
    billLine({ line: 2, kind: 'refund', event: 'REFUND', orderNo, refundNo, amount: -400n, fee: -2n }),
  ];
  await writeLines(store, statementsOf({ billNo, reading: 1, day: bill.day }, lines));
  return { orderNo, refundNo };
}

test("an order and its refunds show the channel's fees from its bill", async (t) => {
  const service = await startService(t);
  const { call: admin } = await firstAdmin(service);
  const { orderNo, refundNo } = await billed(service);
  const { body: order } = await admin('GET', `/api/v1/orders/${orderNo}`);
  t.like(order.data, {
    settlement: {
      fee: { amount: 0.06, amountMinor: 6, currency: 'CNY' },
      net: { amount: 9.94, amountMinor: 994, currency: 'CNY' },
      received: null,
    },
    refunds: [{ refundNo, fee: { amount: -0.02, amountMinor: -2, currency: 'CNY' } }],
  });
  const { body: refunds } = await admin('GET', `/api/v1/refunds?orderNo=${orderNo}`);
  t.like(refunds.data[0], { refundNo, fee: { amountMinor: -2 } });
  const { body: refund } = await admin('GET', `/api/v1/refunds/${refundNo}`);
  t.like(refund.data, { refundNo, fee: { amountMinor: -2 } });
});

test('an export has the fee and the net amount', async (t) => {
  const service = await startService(t);
  const { call: admin } = await firstAdmin(service);
  const { orderNo } = await billed(service);
  const { body } = await admin('GET', '/api/v1/orders/export?format=csv');
  const [head, ...rows] = String(body).trim().split('\r\n');
  t.true(head?.endsWith(',fee,net'), head);
  t.true(rows.find((row) => row.includes(orderNo))?.endsWith(',0.06,9.94'));
});

test('an explanation lists the bill lines and the differences', async (t) => {
  const service = await startService(t);
  const { call: admin } = await firstAdmin(service);
  const { orderNo, refundNo } = await billed(service);
  const { body } = await admin('GET', `/api/v1/orders/${orderNo}/explain`);
  t.like(body.data.bills, [
    { line: 1, kind: 'payment', amountMinor: 1000, feeMinor: 6, currency: 'CNY', channelNo: 'T1' },
    { line: 2, kind: 'refund', amountMinor: -400, feeMinor: -2, channelNo: null },
  ]);
  t.deepEqual(
    body.data.differences.map(({ kind, state }: { kind: string; state: string }) => [kind, state]),
    [['fee_differs', 'listed']],
  );
  t.truthy(refundNo);
});
