import type { OrderRow } from '../../server/db/entities/orders.ts';
import type { Store } from '../../server/db/store.ts';
import type { BillLine } from '../../server/payments/channel.ts';
import { account, beijing, paidLine } from '../support/bill-rows.ts';
import { scenesOnBoth } from './on-both.ts';

const onBoth = scenesOnBoth('disputes in bills');

/** A line about money that a dispute of an order took (negative) or returned. */
function disputeLine(
  { orderNo, channelTradeNo }: OrderRow,
  amount: bigint,
  channelRefundNo: string,
  at?: Date,
): Partial<BillLine> {
  const event = amount < 0n ? 'T1201 S' : 'T1202 S';
  return { kind: 'dispute', event, orderNo, channelTradeNo, channelRefundNo, amount, fee: 0n, ...(at && { at }) };
}

/** The transaction numbers of disputes that the ledger does not explain, with the day of their bill. */
async function unexplained(store: Store): Promise<string[]> {
  const rows = await store.read((tx) => tx.billDifferences.list({ kind: 'dispute_unknown_to_us' }));
  return rows
    .filter(({ state }) => state === 'open')
    .map(({ key, day }) => `${day} ${key}`)
    .toSorted();
}

const LOST = { state: 'lost', closedAt: beijing('13:00') } as const;
const NEXT_DAY = beijing('12:00', 1).toISOString().slice(0, 10);

onBoth('money of a dispute that is not stored here is a difference with both sides', async (t, store) => {
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

onBoth('a stored dispute explains the amounts held, taken and returned, on any day', async (t, store) => {
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

onBoth('an amount that a dispute held and released causes no difference, also a day later', async (t, store) => {
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

onBoth('the dispute that is not stored is the difference if an order has two', async (t, store) => {
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

onBoth('money that returns although the dispute is lost or unknown here is a difference', async (t, store) => {
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
      // A release before midnight can be followed by a debit after it.
      { ...disputeLine(late, 1000n, 'D3-released'), at: beijing('23:59', 1) },
    ],
    1,
  );
  await shop.match(next);
  t.deepEqual(await unexplained(store), [`${NEXT_DAY} D1-back`, `${NEXT_DAY} D2-back`]);
  await shop.match(await shop.bill([{ ...disputeLine(late, -1000n, 'D3-taken'), at: beijing('00:01', 2) }], 2));
  await shop.match(next);
  t.deepEqual(await unexplained(store), [`${NEXT_DAY} D1-back`, `${NEXT_DAY} D2-back`]);
  // The channel reports that the dispute was won after all.
  await store.transaction(async (tx) => {
    await tx.disputes.update({ orderNo: lost.orderNo }, { state: 'won', amountLost: 0n });
    await tx.refunds.update({ orderNo: lost.orderNo }, { state: 'abnormal' });
  });
  await shop.match(next);
  t.deepEqual(await unexplained(store), [`${NEXT_DAY} D2-back`]);
});

onBoth('money that a dispute takes before midnight may return after it: the next bill is awaited', async (t, store) => {
  const shop = account(store);
  const [held, taken] = [await shop.order(), await shop.order()];
  const take = (order: OrderRow, no: string) => ({ ...disputeLine(order, -1000n, no), at: beijing('23:59') });
  const bill = await shop.bill([paidLine(held), paidLine(taken), take(held, 'D1'), take(taken, 'D2')]);
  await shop.match(bill);
  t.deepEqual(await unexplained(store), []);
  await shop.match(await shop.bill([{ ...disputeLine(held, 1000n, 'D1-released'), at: beijing('00:01', 1) }], 1));
  await shop.match(bill);
  t.deepEqual(await unexplained(store), [`${bill.day} D2`]);
});

onBoth('the awaited bill without a line about the dispute makes the debit a difference', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  const bill = await shop.bill([paidLine(order), { ...disputeLine(order, -1000n, 'D1'), at: beijing('23:45') }]);
  await shop.match(bill);
  t.deepEqual(await unexplained(store), []);
  await shop.match(await shop.bill([{ orderNo: 'another-system' }], 1));
  t.deepEqual(await unexplained(store), [`${bill.day} D1`]);
});

onBoth('a dispute debit becomes a difference if the next bill never arrives', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  const bill = await shop.bill([paidLine(order), { ...disputeLine(order, -1000n, 'D1'), at: beijing('23:59') }]);
  await shop.match(bill);
  t.deepEqual(await unexplained(store), []);
  await shop.match(bill, { now: beijing('12:00', 8) });
  t.deepEqual(await unexplained(store), [`${bill.day} D1`]);
});

onBoth('a dispute transaction that is listed twice counts once', async (t, store) => {
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

onBoth('a refund that the channel reported and the bill lists as a dispute is not missing', async (t, store) => {
  const shop = account(store);
  const order = await shop.order();
  await shop.refund(order, { origin: 'channel', channelRefundNo: 'REVERSAL', amount: 1000n });
  await shop.match(await shop.bill([paidLine(order), disputeLine(order, -1000n, 'REVERSAL')]));
  t.deepEqual(await shop.differences(), []);
});

/** The refund that an order counts for the amount a dispute took. */
function taken() {
  return { origin: 'dispute', amount: 1000n } as const;
}

onBoth('a chargeback is found although an earlier dispute of the order was won', async (t, store) => {
  const shop = account(store, 'paypal');
  const order = await shop.order();
  await shop.dispute(order, { state: 'won', closedAt: beijing('11:00') });
  await shop.match(
    await shop.bill([
      paidLine(order),
      disputeLine(order, -1000n, 'HELD', beijing('09:00')),
      disputeLine(order, 1000n, 'RELEASED', beijing('11:00')),
    ]),
  );
  t.deepEqual(await shop.differences(), []);
  await shop.match(await shop.bill([disputeLine(order, -1000n, 'CHARGEBACK', beijing('12:00', 1))], 1));
  t.deepEqual(await shop.differences(), ['dispute_unknown_to_us 1 open']);
});

onBoth('a dispute that was lost in part explains that loss and no other', async (t, store) => {
  const shop = account(store, 'paypal');
  const order = await shop.order();
  const { refundNo } = await shop.refund(order, { origin: 'dispute', amount: 400n });
  await shop.dispute(order, { ...LOST, amount: 1000n, amountLost: 400n, refundNo });
  await shop.match(await shop.bill([paidLine(order), disputeLine(order, -400n, 'D1')]));
  t.deepEqual(await shop.differences(), []);
  await shop.match(await shop.bill([disputeLine(order, -600n, 'D2', beijing('12:00', 1))], 1));
  t.deepEqual(await shop.differences(), ['dispute_unknown_to_us 1 open']);
});
