import test, { type ExecutionContext } from 'ava';
import { pendingRefunds } from '../../server/db/queries/bill-lists.ts';
import type { Matched } from '../../server/db/queries/bill-matching.ts';
import { quieten } from '../../server/db/queries/bill-strangers.ts';
import { noteRemoved } from '../../server/db/queries/removed-history.ts';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import type { Store } from '../../server/db/store.ts';
import { endDifference } from '../../server/payments/bills/end-difference.ts';
import type { BillLine } from '../../server/payments/channel.ts';
import { account, beijing, paidLine, refundLine } from '../support/bill-rows.ts';
import { embeddedDatabase, postgresDatabase } from '../support/database.ts';

type Scene = (t: ExecutionContext, store: Store) => Promise<void>;

const scenes: Scene[] = [];

/** All that scenes may have written to. */
const WRITTEN = `select tablename as name from pg_tables where schemaname = 'public' and tablename not in ('schema_migrations', 'projects')`;

/** The same on both databases. */
function onBoth(title: string, run: Scene): void {
  test(title, async (t) => run(t, (await postgresDatabase(t)).store));
  scenes.push(run);
}

test('each of these on the embedded database', async (t) => {
  const { store } = await embeddedDatabase(t);
  for (const scene of scenes) {
    await scene(t, store);
    await store.transaction(async (tx) => {
      const written = await tx.sql<{ name: string }>(WRITTEN);
      await tx.sql(`truncate ${written.map(({ name }) => name).join(', ')} cascade`);
    });
  }
});

onBoth('each kind of difference is found, with both sides, and what agrees is not', async (t, store) => {
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

onBoth('a transaction that stands in bills twice is a difference, and its fee counts once', async (t, store) => {
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
    // Another system's affairs.
    { orderNo: 'another-system', channelTradeNo: 'T-other' },
    { orderNo: 'another-system', channelTradeNo: 'T-other' },
    // Lines without a number are lines of their own.
    { kind: 'refund', orderNo: once.orderNo, channelTradeNo: once.channelTradeNo, amount: 100n },
    { kind: 'refund', orderNo: once.orderNo, channelTradeNo: once.channelTradeNo, amount: 200n },
  ]);
  t.is((await shop.match(first)).found, 4);
  const next = await shop.bill([paidLine(late, { at: beijing('00:01', 1) })], 1);
  t.is((await shop.match(next)).found, 1);
  t.is((await shop.match(first)).found, 4, 'the first of two days has it rightly');
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

onBoth('a line is known by its transaction: what a person ended stays ended when the line moves', async (t, store) => {
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
});

onBoth(
  'the same once more changes nothing; what agrees by now is healed, what comes back is open again',
  async (t, store) => {
    const shop = account(store);
    const unpaid = await shop.order({ state: 'closed', paid: 0n, channelTradeNo: null, paidAt: null });
    const bill = await shop.bill([paidLine(unpaid, { channelTradeNo: 'T1' })]);
    await shop.match(bill);
    const [first] = await store.read((tx) => tx.billDifferences.list({}));
    await store.transaction((tx) =>
      tx.billDifferences.update({ id: first!.id }, { state: 'listed', nextCheckAt: null }),
    );
    t.is((await shop.match(bill)).found, 1);
    t.deepEqual(await store.read((tx) => tx.billDifferences.list({})), [
      { ...first!, state: 'listed', nextCheckAt: null },
    ]);
    const paid = { state: 'paid', paid: 1000n, channelTradeNo: 'T1', paidAt: beijing('12:00') } as const;
    await store.transaction((tx) => tx.orders.update({ orderNo: unpaid.orderNo }, paid));
    const healed = await shop.match(bill, { only: unpaid.orderNo });
    t.deepEqual(healed.relieved, [{ orderNo: unpaid.orderNo, kind: 'paid_unknown_to_us', key: 'T1' }]);
    t.deepEqual(await shop.differences(), ['paid_unknown_to_us 1 healed']);
    t.deepEqual((await shop.match(bill)).relieved, [], 'told once');
    await store.transaction((tx) => tx.orders.update({ orderNo: unpaid.orderNo }, { paid: 0n, state: 'closed' }));
    await shop.match(bill);
    t.deepEqual(await shop.differences(), ['paid_unknown_to_us 1 open']);
  },
);

onBoth('what a person ended stays ended until the bill or the order says something else', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  const bill = await shop.bill([paidLine(order, { amount: 999n })]);
  await shop.match(bill);
  await store.transaction((tx) => tx.billDifferences.update({ orderNo: order.orderNo }, { state: 'ended' }));
  await shop.match(bill);
  t.deepEqual(await shop.differences(), ['amount_differs 1 ended']);
  await shop.match(await shop.bill([paidLine(order, { amount: 998n })]));
  t.deepEqual(await shop.differences(), ['amount_differs 1 open']);
});

onBoth('around midnight the bill of the neighbouring day is waited for', async (t, store) => {
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

onBoth('a neighbouring bill that never comes is not waited for without an end', async (t, store) => {
  const shop = account(store);
  await shop.order({ paidAt: beijing('23:50') });
  const bill = await shop.bill([]);
  await shop.match(bill, { now: beijing('10:30', 3) });
  t.deepEqual(await shop.differences(), []);
  await shop.match(bill, { now: beijing('10:30', 8) });
  t.deepEqual(await shop.differences(), ['paid_missing_at_channel 1 open']);
});

onBoth('orders of another account, mode or channel are none of it', async (t, store) => {
  const shop = account(store);
  const others = [
    await shop.order({ account: '1900000002' }),
    await shop.order({ mode: 'sandbox' }),
    await shop.order({ payWay: 'alipay', account: '1900000001' }),
  ];
  const matched = await shop.match(await shop.bill(others.map((order) => paidLine(order))));
  t.deepEqual({ found: matched.found, notOurs: matched.notOurs }, { found: 0, notOurs: 3 });
});

/** Exceptions as `kind order dedupe state`, sorted. */
async function exceptions(store: Store): Promise<string[]> {
  const rows = await store.read((tx) => tx.exceptions.list({}));
  return rows.map(({ kind, orderNo, dedupe, state }) => `${kind} ${orderNo} ${dedupe} ${state}`).toSorted();
}

/** With the number of exceptions that were opened. */
const counted = ({ listed, ...matched }: Matched) => ({
  ...matched,
  listed: Object.values(listed).reduce((sum, count) => sum + count, 0),
});

const GONE = 'P20261120030000ABCDEFGHJK';
const UNKNOWN_BACK = 'R20261120040000ABCDEFGHJK';

/** What the bill has of an order that a restore lost. */
const LOST_LINES = [
  { orderNo: GONE, channelTradeNo: 'T-lost' },
  { kind: 'refund', orderNo: GONE, refundNo: UNKNOWN_BACK, channelTradeNo: 'T-lost', channelRefundNo: '500' },
  { kind: 'refund', orderNo: GONE, refundNo: `R${GONE}L_2`, channelTradeNo: 'T-lost', channelRefundNo: '501' },
  { kind: 'dispute', event: 'T1201 S', orderNo: GONE, channelTradeNo: 'T-lost', amount: -1000n },
  { kind: 'refund', orderNo: null, refundNo: 'R20261120050000ABCDEFGHJK_2', channelTradeNo: 'T-x', amount: 5n },
] as const;

onBoth(
  'a number of ours that no order here has is a difference of its own, which is listed at once and heals',
  async (t, store) => {
    const shop = account(store);
    const fine = await shop.order();
    const others = [
      { orderNo: 'another-system', channelTradeNo: 'T-other' },
      { orderNo: 'P20261320030000ABCDEFGHJK', channelTradeNo: 'T-no-month' },
      { orderNo: 'P20261120030000ABCDEFGHIL', channelTradeNo: 'T-no-letters' },
      { kind: 'other', event: 'REFUND PROCESSING', orderNo: GONE, refundNo: UNKNOWN_BACK },
    ] as const;
    const bill = await shop.bill([paidLine(fine), ...LOST_LINES, LOST_LINES[0], ...others]);
    const matched = await shop.match(bill);
    t.like(counted(matched), { found: 5, listed: 5, notOurs: 3, lines: 11 });
    const orderBy = { key: 'asc' } as const;
    const rows = await store.read((tx) => tx.billDifferences.list({}, { orderBy }));
    t.deepEqual(
      rows.map(({ kind, orderNo, refundNo, key, state, nextCheckAt, project }) => [
        [kind, state, nextCheckAt, project].join(' '),
        orderNo,
        refundNo,
        key,
      ]),
      [
        [GONE, UNKNOWN_BACK, '500'],
        [GONE, `R${GONE}L_2`, '501'],
        ['R20261120050000ABCDEFGHJK_2', 'R20261120050000ABCDEFGHJK_2', 'R20261120050000ABCDEFGHJK_2'],
        [GONE, null, 'T-lost'],
        [GONE, null, 'T1201 S T-lost'],
      ].map((row) => ['order_unknown_here listed  default', ...row]),
    );
    t.like(rows[3], { ours: null, theirs: { amount: '1000', currency: 'CNY', channelNo: 'T-lost', line: 2 } });
    const listed = rows.map(({ orderNo, key }) => `order_unknown_here ${orderNo} ${key} open`).toSorted();
    t.deepEqual(await exceptions(store), listed);
    const [payment] = await store.read((tx) => tx.exceptions.list({ dedupe: 'T-lost' }));
    t.like(payment, { clientId: '', project: 'default', receivedMinor: 1000n, receivedCurrency: 'CNY' });
    t.like(payment?.detail, { billNo: bill.billNo, day: bill.day, theirs: { amount: '1000' } });

    t.like(counted(await shop.match(bill)), { found: 5, listed: 0 }, 'the same again changes nothing');
    t.deepEqual(await store.read((tx) => tx.billDifferences.list({}, { orderBy })), rows);

    const over = { orderNo: GONE, kind: 'order_unknown_here', dedupe: '500' };
    await store.transaction(async (tx) => {
      await endDifference(tx, over, beijing('09:00', 3));
      await tx.exceptions.update(over, { state: 'resolved', resolution: 'acknowledge' });
    });
    const moved = await shop.bill([{ orderNo: 'another-system' }, paidLine(fine), ...LOST_LINES, ...others]);
    t.like(counted(await shop.match({ ...moved, reading: 2 })), { found: 5, listed: 0 });
    t.is(
      (await exceptions(store)).filter((line) => line.endsWith('resolved')).length,
      1,
      'what a person ended stays so',
    );

    await shop.order({ orderNo: GONE, channelTradeNo: 'T-lost' });
    const known = await shop.match({ ...moved, reading: 2 });
    t.deepEqual(known.relieved.map(({ key }) => key).toSorted(), ['501', 'T-lost', 'T1201 S T-lost']);
    const after = await store.read((tx) => tx.billDifferences.list({ kind: 'order_unknown_here' }, { orderBy }));
    t.deepEqual(
      after.map(({ state }) => state),
      ['ended', 'healed', 'listed', 'healed', 'healed'],
    );
  },
);

onBoth('what came back after it was healed is listed again, and its exception is open again', async (t, store) => {
  const shop = account(store);
  const bill = await shop.bill(LOST_LINES.slice(0, 1));
  await shop.match(bill);
  const order = await shop.order({ orderNo: GONE, channelTradeNo: 'T-lost' });
  const { relieved } = await shop.match(bill);
  const resolved = { state: 'resolved', resolution: 'agrees' } as const;
  await store.transaction((tx) => tx.exceptions.update({ orderNo: relieved[0]!.orderNo }, resolved));
  await store.transaction((tx) => tx.orders.delete({ orderNo: order.orderNo }));
  t.like(counted(await shop.match(bill)), { found: 1, listed: 1 });
  t.deepEqual(await exceptions(store), [`order_unknown_here ${GONE} T-lost open`]);
});

onBoth('a line that stands in the bill of the day before, too, is listed once', async (t, store) => {
  const shop = account(store);
  const late = { orderNo: GONE, channelTradeNo: 'T-lost', at: beijing('23:59') };
  await shop.match(await shop.bill([late]));
  const next = await shop.bill([{ ...late, at: beijing('00:01', 1) }], 1);
  t.like(await shop.match(next), { found: 0, notOurs: 1 });
  t.is(await store.read((tx) => tx.billDifferences.count({})), 1);
});

onBoth('an order that retention may have removed is told apart, once its time is over', async (t, store) => {
  const shop = account(store);
  const old = { orderNo: 'P20250101030000ABCDEFGHJK', channelTradeNo: 'T-old' };
  const bill = await shop.bill([old, LOST_LINES[0]]);
  t.like(await shop.match(bill), { found: 2, notOurs: 0 }, 'nothing was ever removed');
  await noteRemoved(store, 'orders', beijing('12:00', -365));
  t.like(await shop.match(bill), { found: 1, notOurs: 1 });
  await noteRemoved(store, 'orders', beijing('12:00', 1));
  t.like(await shop.match(bill), { found: 1, notOurs: 1 }, 'of five weeks everything is told, whatever is removed');
});

onBoth('an account that is quiet has no such differences, and has them again when it is not', async (t, store) => {
  const shop = account(store);
  const fine = await shop.order();
  const bill = await shop.bill([paidLine(fine, { amount: 999n }), ...LOST_LINES]);
  await shop.match(bill);
  const of = { payWay: bill.payWay, account: bill.account, mode: bill.mode };
  const quiet = { ...of, since: beijing('09:00', 3), by: 'alice', reason: 'A second installation' };
  const elsewhere = await shop.bill([LOST_LINES[0]], 1);
  await store.transaction((tx) => tx.bills.update({ billNo: elsewhere.billNo }, { account: 'another' }));
  await shop.match({ ...elsewhere, account: 'another' });
  t.is(await store.transaction((tx) => quieten(tx, quiet)), 5);
  t.deepEqual(await shop.differences(), ['amount_differs 1 open', `order_unknown_here NaN listed`]);
  const rows = await store.read((tx) => tx.exceptions.list({ state: 'resolved' }));
  t.is(rows.length, 4, 'one of them is listed for another account, too');
  for (const row of rows) t.like(row, { resolution: 'quiet', resolvedBy: 'alice', reason: 'A second installation' });
  t.like(counted(await shop.match(bill)), { found: 1, listed: 0, notOurs: 4 });
  await store.transaction((tx) => tx.quietAccounts.delete(of));
  t.like(counted(await shop.match(bill)), { found: 6, listed: 4, notOurs: 0 });
  t.is(await store.read((tx) => tx.exceptions.count({ state: 'open' })), 5);
});

onBoth('a line that could not be read is listed at once, is in no sum, and is not missed', async (t, store) => {
  const shop = account(store);
  const [paid, other, back] = [await shop.order(), await shop.order(), await shop.order()];
  const refund = await shop.refund(back);
  const unreadable = {
    kind: 'unreadable',
    event: '7:12 订单金额 cannot be read',
    currency: 'XXX',
    amount: 0n,
    fee: 0n,
  } as const;
  const lines = [
    paidLine(paid, unreadable),
    paidLine(other),
    paidLine(back),
    refundLine(refund, unreadable),
    unreadable,
  ];
  const bill = await shop.bill(lines);
  const matched = await shop.match(bill);
  t.like(matched, { found: 3, lines: 5, notOurs: 0, listed: { line_unreadable: 3 } });
  t.deepEqual(
    matched.sums.map(({ currency, payments, paid: sum, refunds }) => [currency, payments, sum, refunds]),
    [['CNY', 2, '2000', 0]],
  );
  const rows = await store.read((tx) => tx.billDifferences.list({}, { orderBy: { key: 'asc' } }));
  t.deepEqual(
    rows.map(({ kind, orderNo, refundNo, key, state }) => [kind, orderNo, refundNo, key, state].join(' ')),
    [
      `line_unreadable   ${bill.billNo} 5 listed`,
      `line_unreadable ${back.orderNo} ${refund.refundNo} ${refund.refundNo} listed`,
      `line_unreadable ${paid.orderNo}  T1 listed`,
    ],
  );
  t.deepEqual(rows[2]?.theirs, { line: 1, reason: '7:12 订单金额 cannot be read' });
  t.is((await exceptions(store)).length, 3);
  t.deepEqual((await shop.match(bill)).listed, {}, 'the same again changes nothing');
  const corrected = await shop.bill([paidLine(paid), paidLine(other), paidLine(back), refundLine(refund)]);
  t.is((await shop.match({ ...corrected, reading: 2 })).relieved.length, 3);
  t.deepEqual(
    new Set((await store.read((tx) => tx.billDifferences.list({}))).map(({ state }) => state)),
    new Set(['healed']),
  );
});

onBoth('fees are kept beside orders and refunds, once, and what the lines come to per project', async (t, store) => {
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

onBoth(
  'a fee is that of what the channel charges on: the amount less the merchant’s own discount',
  async (t, store) => {
    const shop = account(store);
    const rate = { share: '0.006', fixed: 0n, fixedCurrency: null };
    const bill = await shop.bill([
      paidLine(await shop.order(), { discount: 500n, fee: 3n }),
      paidLine(await shop.order(), { discount: 500n, fee: 6n }),
      // Shares leave afterwards: the channel charges on all that the merchant received.
      paidLine(await shop.order(), { share: 500n, fee: 6n }),
      paidLine(await shop.order(), { share: 500n, fee: 3n }),
    ]);
    t.is((await shop.match(bill, { rate })).found, 2);
    t.deepEqual(await shop.differences(), ['fee_differs 2 open', 'fee_differs 4 open']);
  },
);

onBoth('a refund that the bill says is under way is ours, or a question; it stands in no sum', async (t, store) => {
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
      [wrong.refundNo, -2n],
    ].toSorted(),
    'a fee comes back with a refund that was made',
  );
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
});

onBoth(
  'refunds are found by any of their numbers, and by the payment where the bill has no order',
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

onBoth('a second payment that is listed or on its way back is no difference', async (t, store) => {
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

/** A line about money that a dispute of an order took (negative) or gave back. */
function disputeLine(
  { orderNo, channelTradeNo }: OrderRow,
  amount: bigint,
  channelRefundNo: string,
): Partial<BillLine> {
  const event = amount < 0n ? 'T1201 S' : 'T1202 S';
  return { kind: 'dispute', event, orderNo, channelTradeNo, channelRefundNo, amount, fee: 0n };
}

/** The numbers of the transactions of disputes that our books do not explain, with the day of their bill. */
async function unexplained(store: Store): Promise<string[]> {
  const rows = await store.read((tx) => tx.billDifferences.list({ kind: 'dispute_unknown_to_us' }));
  return rows
    .filter(({ state }) => state === 'open')
    .map(({ key, day }) => `${day} ${key}`)
    .toSorted();
}

const LOST = { state: 'lost', closedAt: beijing('13:00') } as const;
const NEXT_DAY = beijing('12:00', 1).toISOString().slice(0, 10);

onBoth('money of a dispute that nobody knows here is a difference, with both sides', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  const bill = await shop.bill([
    paidLine(order),
    disputeLine(order, -1000n, 'D1'),
    { ...disputeLine(order, -1000n, 'D2'), orderNo: 'another-system', channelTradeNo: 'T-other' },
  ]);
  const matched = await shop.match(bill);
  t.is(matched.found, 1);
  t.is(matched.lines, 3);
  t.is(matched.sums.find(({ project }) => project === 'default')?.disputed, '1000');
  const [row] = await store.read((tx) => tx.billDifferences.list({}));
  t.like(row, { kind: 'dispute_unknown_to_us', orderNo: order.orderNo, refundNo: null, key: 'D1', ours: null });
  t.like(row?.theirs, { amount: '-1000', currency: 'CNY', channelNo: 'D1', line: 2 });
  await shop.dispute(order, LOST);
  const healed = await shop.match(bill, { only: order.orderNo });
  t.is(healed.found, 0);
  t.deepEqual(await shop.differences(), ['dispute_unknown_to_us 1 healed']);
});

onBoth('a dispute that is known explains what was held, taken and given back, on whatever day', async (t, store) => {
  const shop = account(store);
  const open = await shop.order();
  const lost = await shop.order();
  const won = await shop.order();
  const parts = await shop.order();
  const dollars = await shop.order();
  const told = await shop.order();
  const bare = await shop.order();
  await shop.dispute(open, {});
  await shop.dispute(lost, { ...LOST, amountLost: 1000n, refundNo: (await shop.refund(lost, taken())).refundNo });
  await shop.dispute(won, { state: 'won' });
  await shop.dispute(parts, {});
  await shop.dispute(dollars, { ...LOST, amount: 900n, currency: 'USD' });
  await shop.refund(told, { origin: 'channel', channelRefundNo: 'D6', amount: 1000n });
  await shop.refund(bare, taken());
  const orders = [open, lost, won, parts, dollars, told, bare].map((one) => paidLine(one));
  const first = await shop.bill([
    ...orders,
    disputeLine(open, -1000n, 'D1'),
    disputeLine(lost, -1000n, 'D2'),
    disputeLine(won, -1000n, 'D3'),
    disputeLine(parts, -600n, 'D4'),
    disputeLine(dollars, -1000n, 'D5'),
    disputeLine(told, -1000n, 'D6'),
    disputeLine(bare, -1000n, 'D7'),
  ]);
  const next = await shop.bill(
    [
      disputeLine(lost, 1000n, 'D2-released'),
      disputeLine(lost, -1000n, 'D2-taken'),
      disputeLine(won, 1000n, 'D3-back'),
      disputeLine(parts, -400n, 'D4-rest'),
    ],
    1,
  );
  for (const bill of [first, next, first]) await shop.match(bill);
  t.deepEqual(await shop.differences(), []);
});

onBoth('what a dispute held and released leaves nothing to ask about, also a day later', async (t, store) => {
  const shop = account(store);
  const [same, later] = [await shop.order(), await shop.order()];
  const first = await shop.bill([
    paidLine(same),
    paidLine(later),
    disputeLine(same, -1000n, 'H1'),
    disputeLine(same, 1000n, 'H1-released'),
    disputeLine(later, -1000n, 'H2'),
  ]);
  await shop.match(first);
  t.deepEqual(await unexplained(store), [`${first.day} H2`]);
  await store.transaction((tx) => tx.billDifferences.update({ key: 'H2' }, { state: 'listed', nextCheckAt: null }));
  const next = await shop.bill([disputeLine(later, 1000n, 'H2-released')], 1);
  const { relieved } = await shop.match(next);
  t.deepEqual(relieved, [{ orderNo: later.orderNo, kind: 'dispute_unknown_to_us', key: 'H2' }]);
  t.deepEqual(await shop.differences(), ['dispute_unknown_to_us 2 healed']);
});

onBoth('of two disputes of an order the one that is not known is the difference', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  await shop.dispute(order, { ...LOST, amount: 400n });
  const first = await shop.bill([paidLine(order), disputeLine(order, -600n, 'D-unknown')]);
  await shop.match(first);
  t.deepEqual(await unexplained(store), [`${first.day} D-unknown`]);
  await shop.match(await shop.bill([disputeLine(order, -400n, 'D-known')], 1));
  await shop.match(first);
  t.deepEqual(await unexplained(store), [`${first.day} D-unknown`]);
});

onBoth('money that comes back although the dispute is lost here, or unknown, is a difference', async (t, store) => {
  const shop = account(store);
  const [lost, stranger, late] = [await shop.order(), await shop.order(), await shop.order()];
  for (const order of [lost, late])
    await shop.dispute(order, { ...LOST, amountLost: 1000n, refundNo: (await shop.refund(order, taken())).refundNo });
  await shop.match(
    await shop.bill([
      ...[lost, stranger, late].map((one) => paidLine(one)),
      disputeLine(lost, -1000n, 'D1'),
      disputeLine(late, -1000n, 'D3'),
    ]),
  );
  const next = await shop.bill(
    [
      disputeLine(lost, 1000n, 'D1-back'),
      disputeLine(stranger, 300n, 'D2-back'),
      // What is released before midnight may be taken after it.
      { ...disputeLine(late, 1000n, 'D3-released'), at: beijing('23:59', 1) },
    ],
    1,
  );
  await shop.match(next);
  t.deepEqual(await unexplained(store), [`${NEXT_DAY} D1-back`, `${NEXT_DAY} D2-back`]);
  await shop.match(await shop.bill([{ ...disputeLine(late, -1000n, 'D3-taken'), at: beijing('00:01', 2) }], 2));
  await shop.match(next);
  t.deepEqual(await unexplained(store), [`${NEXT_DAY} D1-back`, `${NEXT_DAY} D2-back`]);
  // The channel says that it was won after all.
  await store.transaction(async (tx) => {
    await tx.disputes.update({ orderNo: lost.orderNo }, { state: 'won', amountLost: 0n });
    await tx.refunds.update({ orderNo: lost.orderNo }, { state: 'abnormal' });
  });
  await shop.match(next);
  t.deepEqual(await unexplained(store), [`${NEXT_DAY} D2-back`]);
});

onBoth('a transaction of a dispute that stands there twice took its money once', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  await shop.dispute(order, LOST);
  const line = disputeLine(order, -1000n, 'D1');
  const first = await shop.bill([paidLine(order), line, line, { ...line, event: 'T1106 S', channelRefundNo: 'D1' }]);
  await shop.match(first);
  const kinds = async () => (await shop.differences()).map((text) => text.split(' ')[0]);
  t.deepEqual(await kinds(), ['dispute_unknown_to_us', 'line_twice'], 'another event is another movement');
  await shop.match(await shop.bill([paidLine(order), line, line]));
  t.deepEqual(await shop.differences(), ['dispute_unknown_to_us 1 healed', 'line_twice 1 open']);
});

onBoth('a refund of which the channel told, and that its bill has for a dispute, is not missing', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  await shop.refund(order, { origin: 'channel', channelRefundNo: 'REVERSAL', amount: 1000n });
  await shop.match(await shop.bill([paidLine(order), disputeLine(order, -1000n, 'REVERSAL')]));
  t.deepEqual(await shop.differences(), []);
});

/** The refund by which an order counts what a dispute took. */
function taken() {
  return { origin: 'dispute', amount: 1000n } as const;
}
