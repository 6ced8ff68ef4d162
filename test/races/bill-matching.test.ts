import { pendingRefunds } from '../../server/db/queries/bills.ts';
import { removeBillLines } from '../../server/db/queries/bill-lines.ts';
import { settlement } from '../../server/payments/bills/settlement.ts';
import { viewRefund } from '../../server/payments/view.ts';
import { billPorts, jsonDesk } from './bill-desk.ts';
import { account, beijing, paidLine, refundLine } from '../support/bill-rows.ts';
import { scenesOnBoth } from './on-both.ts';

const onBoth = scenesOnBoth('bill lines against orders');

onBoth('each kind of difference is found with both sides, and matching lines are not', async (t, store) => {
  const shop = account(store);
  const fine = await shop.order();
  const back = await shop.refund(fine);
  const unpaid = await shop.order({ state: 'closed', paid: 0n, channelTradeNo: null, paidAt: null });
  const unbilled = await shop.order();
  const other = await shop.order();
  const dollars = await shop.order();
  const unknownBack = await shop.order();
  const unbilledBack = await shop.order();
  const lost = await shop.refund(unbilledBack);
  const otherBack = await shop.order();
  const wrong = await shop.refund(otherBack);
  const dear = await shop.order();
  const twice = await shop.order();
  const bill = await shop.bill([
    paidLine(fine),
    refundLine(back),
    paidLine(unpaid, { channelTradeNo: 'T-new' }),
    paidLine(other, { amount: 999n }),
    paidLine(dollars, { currency: 'USD' }),
    paidLine(unknownBack),
    { kind: 'refund', orderNo: unknownBack.orderNo, refundNo: 'portal-1', channelRefundNo: '500', amount: 300n },
    paidLine(unbilledBack),
    paidLine(otherBack),
    refundLine(wrong, { amount: 401n }),
    paidLine(dear, { fee: 9n }),
    paidLine(twice),
    paidLine(twice, { channelTradeNo: 'T-again' }),
    { orderNo: 'another-system', channelTradeNo: 'T-other' },
    { kind: 'refund', orderNo: 'another-system', refundNo: 'theirs', channelTradeNo: 'T-other', amount: 5n },
  ]);
  const rate = { share: '0.006', fixed: 0n, fixedCurrency: null };
  const matched = await shop.match(bill, { rate });
  t.is(matched.found, 9);
  t.is(matched.notOurs, 2);
  t.deepEqual(await shop.differences(), [
    'amount_differs 4 open',
    'currency_differs 5 open',
    'duplicate_payment 10 open',
    'fee_differs 9 open',
    'paid_missing_at_channel 3 open',
    'paid_unknown_to_us 2 open',
    'refund_amount_differs 8 open',
    'refund_missing_at_channel 7 open',
    'refund_unknown_to_us 6 open',
  ]);
  const rows = await store.read((tx) => tx.billDifferences.list({}));
  const side = (kind: string) => rows.find((row) => row.kind === kind);
  t.like(side('amount_differs')?.ours, { state: 'paid', amount: '1000', currency: 'CNY', channelNo: 'T4' });
  t.like(side('amount_differs')?.theirs, { amount: '999', currency: 'CNY', channelNo: 'T4', line: 4, fee: '6' });
  t.is(side('paid_missing_at_channel')?.orderNo, unbilled.orderNo);
  t.is(side('paid_missing_at_channel')?.theirs, null);
  t.is(side('refund_missing_at_channel')?.refundNo, lost.refundNo);
  t.is(side('refund_unknown_to_us')?.ours, null);
  t.is(side('refund_unknown_to_us')?.refundNo, 'portal-1');
});

onBoth('a transaction that is listed in two bills is a difference, and its fee counts once', async (t, store) => {
  const shop = account(store);
  const once = await shop.order();
  const twice = await shop.order();
  const back = await shop.refund(twice);
  const late = await shop.order({ paidAt: beijing('23:59') });
  const first = await shop.bill([
    paidLine(once),
    paidLine(twice),
    refundLine(back),
    paidLine(late, { at: beijing('23:59') }),
    paidLine(twice),
    refundLine(back),
    // An order of another system.
    { orderNo: 'another-system', channelTradeNo: 'T-other' },
    { orderNo: 'another-system', channelTradeNo: 'T-other' },
    // Lines without a transaction number are not merged.
    { kind: 'refund', orderNo: once.orderNo, channelTradeNo: once.channelTradeNo, amount: 100n },
    { kind: 'refund', orderNo: once.orderNo, channelTradeNo: once.channelTradeNo, amount: 200n },
  ]);
  t.is((await shop.match(first)).found, 4);
  const next = await shop.bill([paidLine(late, { at: beijing('00:01', 1) })], 1);
  t.is((await shop.match(next)).found, 1);
  t.is((await shop.match(first)).found, 4, 'the first of two days is correct');
  t.is(await store.read((tx) => tx.billDifferences.count({ kind: 'refund_unknown_to_us' })), 2);
  const orderBy = { day: 'asc', key: 'asc' } as const;
  const rows = await store.read((tx) => tx.billDifferences.list({ kind: 'line_twice' }, { orderBy }));
  t.deepEqual(
    rows.map(({ kind, day, orderNo, refundNo }) => [kind, day, orderNo, refundNo]),
    [
      ['line_twice', first.day, twice.orderNo, back.refundNo],
      ['line_twice', first.day, twice.orderNo, null],
      ['line_twice', next.day, late.orderNo, null],
    ],
  );
  const fees = await store.read((tx) =>
    tx.orderFees.list({ orderNo: twice.orderNo }, { orderBy: { refundNo: 'asc' } }),
  );
  t.deepEqual(
    fees.map(({ fee }) => fee),
    [6n, -2n],
  );
});

onBoth(
  'a line is identified by its transaction: a difference that an operator resolved stays resolved if the line moves',
  async (t, store) => {
    const shop = account(store);
    const other = await shop.order();
    const bill = await shop.bill([paidLine(other, { amount: 999n })]);
    await shop.match(bill);
    const [found] = await store.read((tx) => tx.billDifferences.list({}));
    const ended = { state: 'ended', nextCheckAt: null, finishedAt: beijing('09:00', 3) } as const;
    await store.transaction((tx) => tx.billDifferences.update({ id: found!.id }, ended));
    const moved = await shop.bill([{ orderNo: 'another-system' }, paidLine(other, { amount: 999n })]);
    await shop.match({ ...moved, reading: 2 });
    const [after] = await store.read((tx) => tx.billDifferences.list({}));
    t.like(after, ended);
    t.is(after?.theirs?.line, 2);
    await shop.match({ ...(await shop.bill([paidLine(other, { amount: 998n })])), reading: 3 });
    t.deepEqual(await shop.differences(), ['amount_differs 1 open'], 'another amount is news');
  },
);

onBoth('a second run changes nothing; a matching difference heals, and one that recurs reopens', async (t, store) => {
  const shop = account(store);
  const unpaid = await shop.order({ state: 'closed', paid: 0n, channelTradeNo: null, paidAt: null });
  const bill = await shop.bill([paidLine(unpaid, { channelTradeNo: 'T1' })]);
  await shop.match(bill);
  const [first] = await store.read((tx) => tx.billDifferences.list({}));
  await store.transaction((tx) => tx.billDifferences.update({ id: first!.id }, { state: 'listed', nextCheckAt: null }));
  t.is((await shop.match(bill)).found, 1);
  t.deepEqual(await store.read((tx) => tx.billDifferences.list({})), [
    { ...first!, state: 'listed', nextCheckAt: null },
  ]);
  const paid = { state: 'paid', paid: 1000n, channelTradeNo: 'T1', paidAt: beijing('12:00') } as const;
  await store.transaction((tx) => tx.orders.update({ orderNo: unpaid.orderNo }, paid));
  const healed = await shop.match(bill, { only: unpaid.orderNo });
  t.deepEqual(healed.relieved, [{ orderNo: unpaid.orderNo, kind: 'paid_unknown_to_us', key: 'T1' }]);
  t.deepEqual(await shop.differences(), ['paid_unknown_to_us 1 healed']);
  t.deepEqual((await shop.match(bill)).relieved, [], 'reported once');
  await store.transaction((tx) => tx.orders.update({ orderNo: unpaid.orderNo }, { paid: 0n, state: 'closed' }));
  await shop.match(bill);
  t.deepEqual(await shop.differences(), ['paid_unknown_to_us 1 open']);
});

onBoth(
  'a difference that an operator resolved stays resolved until the bill or the order changes',
  async (t, store) => {
    const shop = account(store);
    const order = await shop.order();
    const bill = await shop.bill([paidLine(order, { amount: 999n })]);
    await shop.match(bill);
    await store.transaction((tx) => tx.billDifferences.update({ orderNo: order.orderNo }, { state: 'ended' }));
    await shop.match(bill);
    t.deepEqual(await shop.differences(), ['amount_differs 1 ended']);
    await shop.match(await shop.bill([paidLine(order, { amount: 998n })]));
    t.deepEqual(await shop.differences(), ['amount_differs 1 open']);
  },
);

onBoth('a payment around midnight waits for the bill of the neighbouring day', async (t, store) => {
  const shop = account(store);
  const late = await shop.order({ paidAt: beijing('23:45') });
  await shop.order({ paidAt: beijing('23:50') });
  const early = await shop.order({ paidAt: beijing('00:10', 1) });
  const first = await shop.bill([paidLine(early)]);
  await shop.match(first);
  t.deepEqual(await shop.differences(), [], 'the next bill may have them');
  const second = await shop.bill([paidLine(late, { at: beijing('00:01', 1) })], 1);
  await shop.match(second);
  t.deepEqual(await shop.differences(), ['paid_missing_at_channel 2 open']);
  t.is((await store.read((tx) => tx.billDifferences.list({})))[0]?.billNo, first.billNo, 'it belongs to its own day');
  await shop.match(first);
  t.deepEqual(await shop.differences(), ['paid_missing_at_channel 2 open']);
});

onBoth('the wait for a neighbouring bill that never arrives ends', async (t, store) => {
  const shop = account(store);
  await shop.order({ paidAt: beijing('23:50') });
  const bill = await shop.bill([]);
  await shop.match(bill, { now: beijing('10:30', 3) });
  t.deepEqual(await shop.differences(), []);
  await shop.match(bill, { now: beijing('10:30', 8) });
  t.deepEqual(await shop.differences(), ['paid_missing_at_channel 1 open']);
});

onBoth('orders of another account, mode or channel are not compared', async (t, store) => {
  const shop = account(store);
  const others = [
    await shop.order({ account: '1900000002' }),
    await shop.order({ mode: 'sandbox' }),
    await shop.order({ payWay: 'alipay', account: '1900000001' }),
  ];
  const matched = await shop.match(await shop.bill(others.map((order) => paidLine(order))));
  t.deepEqual({ found: matched.found, notOurs: matched.notOurs }, { found: 0, notOurs: 3 });
});

onBoth('fees are stored beside orders and refunds once, with the sums per project', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  const refund = await shop.refund(order);
  const other = await shop.order({ project: 'books' });
  const discounted = await shop.order({ project: 'books' });
  const bill = await shop.bill([
    paidLine(order),
    refundLine(refund),
    paidLine(other, { fee: 7n }),
    { orderNo: 'else', channelTradeNo: 'X', fee: 1n },
    { kind: 'dispute', event: 'T1201', orderNo: other.orderNo, amount: -1000n, fee: 20n },
    paidLine(discounted, { discount: 100n, share: 30n, fee: 5n }),
    { kind: 'refund', orderNo: 'else', channelTradeNo: 'X', amount: 10n, discount: -1n, share: -2n, fee: 0n },
    { kind: 'fee', event: 'T0107', orderNo: null, amount: 0n, fee: 3n },
  ]);
  for (let runs = 0; runs < 2; runs += 1) {
    const { sums } = await shop.match(bill);
    const none = { currency: 'CNY', payments: 1, paid: '1000', refunds: 0, refunded: '0', disputed: '0', other: '0' };
    const plain = { ...none, discounts: '0', shares: '0', pending: 0 };
    const discounted = { payments: 2, paid: '2000', discounts: '100', shares: '30' };
    t.deepEqual(sums, [
      { ...plain, ...discounted, project: 'books', fees: '32', disputed: '1000' },
      { ...plain, project: 'default', refunds: 1, refunded: '400', fees: '4' },
      { ...plain, project: null, refunds: 1, refunded: '10', discounts: '-1', shares: '-2', fees: '4' },
    ]);
  }
  const fees = await store.read((tx) => tx.orderFees.list({}, { orderBy: { orderNo: 'asc', refundNo: 'asc' } }));
  t.deepEqual(
    fees.map(({ orderNo, refundNo, fee }) => [orderNo, refundNo, fee]),
    [
      [order.orderNo, '', 6n],
      [order.orderNo, refund.refundNo, -2n],
      [other.orderNo, '', 7n],
      [discounted.orderNo, '', 5n],
    ],
  );
});

onBoth('the net of a payment that was held is stored under the day of its completion', async (t, store) => {
  const shop = account(store, 'paypal');
  const completed = (at: Date) => ({ settlement: { completedAt: at.toISOString() } });
  const orders = [
    await shop.order(),
    await shop.order(completed(beijing('12:01'))),
    await shop.order(completed(beijing('23:59', 2))),
    await shop.order(completed(beijing('00:00', 2))),
    await shop.order(completed(beijing('00:00', 3))),
    await shop.order({ ...completed(beijing('00:00', 3)), project: 'books' }),
  ];
  const other = await shop.order(completed(beijing('12:00', 4)));
  const lines = [...orders.map((order) => paidLine(order)), paidLine(other, { channelTradeNo: 'another payment' })];
  const { sums } = await shop.match(await shop.bill([...lines, { orderNo: 'else', channelTradeNo: 'X' }]));
  t.deepEqual(
    sums.map(({ project, onOtherDays }) => [project, onOtherDays]),
    [
      ['books', { '2026-11-23': '994' }],
      ['default', { '2026-11-22': '1988', '2026-11-23': '994' }],
      [null, undefined],
    ],
  );
});

onBoth("a fee is charged on the amount less the merchant's own discount", async (t, store) => {
  const shop = account(store);
  const rate = { share: '0.006', fixed: 0n, fixedCurrency: null };
  const bill = await shop.bill([
    paidLine(await shop.order(), { discount: 500n, fee: 3n }),
    paidLine(await shop.order(), { discount: 500n, fee: 6n }),
    // Profit shares are paid out later: the channel charges on everything that the merchant received.
    paidLine(await shop.order(), { share: 500n, fee: 6n }),
    paidLine(await shop.order(), { share: 500n, fee: 3n }),
  ]);
  t.is((await shop.match(bill, { rate })).found, 2);
  t.deepEqual(await shop.differences(), ['fee_differs 2 open', 'fee_differs 4 open']);
});

onBoth(
  'a refund that the bill lists as processing matches a refund row or is a difference, and is in no sum',
  async (t, store) => {
    const shop = account(store);
    const order = await shop.order();
    const pending = { kind: 'pending', fee: -2n } as const;
    const done = await shop.refund(order);
    const under = await shop.refund(await shop.order(), { state: 'processing', finishedAt: null });
    const closed = await shop.refund(await shop.order(), { state: 'failed' });
    const wrong = await shop.refund(await shop.order());
    const portal = await shop.order();
    const bill = await shop.bill([
      refundLine(done, pending),
      refundLine(under, pending),
      refundLine(closed, pending),
      refundLine(wrong, { ...pending, amount: 399n }),
      { ...pending, orderNo: portal.orderNo, refundNo: 'portal-1', channelRefundNo: '500', amount: 300n },
      { ...pending, orderNo: 'another-system', refundNo: 'theirs', amount: 5n },
    ]);
    const { sums, lines, notOurs } = await shop.match(bill);
    t.deepEqual([lines, notOurs], [6, 1]);
    t.like(sums, [
      { project: 'default', refunds: 0, refunded: '0', fees: '0', other: '0', pending: 5 },
      { project: null, refunds: 0, refunded: '0', other: '0', pending: 1 },
    ]);
    t.deepEqual(
      (await shop.differences()).filter((line) => !line.startsWith('paid_missing')),
      ['refund_amount_differs 4 open', 'refund_unknown_to_us 5 open'],
    );
    const fees = await store.read((tx) => tx.orderFees.list({}));
    t.deepEqual(
      fees.map(({ refundNo, fee }) => [refundNo, fee]).toSorted(),
      [
        [done.refundNo, -2n],
        [under.refundNo, -2n],
        [closed.refundNo, -2n],
        [wrong.refundNo, -2n],
      ].toSorted(),
      'a fee comes back with a refund, also with one that ends when the bill is compared no more',
    );
    const shown = fees.map((fee) => {
      const refund = [done, under, closed, wrong].find(({ refundNo }) => refundNo === fee.refundNo)!;
      return viewRefund(refund, fee).fee === null;
    });
    t.is(shown.filter(Boolean).length, 2, 'a refund that was not made has no fee');
    const ends = await store.read((tx) => pendingRefunds(tx, [bill]));
    t.deepEqual(
      ends.map((one) => [one.project, one.end, one.refunds, one.refunded, one.fees]),
      [
        ['default', 'failed', 1, '400', '-2'],
        ['default', 'open', 2, '700', '-4'],
        ['default', 'succeeded', 2, '799', '-4'],
        [null, 'open', 1, '5', '-2'],
      ],
    );
    t.deepEqual(await store.read((tx) => pendingRefunds(tx, [])), []);
  },
);

onBoth(
  'a refund in progress stays in the settlement if its order returns and if its line is removed',
  async (t, store) => {
    const shop = account(store);
    const known = await shop.order();
    const open = await shop.refund(known, { state: 'processing', finishedAt: null });
    const [lost, failed] = [await shop.order({ project: 'two' }), await shop.order()];
    const back = await shop.refund(lost);
    const closed = await shop.refund(failed, { state: 'failed' });
    await store.transaction(async (tx) => {
      await tx.refunds.delete({ refundNo: back.refundNo });
      await tx.orders.delete({ orderNo: lost.orderNo });
    });
    const pending = { kind: 'pending', fee: 0n } as const;
    const bill = await shop.bill([open, back, closed].map((refund) => refundLine(refund, pending)));
    const { sums } = await shop.match(bill);
    const total = { currency: 'CNY', payments: 0, paid: '0', refunds: 3, refunded: '1200', fees: '0', net: '-1200' };
    await store.transaction((tx) =>
      tx.bills.update({ billNo: bill.billNo }, { sums, totals: [total], state: 'done', nextCheckAt: null }),
    );
    const ports = billPorts(
      store,
      jsonDesk(() => ({ kind: 'gone', code: 'x' })),
      { reports: store } as never,
    );
    const settled = () => settlement(ports)({ mode: 'live', from: bill.day, to: bill.day });
    const before = await settled();
    t.deepEqual([before.totals[0]?.netMinor, before.disagreements], [-800, []]);
    await store.transaction(async (tx) => {
      await tx.orders.insert(lost);
      await tx.refunds.insert(back);
    });
    const restored = await settled();
    t.deepEqual([restored.totals, restored.disagreements], [before.totals, []]);
    t.is(restored.days.find(({ project }) => project === 'two')?.netMinor, -400);
    t.is(await removeBillLines(store, beijing('12:00', 40)), 3);
    t.deepEqual(await settled(), restored);
    t.is(await removeBillLines(store, beijing('12:00', 40)), 0);
    await shop.bill([]);
    t.deepEqual(await settled(), restored);
  },
);

onBoth(
  'refunds are found by any of their numbers, or by the payment if the bill has no order number',
  async (t, store) => {
    const shop = account(store, 'paypal');
    const order = await shop.order({ currency: 'USD', channelTradeNo: 'CAPTURE' });
    const usd = { currency: 'USD', channelTradeNo: 'CAPTURE', orderNo: null };
    await shop.refund(order, { channelRefundNo: 'REFUND-1', currency: 'USD', refundNo: 'R20261120000000AAAAAAAAAA' });
    const second = await shop.refund(order, { attempt: 2, currency: 'USD', refundNo: 'R20261120000000BBBBBBBBBB' });
    const bill = await shop.bill([
      paidLine(order, usd),
      { ...usd, kind: 'refund', channelRefundNo: 'REFUND-1', amount: 400n },
      { ...usd, kind: 'refund', refundNo: `${second.refundNo}_2`, amount: 400n },
    ]);
    t.is((await shop.match(bill)).found, 0);
    await shop.match(
      await shop.bill([paidLine(order, usd), { ...usd, kind: 'refund', refundNo: second.refundNo, amount: 400n }]),
    );
    t.deepEqual(await shop.differences(), [
      'refund_missing_at_channel 1 open',
      'refund_missing_at_channel 1 open',
      'refund_unknown_to_us 1 open',
    ]);
  },
);

onBoth('a second payment that is listed or being refunded is no difference', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  await shop.refund(order, {
    surplus: true,
    origin: 'surplus',
    paymentNo: 'T-again',
    state: 'processing',
    finishedAt: null,
  });
  const bill = await shop.bill([paidLine(order), paidLine(order, { channelTradeNo: 'T-again' })]);
  t.is((await shop.match(bill)).found, 0);
});
