import test from 'ava';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { compareAgain, quieten } from '../../server/db/queries/bill-strangers.ts';
import { resolveExceptions } from '../../server/payments/follow-ups.ts';
import type { BillLine } from '../../server/payments/channel.ts';
import type { Store } from '../../server/db/store.ts';
import { account, beijing, paidLine } from '../support/bill-rows.ts';
import { billPorts, jsonDesk } from '../support/bill-desk.ts';
import { postgresDatabase } from '../support/database.ts';

const GONE = 'P20261120030000ABCDEFGHJK';
const LOST = { state: 'lost', closedAt: beijing('13:00') } as const;

function disputeLine(
  { orderNo, channelTradeNo }: OrderRow,
  amount: bigint,
  channelRefundNo: string,
  at = beijing('12:00'),
): Partial<BillLine> {
  const event = amount < 0n ? 'T1201 S' : 'T1202 S';
  return { kind: 'dispute', event, orderNo, channelTradeNo, channelRefundNo, amount, fee: 0n, at };
}

const portsOf = (store: Store) =>
  billPorts(
    store,
    jsonDesk(() => ({ kind: 'gone', code: 'x' })),
    { reports: store } as never,
  );

test('a chargeback is found although an earlier dispute of the order was won', async (t) => {
  const { store } = await postgresDatabase(t);
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

test('a dispute that was lost in part explains what was lost, and not another loss', async (t) => {
  const { store } = await postgresDatabase(t);
  const shop = account(store, 'paypal');
  const order = await shop.order();
  const { refundNo } = await shop.refund(order, { origin: 'dispute', amount: 400n });
  await shop.dispute(order, { ...LOST, amount: 1000n, amountLost: 400n, refundNo });
  await shop.match(await shop.bill([paidLine(order), disputeLine(order, -400n, 'D1')]));
  t.deepEqual(await shop.differences(), []);
  await shop.match(await shop.bill([disputeLine(order, -600n, 'D2', beijing('12:00', 1))], 1));
  t.deepEqual(await shop.differences(), ['dispute_unknown_to_us 1 open']);
});

test('a line about a dispute alone is compared again when its account is quiet no more', async (t) => {
  const { store } = await postgresDatabase(t);
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

test('a line that the channel moves to the next day keeps its exception', async (t) => {
  const { store } = await postgresDatabase(t);
  const shop = account(store);
  const lost = { orderNo: GONE, channelTradeNo: 'T-lost', at: beijing('23:50') } as const;
  const fine = paidLine(await shop.order());
  await shop.match(await shop.bill([fine, lost]));
  const next = await shop.bill([{ ...lost, at: beijing('00:40', 1) }], 1);
  await shop.match(next);
  const corrected = await shop.bill([fine]);
  const { relieved } = await shop.match({ ...corrected, reading: 2 });
  const ports = portsOf(store);
  // As runMatch does.
  await store.transaction(async (tx) => {
    for (const { orderNo, kind, key: dedupe } of relieved)
      await resolveExceptions(ports, tx, { where: { orderNo, kind, dedupe }, resolution: 'agrees', by: 'service' });
  });
  await shop.match(next);
  const listed = await store.read((tx) => tx.billDifferences.list({ state: 'listed' }));
  t.is(listed.length, 1);
  t.is(await store.read((tx) => tx.exceptions.count({ state: 'open' })), 1);
});

test('a row that cannot be read lists no order of another project in this one', async (t) => {
  const { store } = await postgresDatabase(t);
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

test('two projects have one account: what nobody knows is shown to no administrator of one of them', async (t) => {
  const { store } = await postgresDatabase(t);
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
});
