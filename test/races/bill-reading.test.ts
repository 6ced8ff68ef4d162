import test, { type ExecutionContext } from 'ava';
import type { Store } from '../../server/db/store.ts';
import { billRepairs } from '../../server/payments/bills/store.ts';
import { newBill } from '../../server/payments/bills/payees.ts';
import { workBill } from '../../server/payments/bills/work.ts';
import { TransportFailed, type BillAnswer } from '../../server/payments/channel.ts';
import { billPorts, inPieces, jsonDesk } from './bill-desk.ts';
import { account, beijing, DAY, paidLine, payee } from '../support/bill-rows.ts';
import { postgresDatabase } from '../support/database.ts';

const PERSON = { owner: 'any', actor: 'admin:test' } as const;
const OF = { project: 'default', payWay: 'wechat', day: DAY } as const;

/** A due bill, and the responses of its channel. */
async function bills(t: ExecutionContext) {
  const { store } = await postgresDatabase(t);
  let answer: () => BillAnswer = () => ({ kind: 'not_ready', code: 'STATEMENT_CREATING' });
  const desk = jsonDesk(() => answer());
  const ports = billPorts(store, desk);
  const whose = { payWay: 'wechat', account: '1900000001', mode: 'live', project: 'default', day: DAY } as const;
  const row = newBill(whose, ports.now(), ports.now());
  await store.transaction(async (tx) => {
    await tx.payees.insert(payee(whose));
    await tx.bills.insert(row);
  });
  const { billNo } = row;
  const read = async () => (await store.read((tx) => tx.bills.find({ billNo })))!;
  return {
    store,
    ports,
    desk,
    billNo,
    read,
    answers: (next: () => BillAnswer) => void (answer = next),
    gives: (lines: readonly object[]) =>
      void (answer = () => ({ kind: 'bill', bytes: inPieces(JSON.stringify(lines)) })),
    work: () => workBill(ports)(billNo),
    lines: () => store.read((tx) => tx.billLines.list({ billNo }, { orderBy: { line: 'asc' } })),
  };
}

async function countLines(store: Store): Promise<number> {
  return store.read((tx) => tx.billLines.count({}));
}

test('a bill is fetched, read and compared, and requested again a day later', async (t) => {
  const { store, gives, work, read, lines } = await bills(t);
  const order = await account(store).order();
  gives([paidLine(order), { orderNo: 'else', channelTradeNo: 'X' }]);
  await work();
  const bill = await read();
  t.like(bill, { state: 'done', reading: 1, lines: 2, notOurs: 1, source: 'channel', fault: null, leasedUntil: null });
  t.is(bill.nextCheckAt?.toISOString(), '2026-11-27T02:30:00.000Z', 'the second day is over already');
  t.deepEqual(bill.totals, [
    { currency: 'CNY', payments: 2, paid: '1000', refunds: 0, refunded: '0', fees: '6', net: null },
  ]);
  t.is((await lines())[0]?.raw, '`a,`"b"\\,`NULL,`{}');
  t.is(await store.read((tx) => tx.billDifferences.count({})), 0);
});

test('a bill of a channel that can hold payments is requested daily for up to five weeks while one is held', async (t) => {
  const { store, ports, billNo, gives, answers, read } = await bills(t);
  const calendar = { utcOffsetMinutes: 480, readyAfterMinutes: 630, backDays: 90 };
  const channels = { ...ports.channels, kindOf: () => ({ bills: { ...calendar, heldDays: 35 } }) } as never;
  const workAt = async (now: string, of: typeof ports = { ...ports, channels }) => {
    await workBill({ ...of, now: () => new Date(now) })(billNo);
    return (await read()).nextCheckAt?.toISOString() ?? null;
  };
  const held = { state: 'pending', paid: 0n, paidAt: null, channelTradeNo: null, captureState: 'pending' } as const;
  const [at, expiresAt] = [beijing('23:30'), beijing('23:55')];
  const order = await account(store).order({ ...held, createdAt: at, expiresAt });
  gives([{ orderNo: 'else' }]);
  t.is(await workAt('2026-11-22T04:00:00Z'), '2026-11-23T02:30:00.000Z', 'when the bill of the newest day is');
  t.is(await workAt('2026-11-29T04:00:00Z'), '2026-11-30T02:30:00.000Z');
  t.is(await workAt('2026-11-29T04:00:00Z', ports), null, 'a bill without held payments is complete');
  answers(() => ({ kind: 'unknown', cause: 'timeout' }));
  t.is(await workAt('2026-11-30T04:00:00Z'), '2026-12-01T02:30:00.000Z', 'silence does not complete it');
  t.like(await read(), { state: 'done', lines: 1, fault: 'timeout' });
  gives([{ orderNo: 'else' }]);
  t.is(await workAt('2026-12-24T04:00:00Z'), '2026-12-25T02:30:00.000Z');
  t.is(await workAt('2026-12-25T04:00:00Z'), null, 'a bill held for longer is read on request only');
  await store.transaction((tx) => tx.orders.update({ orderNo: order.orderNo }, { captureState: null }));
  t.is(await workAt('2026-11-30T04:00:00Z'), null);
  // Paid by now, and missing from the bill.
  const paid = { state: 'paid', paid: 1000n, channelTradeNo: 'T1', paidAt: beijing('12:00') } as const;
  await store.transaction((tx) => tx.orders.update({ orderNo: order.orderNo }, paid));
  t.is(await workAt('2026-12-01T04:00:00Z'), '2026-12-02T02:30:00.000Z');
  gives([paidLine({ ...order, ...paid })]);
  t.is(await workAt('2026-12-02T04:00:00Z'), null);
  // The neighbouring days have nothing to wait for.
  const others = { createdAt: beijing('22:00', -1), expiresAt: beijing('22:05', -1) };
  await account(store).order({ ...held, ...others, orderNo: 'P20261119000000000000000009' });
  t.is(await workAt('2026-12-03T04:00:00Z'), null);
});

test('a bill that is not available is requested every hour for a week', async (t) => {
  const { ports, billNo, work, read, store } = await bills(t);
  await work();
  t.like(await read(), { state: 'waiting', fault: 'STATEMENT_CREATING', checks: 1 });
  t.is((await read()).nextCheckAt?.toISOString(), '2026-11-22T05:00:00.000Z');
  await workBill({ ...ports, now: () => new Date('2026-11-28T02:00:00Z') })(billNo);
  t.like(await read(), { state: 'missing', nextCheckAt: null });
  t.is(await countLines(store), 0);
});

test('a refused file reports the line, none of it counts, and the previous lines keep counting', async (t) => {
  const { store, gives, work, read, lines } = await bills(t);
  gives([{ orderNo: 'a' }, { fault: 'wrong_cell' }]);
  await work();
  t.like(await read(), { state: 'refused', reading: 0, fault: 'wrong_cell', faultLine: 2, faultColumn: 7 });
  t.is(await countLines(store), 0, 'nor is it stored');
  gives([{ orderNo: 'b' }]);
  await work();
  t.like(await read(), { state: 'done', lines: 1, fault: null, faultLine: null });
  gives([{ orderNo: 'c' }, { fault: 'wrong_cell' }]);
  await work();
  t.like(await read(), { state: 'refused', lines: 1, notOurs: 1, fault: 'wrong_cell' });
  t.is(await countLines(store), 1);
  gives([{ orderNo: 'b' }]);
  await work();
  t.deepEqual(
    (await lines()).map(({ orderNo }) => orderNo),
    ['b'],
  );
  t.is(await countLines(store), 1);
});

/** A store that loses the response to the commit that makes a reading count. */
function losingTheCommit(store: Store, billNo: string): Store {
  return {
    ...store,
    async transaction(work) {
      const before = await store.read((tx) => tx.bills.find({ billNo }));
      const result = await store.transaction(work);
      const after = await store.read((tx) => tx.bills.find({ billNo }));
      if (after?.reading !== before?.reading) throw new Error('The connection broke at COMMIT.');
      return result;
    },
  };
}

for (const source of ['fetched', 'imported'] as const)
  test(`a bill that is ${source} keeps the counted lines although the response to their commit was lost`, async (t) => {
    const { store, ports, gives, billNo, work, read, lines } = await bills(t);
    const losing = { ...ports, store: losingTheCommit(store, billNo) };
    const given = [{ orderNo: 'a' }, { orderNo: 'b' }];
    gives(given);
    const lost =
      source === 'fetched'
        ? workBill(losing)(billNo)
        : billRepairs(losing).importBill(PERSON, OF, inPieces(JSON.stringify(given)));
    await t.throwsAsync(lost, { message: /COMMIT/ });
    t.like(await read(), { state: 'matching', lines: 2 });
    t.is((await lines()).length, 2);
    await work();
    t.like(await read(), { state: 'done', lines: 2 });
  });

test('the same file keeps its lines, and a changed file replaces them at once', async (t) => {
  const { store, gives, work, read, lines } = await bills(t);
  gives([{ orderNo: 'a' }]);
  await work();
  const first = await read();
  await work();
  t.like(await read(), { reading: first.reading, sha256: first.sha256, readAt: first.readAt, state: 'done' });
  gives([{ orderNo: 'a' }, { orderNo: 'b' }]);
  await work();
  t.is((await lines()).length, 2);
  t.is(await countLines(store), 2);
});

test('the later of two concurrent readings counts completely', async (t) => {
  const { store, ports, billNo, read } = await bills(t);
  const inside = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const slow = jsonDesk(() => ({ kind: 'bill', bytes: waiting() }));
  async function* waiting() {
    inside.resolve();
    await second.promise;
    yield* inPieces(JSON.stringify([{ orderNo: 'old' }]));
  }
  const quick = jsonDesk(() => ({ kind: 'bill', bytes: inPieces(JSON.stringify([{ orderNo: 'new' }])) }));
  const first = workBill(billPorts(store, slow))(billNo);
  await inside.promise;
  await workBill({ ...ports, ...billPorts(store, quick) })(billNo);
  second.resolve();
  await first;
  t.like(await read(), { state: 'done', reading: 2, lines: 1 });
  t.deepEqual(
    (await store.read((tx) => tx.billLines.list({}))).map(({ orderNo }) => orderNo),
    ['new'],
  );
});

test('a download that breaks off is retried', async (t) => {
  const { answers, work, read } = await bills(t);
  async function* broken() {
    yield Buffer.from('[');
    throw new TransportFailed('network', 'The connection ended.');
  }
  answers(() => ({ kind: 'bill', bytes: broken() }));
  await work();
  t.like(await read(), { state: 'waiting', fault: 'network', reading: 0 });
});

test('a day without transactions is a bill without lines', async (t) => {
  const { answers, work, read, store } = await bills(t);
  await account(store).order();
  answers(() => ({ kind: 'empty', code: 'NO_STATEMENT_EXIST' }));
  await work();
  t.like(await read(), { state: 'done', reading: 1, lines: 0 });
  const [difference] = await store.read((tx) => tx.billDifferences.list({}));
  t.is(difference?.kind, 'paid_missing_at_channel');
});

for (const [title, word] of [
  ['an answer without transactions', () => ({ kind: 'empty', code: 'NO_STATEMENT_EXIST' })],
  ['a file without lines', () => ({ kind: 'bill', bytes: inPieces('[]') })],
] as const satisfies [string, () => BillAnswer][])
  test(`${title} does not replace earlier lines`, async (t) => {
    const { answers, gives, work, read, store, lines } = await bills(t);
    const order = await account(store).order();
    const given = [paidLine(order), { orderNo: 'else', channelTradeNo: 'X' }];
    gives(given);
    await work();
    const { reading, sums, nextCheckAt } = await read();
    answers(word);
    await work();
    t.like(await read(), { state: 'done', reading, lines: 2, sums, fault: 'empty_bill', leasedUntil: null });
    t.deepEqual((await read()).nextCheckAt, nextCheckAt, 'it is requested again like an available bill');
    t.is((await lines()).length, 2);
    t.is(await store.read((tx) => tx.billDifferences.count({})), 0);
    gives(given);
    await work();
    t.like(await read(), { state: 'done', lines: 2, fault: null });
  });

test('an imported file without lines is refused if lines were read', async (t) => {
  const { ports, gives, work, read } = await bills(t);
  gives([{ orderNo: 'a' }]);
  await work();
  const before = await read();
  await t.throwsAsync(billRepairs(ports).importBill(PERSON, OF, inPieces('[]')), {
    code: 'bill_malformed',
    message: /the 1 that the channel gave before/,
  });
  t.like(await read(), { state: 'done', reading: before.reading, lines: 1 });
});

test('a bill that becomes shorter counts, and keeps its earlier number of lines', async (t) => {
  const { gives, work, read } = await bills(t);
  gives([{ orderNo: 'a' }, { orderNo: 'b' }]);
  await work();
  gives([{ orderNo: 'a' }]);
  await work();
  t.like(await read(), { state: 'done', lines: 1, mostLines: 2 });
  gives([{ orderNo: 'a' }, { orderNo: 'b' }, { orderNo: 'c' }]);
  await work();
  t.like(await read(), { state: 'done', lines: 3, mostLines: 3 });
});

test('a bill requested during its day is fetched again once the channel makes it', async (t) => {
  const { ports, gives, billNo, read } = await bills(t);
  gives([{ orderNo: 'a' }]);
  await workBill({ ...ports, now: () => new Date(`${DAY}T12:00:00Z`) })(billNo);
  t.is((await read()).nextCheckAt?.toISOString(), '2026-11-21T02:30:00.000Z');
});

test('lines that vanished are no differences: the bill is read again', async (t) => {
  const { store, ports, gives, work, read, billNo } = await bills(t);
  const order = await account(store).order();
  gives([paidLine(order)]);
  const robbed = billPorts(
    store,
    jsonDesk(() => ({ kind: 'bill', bytes: inPieces(JSON.stringify([paidLine(order)])) })),
    {
      openPatient: async () => {
        await store.transaction((tx) => tx.billLines.delete({ billNo }));
        return ports.openPatient();
      },
    },
  );
  await workBill(robbed)(billNo);
  t.like(await read(), { state: 'waiting', sha256: null });
  t.is(await store.read((tx) => tx.billDifferences.count({})), 0);
  await work();
  t.like(await read(), { state: 'done', lines: 1 });
});

test('an imported file becomes a bill, and an invalid file stores nothing', async (t) => {
  const { store, ports, billNo, work, read } = await bills(t);
  const { importBill, rerunBill } = billRepairs(ports);
  const made = await importBill(PERSON, OF, inPieces('[{"orderNo":"a"}]'));
  t.like(made, { billNo, state: 'matching', source: 'import', lines: 1, leasedUntil: null });
  await work();
  t.is((await read()).state, 'done');
  const error = await t.throwsAsync(importBill(PERSON, { ...OF, day: '2026-11-19' }, inPieces('[{"fault":"x"}]')));
  t.like(error, { code: 'bill_malformed', message: 'The amount is no number (line 1, column 7).', status: 422 });
  t.is(await store.read((tx) => tx.bills.count({})), 1, 'there is no bill of that other day');
  t.is(await countLines(store), 1);
  await t.throwsAsync(importBill(PERSON, OF, inPieces('[{"orderNo":"b"},{"fault":"x"}]')), { message: /line 2/ });
  t.like(await read(), { state: 'done', lines: 1 });
  t.is((await rerunBill(PERSON, billNo)).state, 'matching');
  for (const day of ['2026-11-31', '2026-12-24', '1999-01-01'])
    await t.throwsAsync(importBill(PERSON, { ...OF, day }, inPieces('[]')), { message: /day/ });
});

test("unreadable rows are counted beside the lines, and the comparison with the bill's sums is stored", async (t) => {
  const { gives, work, read, ports, desk } = await bills(t);
  const asked: boolean[] = [];
  const given: typeof desk.read = async function* (file, day, { isLenient = false } = {}) {
    asked.push(isLenient);
    for await (const part of desk.read(file, day))
      yield part.kind === 'lines' ? part : { kind: 'totals', totals: [], shortfall: 'The bill says 2, its lines 1.' };
  };
  const lenient = billPorts(ports.store, { ...desk, read: given });
  gives([{ orderNo: 'a' }, { kind: 'unreadable', event: '3:4 x', currency: 'XXX', amount: '0', fee: '0' }]);
  await workBill(lenient)((await read()).billNo);
  t.like(await read(), {
    state: 'done',
    lines: 2,
    unreadable: 1,
    shortfall: 'The bill says 2, its lines 1.',
    totals: [],
  });
  const file = JSON.stringify([{ orderNo: 'a' }, { orderNo: 'b' }]);
  await billRepairs(lenient).importBill(PERSON, OF, inPieces(file));
  await work();
  t.like(await read(), { state: 'done', lines: 2, unreadable: 0 });
  t.deepEqual(asked, [true, false], 'an imported file is read strictly');
});
