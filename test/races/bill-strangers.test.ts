import type { Matched } from '../../server/db/queries/bill-matching.ts';
import { compareAgain, quieten } from '../../server/db/queries/payees.ts';
import { noteRemoved } from '../../server/db/queries/retention.ts';
import type { Store } from '../../server/db/store.ts';
import { endDifference, resolveExceptions } from '../../server/payments/side-effects.ts';
import { billPorts, jsonDesk } from './bill-desk.ts';
import { account, beijing, paidLine, refundLine } from '../support/bill-rows.ts';
import { scenesOnBoth } from './on-both.ts';

const onBoth = scenesOnBoth('lines without an order');

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

/** The bill lines of an order that a restore lost. */
const LOST_LINES = [
  { orderNo: GONE, channelTradeNo: 'T-lost' },
  { kind: 'refund', orderNo: GONE, refundNo: UNKNOWN_BACK, channelTradeNo: 'T-lost', channelRefundNo: '500' },
  { kind: 'refund', orderNo: GONE, refundNo: `R${GONE}L_2`, channelTradeNo: 'T-lost', channelRefundNo: '501' },
  { kind: 'dispute', event: 'T1201 S', orderNo: GONE, channelTradeNo: 'T-lost', amount: -1000n },
  { kind: 'refund', orderNo: null, refundNo: 'R20261120050000ABCDEFGHJK_2', channelTradeNo: 'T-x', amount: 5n },
] as const;

onBoth(
  'an order number of ours that no stored order has is a difference of its own, listed at once, and heals',
  async (t, store) => {
    const shop = account(store);
    const fine = await shop.order();
    const others = [
      { orderNo: 'another-system', channelTradeNo: 'T-other' },
      { orderNo: 'P20261320030000ABCDEFGHJK', channelTradeNo: 'T-no-month' },
      { orderNo: 'P20261120030000ABCDEFGHIL', channelTradeNo: 'T-no-letters' },
      { kind: 'other', event: 'T1107 P', orderNo: GONE, refundNo: UNKNOWN_BACK },
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

    t.like(counted(await shop.match(bill)), { found: 5, listed: 0 }, 'a repeated run changes nothing');
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
      'a difference that an operator resolved stays resolved',
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

onBoth('a difference that recurs after it healed is listed again, and its exception reopens', async (t, store) => {
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

onBoth("a line that is also in the previous day's bill is listed once", async (t, store) => {
  const shop = account(store);
  const late = { orderNo: GONE, channelTradeNo: 'T-lost', at: beijing('23:59') };
  await shop.match(await shop.bill([late]));
  const next = await shop.bill([{ ...late, at: beijing('00:01', 1) }], 1);
  t.like(await shop.match(next), { found: 0, notOurs: 1 });
  t.is(await store.read((tx) => tx.billDifferences.count({})), 1);
});

onBoth(
  'an order that retention may have removed is distinguished once its retention time is over',
  async (t, store) => {
    const shop = account(store);
    const old = { orderNo: 'P20250101030000ABCDEFGHJK', channelTradeNo: 'T-old' };
    const bill = await shop.bill([old, LOST_LINES[0]]);
    t.like(await shop.match(bill), { found: 2, notOurs: 0 }, 'nothing was ever removed');
    await noteRemoved(store, 'orders', beijing('12:00', -365));
    t.like(await shop.match(bill), { found: 1, notOurs: 1 });
    await noteRemoved(store, 'orders', beijing('12:00', 1));
    t.like(
      await shop.match(bill),
      { found: 1, notOurs: 1 },
      'for five weeks every difference is reported regardless of retention',
    );
  },
);

onBoth(
  'a quiet account lists no such differences, and lists them again when it is no longer quiet',
  async (t, store) => {
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
  },
);

onBoth(
  'a line that could not be read is listed at once, is in no sum, and is not reported missing',
  async (t, store) => {
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
    const rows = await store.read((tx) => tx.billDifferences.list({}, { orderBy: { orderNo: 'asc' } }));
    const [bare, paidRow] = rows;
    t.deepEqual(
      rows.map(({ kind, orderNo, refundNo, key, state }) => [kind, orderNo, refundNo, key, state].join(' ')),
      [
        `line_unreadable   ${bare!.key} listed`,
        `line_unreadable ${paid.orderNo}  T1 listed`,
        `line_unreadable ${back.orderNo} ${refund.refundNo} ${refund.refundNo} listed`,
      ],
    );
    t.true(bare!.key.endsWith(` ${bill.billNo}`), 'a row without a number is known by its text');
    t.deepEqual(paidRow?.theirs, { line: 1, reason: '7:12 订单金额 cannot be read' });
    t.is((await exceptions(store)).length, 3);
    t.deepEqual((await shop.match(bill)).listed, {}, 'a repeated run changes nothing');
    const corrected = await shop.bill([paidLine(paid), paidLine(other), paidLine(back), refundLine(refund)]);
    t.is((await shop.match({ ...corrected, reading: 2 })).relieved.length, 3);
    t.deepEqual(
      new Set((await store.read((tx) => tx.billDifferences.list({}))).map(({ state }) => state)),
      new Set(['healed']),
    );
  },
);

onBoth('two unreadable rows of one order are each listed, also if another was resolved before', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  const row = (event: string, raw: string) =>
    ({ kind: 'unreadable', event, orderNo: order.orderNo, currency: 'XXX', amount: 0n, fee: 0n, raw }) as const;
  const bill = await shop.bill([row('3:7 The amount', 'a'), row('4:9 The time', 'b'), paidLine(order)]);
  t.is((await shop.match(bill)).found, 2);
  t.deepEqual(await shop.differences(), ['line_unreadable 1 listed', 'line_unreadable 1 listed']);
  await store.transaction((tx) => tx.billDifferences.update({}, { state: 'ended' }));
  await shop.match({ ...(await shop.bill([paidLine(order), row('4:7 The amount', 'c')])), reading: 2 });
  t.true((await shop.differences()).includes('line_unreadable 1 listed'));
});

onBoth('an unreadable row stays resolved if it moves in the file', async (t, store) => {
  const shop = account(store);
  const unreadable = { kind: 'unreadable', currency: 'XXX', amount: 0n, fee: 0n } as const;
  const at = (line: number) => [
    paidLine(paid, { ...unreadable, event: `${line}:12 订单金额 cannot be read` }),
    { ...unreadable, event: `${line + 1} The row is short`, raw: 'a, b' },
    { ...unreadable, event: `${line + 2} The row is short`, raw: 'a, b' },
  ];
  const paid = await shop.order();
  await shop.match(await shop.bill(at(7)));
  t.deepEqual(
    await shop.differences(),
    Array(3)
      .fill(0)
      .map((_, nth) => (nth === 0 ? 'line_unreadable 1 listed' : 'line_unreadable 0 listed'))
      .toSorted(),
  );
  const ended = { state: 'ended', finishedAt: beijing('09:00', 3) } as const;
  await store.transaction((tx) => tx.billDifferences.update({}, ended));
  const moved = await shop.bill([paidLine(await shop.order()), ...at(8)]);
  t.deepEqual((await shop.match({ ...moved, reading: 2 })).listed, {});
  const rows = await store.read((tx) => tx.billDifferences.list({}));
  t.deepEqual(
    rows.map(({ state }) => state),
    ['ended', 'ended', 'ended'],
  );
  t.deepEqual(rows.map(({ theirs }) => theirs?.line).toSorted(), [2, 3, 4]);
});

onBoth('a line about a dispute alone is compared again when its account is no longer quiet', async (t, store) => {
  const shop = account(store, 'paypal');
  const bill = await shop.bill([
    {
      kind: 'dispute',
      event: 'T1201 S',
      orderNo: GONE,
      channelTradeNo: 'T-lost',
      channelRefundNo: 'D1',
      amount: -1000n,
    },
  ]);
  const of = { payWay: bill.payWay, account: bill.account, mode: bill.mode };
  await store.transaction((tx) => quieten(tx, { ...of, since: beijing('09:00', 3), by: 'alice', reason: 'x' }));
  const { notOurs } = await shop.match(bill);
  await store.transaction((tx) => tx.bills.update({ billNo: bill.billNo }, { state: 'done', notOurs }));
  const again = await store.transaction(async (tx) => {
    await tx.quietAccounts.delete(of);
    return compareAgain(tx, of, beijing('10:00', 3));
  });
  t.deepEqual(again, [bill.billNo]);
});

onBoth('a line that the channel moves to the next day keeps its exception', async (t, store) => {
  const shop = account(store);
  const lost = { orderNo: GONE, channelTradeNo: 'T-lost', at: beijing('23:50') } as const;
  const fine = paidLine(await shop.order());
  await shop.match(await shop.bill([fine, lost]));
  const next = await shop.bill([{ ...lost, at: beijing('00:40', 1) }], 1);
  await shop.match(next);
  const corrected = await shop.bill([fine]);
  const { relieved } = await shop.match({ ...corrected, reading: 2 });
  const ports = billPorts(
    store,
    jsonDesk(() => ({ kind: 'gone', code: 'x' })),
  );
  await store.transaction(async (tx) => {
    for (const { orderNo, kind, key: dedupe } of relieved)
      await resolveExceptions(ports, tx, { where: { orderNo, kind, dedupe }, resolution: 'agrees', by: 'service' });
  });
  await shop.match(next);
  const listed = await store.read((tx) => tx.billDifferences.list({ state: 'listed' }));
  t.is(listed.length, 1);
  t.is(await store.read((tx) => tx.exceptions.count({ state: 'open' })), 1);
});

onBoth('an unreadable row lists no order of another project in this project', async (t, store) => {
  const shop = account(store);
  const theirs = await shop.order({ project: 'secret', account: '1900000002' });
  const bill = await shop.bill([
    paidLine(await shop.order()),
    { ...paidLine(theirs), kind: 'unreadable', event: '7:12 x', currency: 'XXX', amount: 0n, fee: 0n },
  ]);
  await shop.match(bill);
  const rows = await store.read((tx) => tx.exceptions.list({}));
  t.deepEqual(
    rows.filter(({ orderNo, project }) => orderNo === theirs.orderNo && project !== 'secret'),
    [],
  );
});

onBoth(
  'an unknown number of an account shared by two projects is hidden from administrators of one project',
  async (t, store) => {
    const shop = account(store);
    await shop.order();
    await shop.order({ project: 'other' });
    await shop.match(await shop.bill([{ orderNo: GONE, channelTradeNo: 'T-lost' }]));
    const rows = await store.read((tx) => tx.exceptions.list({}));
    // The bill itself is hidden from an administrator of `default` alone (OF_NO_OTHER), its line is not.
    t.deepEqual(
      rows.filter(({ project }) => project === 'default').map(({ receivedMinor }) => receivedMinor),
      [],
    );
  },
);
