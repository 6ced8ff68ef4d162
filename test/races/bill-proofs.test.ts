import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { billFigures } from '../../server/db/queries/bills.ts';
import { billRepairs } from '../../server/payments/bills/store.ts';
import { newBill } from '../../server/payments/bills/payees.ts';
import { settlement } from '../../server/payments/bills/settlement.ts';
import { compareBill, workBill } from '../../server/payments/bills/work.ts';
import type { BillAnswer, BillDesk } from '../../server/payments/channel.ts';
import type { NotificationChannel } from '../../server/payments/ports.ts';
import { billPorts, inPieces, jsonDesk } from './bill-desk.ts';
import { payee } from '../support/bill-rows.ts';
import { orderRow } from '../support/core-rows.ts';
import { postgresDatabase } from '../support/database.ts';

const PID = '2088000000000001';
const DAY = '2026-11-20';
const OTHER = '2088000000000009';
const GONE = 'P20261120030000ABCDEFGHJK';
const requester = { owner: 'any', actor: 'admin:test' } as const;

async function claims(t: ExecutionContext, projects: Readonly<Record<string, BillDesk>>) {
  const { store } = await postgresDatabase(t);
  const from = (desk: BillDesk) => ({
    channel: { bills: desk },
    account: 'app',
    mode: 'live',
    payeeVersions: new Set([1]),
  });
  const ports = billPorts(store, Object.values(projects)[0]!, { reports: store } as never);
  ports.channels.forNotifications = async (project) => [from(projects[project]!)] as unknown as NotificationChannel[];
  const add = async (project: string, day = DAY): Promise<string> => {
    const of = { payWay: 'alipay', account: `app@${project}/1`, mode: 'live', project } as const;
    const row = newBill({ ...of, day }, ports.now(), ports.now());
    await store.transaction(async (tx) => {
      await tx.payees.insertIfNew({ ...payee(of), provenAt: null });
      await tx.bills.insert(row);
    });
    return row.billNo;
  };
  const read = async (billNo: string) => (await store.read((tx) => tx.bills.find({ billNo })))!;
  const bring = async (project: string, billNo: string, lines: readonly object[]) => {
    await billRepairs(ports).importBill(
      requester,
      { project, payWay: 'alipay', day: DAY },
      inPieces(JSON.stringify(lines)),
    );
    await compareBill(ports, billNo);
    await store.transaction((tx) => tx.bills.update({ billNo }, { state: 'waiting' }));
  };
  const exceptions = async () =>
    (await store.read((tx) => tx.exceptions.list({}))).map(({ kind, orderNo, state }) => `${kind} ${orderNo} ${state}`);
  const differences = async () =>
    (await store.read((tx) => tx.billDifferences.list({}))).map(
      ({ billNo, kind, orderNo, state }) => `${billNo} ${kind} ${orderNo} ${state}`,
    );
  return { store, ports, add, read, bring, exceptions, differences, work: (billNo: string) => workBill(ports)(billNo) };
}

function deskOf(lines: readonly object[], of = PID): BillDesk {
  const desk = jsonDesk(() => ({ kind: 'bill', bytes: inPieces(JSON.stringify(lines)) }));
  return { ...desk, payeeIn: async () => of };
}

const LOST = { orderNo: GONE, channelTradeNo: 'T-lost' };

test("a bill that is set aside does not resolve an exception that the payee's own bill still lists", async (t) => {
  const on = await claims(t, { one: deskOf([LOST]), two: deskOf([LOST]) });
  const [ours, theirs] = [await on.add('one'), await on.add('two')];
  await on.bring('two', theirs, [LOST]);
  await on.work(ours);
  t.deepEqual(await on.exceptions(), [`order_unknown_here ${GONE} open`]);
  await on.work(theirs);
  t.like(await on.read(theirs), { fault: 'same_account' });
  t.true((await on.differences()).includes(`${ours} order_unknown_here ${GONE} listed`));
  t.deepEqual(await on.exceptions(), [`order_unknown_here ${GONE} open`], 'the difference is still listed');
});

test('an exception that was resolved by mistake reopens because the bill is compared again', async (t) => {
  const on = await claims(t, { one: deskOf([LOST]), two: deskOf([LOST]) });
  const [ours, theirs] = [await on.add('one'), await on.add('two')];
  await on.bring('two', theirs, [LOST]);
  await on.work(ours);
  await on.work(theirs);
  await billRepairs(on.ports).rerunBill(requester, ours);
  await on.work(ours);
  t.true((await on.differences()).includes(`${ours} order_unknown_here ${GONE} listed`));
  t.deepEqual(await on.exceptions(), [`order_unknown_here ${GONE} open`]);
});

test('a bill that was set aside is not reported as shortened, missing or watched', async (t) => {
  const on = await claims(t, { one: deskOf([LOST]), two: deskOf([LOST, { orderNo: 'b' }]) });
  const [ours, theirs] = [await on.add('one'), await on.add('two')];
  await on.bring('two', theirs, [LOST, { orderNo: 'b' }]);
  await on.work(ours);
  await on.work(theirs);
  t.like(await on.read(theirs), { fault: 'same_account' });
  const { shrunk } = await settlement(on.ports)({ mode: 'live', from: DAY, to: DAY });
  const { newest } = await on.store.read((tx) => billFigures(tx, '2026-11-01', true));
  t.deepEqual(
    { shrunk: shrunk.map(({ account }) => account), watched: newest.map(({ account }) => account) },
    { shrunk: [], watched: [PID] },
  );
});

test('bills of the payee are compared again if a claim with its own orders turns out to be the payee', async (t) => {
  const line = { orderNo: 'P2', channelTradeNo: 'T2' };
  const on = await claims(t, { one: deskOf([line]), two: deskOf([line]) });
  const [ours, theirs] = [await on.add('one'), await on.add('two')];
  const order = orderRow({
    project: 'two',
    payWay: 'alipay',
    mode: 'live',
    orderNo: 'P2',
    state: 'paid',
    paid: 700n,
    channelTradeNo: 'T2',
    paidAt: new Date('2026-11-20T04:00:00Z'),
  });
  await on.store.transaction((tx) => tx.orders.insert(order));
  await on.work(ours);
  t.like(await on.read(ours), { account: PID, state: 'done', notOurs: 1 });
  await on.work(theirs);
  t.like(await on.read(theirs), { fault: 'same_account' });
  const bill = await on.read(ours);
  if (bill.state === 'matching' || bill.state === 'waiting') await on.work(ours);
  t.like(await on.read(ours), { notOurs: 0 });
  t.deepEqual(
    (await on.read(ours)).sums?.map(({ project }) => project),
    ['two'],
  );
  t.true((await on.differences()).some((one) => one.includes('amount_differs P2')));
});

test('a late answer about a bill that was set aside does not request the bill again', async (t) => {
  let during = async (): Promise<void> => {};
  const notYet: BillDesk = {
    ...deskOf([LOST]),
    fetch: async (day) => {
      if (day === DAY) return { kind: 'bill', bytes: inPieces(JSON.stringify([LOST])) };
      await during();
      return { kind: 'not_ready', code: 'bill_not_exist' };
    },
  };
  const on = await claims(t, { one: deskOf([LOST]), two: notYet });
  const ours = [await on.add('one'), await on.add('one', '2026-11-21')];
  for (const billNo of ours) await on.work(billNo);
  const [first, second] = [await on.add('two'), await on.add('two', '2026-11-21')];
  during = () => on.work(first);
  await on.work(second);
  const { state, fault, nextCheckAt } = await on.read(second);
  t.deepEqual({ state, fault, nextCheckAt }, { state: 'done', fault: 'same_account', nextCheckAt: null });
});

test("an imported file keeps counting if the payee's own bill of the day is unavailable", async (t) => {
  const on = await claims(t, {
    one: {
      ...deskOf([LOST]),
      fetch: async (day) =>
        day === DAY ? { kind: 'gone', code: 'TOO_OLD' } : { kind: 'bill', bytes: inPieces('[{"orderNo":"a"}]') },
    },
    two: {
      ...deskOf([LOST]),
      fetch: async (day) =>
        day === DAY ? { kind: 'gone', code: 'TOO_OLD' } : { kind: 'bill', bytes: inPieces('[{"orderNo":"a"}]') },
    },
  });
  const ours = await on.add('one');
  await on.work(await on.add('one', '2026-11-21'));
  await on.work(ours);
  t.like(await on.read(ours), { account: PID, state: 'missing', reading: 0 });
  const theirs = await on.add('two');
  await on.bring('two', theirs, [LOST]);
  t.like(await on.read(theirs), { lines: 1 });
  await on.work(await on.add('two', '2026-11-21'));
  await on.work(ours);
  const left = await on.store.read((tx) => tx.bills.list({ day: DAY }));
  t.deepEqual(
    left.map(({ billNo, account, lines }) => [billNo, account, lines]),
    [[theirs, PID, 1]],
  );
});

test("two days of a claim that are read concurrently both become the payee's", async (t) => {
  const on = await claims(t, { shop: deskOf([{ orderNo: 'a' }]) });
  const bills = [await on.add('shop', '2026-11-19'), await on.add('shop', '2026-11-20')];
  await Promise.all(bills.map(on.work));
  for (const billNo of bills) t.like(await on.read(billNo), { account: PID, state: 'done', lines: 1, fault: null });
  const rows = await on.store.read((tx) => tx.payees.list({}));
  t.deepEqual(
    rows.map((row) => [row.payee, row.provenAt !== null]),
    [[PID, true]],
  );
});

test('two projects that prove the same payee concurrently keep one bill', async (t) => {
  const on = await claims(t, { one: deskOf([{ orderNo: 'a' }]), two: deskOf([{ orderNo: 'a' }]) });
  const bills = [await on.add('one', '2026-11-20'), await on.add('two', '2026-11-20')];
  await Promise.all(bills.map(on.work));
  const found = await Promise.all(bills.map(on.read));
  const [read, aside] = found.toSorted((a, b) => b.reading - a.reading);
  t.like(read, { account: PID, state: 'done', lines: 1, fault: null });
  t.like(aside, { state: 'done', reading: 0, lines: 0, fault: 'same_account', nextCheckAt: null });
  t.true(aside!.faultDetail?.includes(read!.billNo));
  t.is(await on.store.read((tx) => tx.billLines.count({})), 1);
});

test("a file imported for a claim stops counting once the payee's own bill is stored", async (t) => {
  const on = await claims(t, { one: deskOf([{ orderNo: 'a' }]), two: deskOf([{ orderNo: 'a' }, { orderNo: 'b' }]) });
  const [ours, theirs] = [await on.add('one', '2026-11-20'), await on.add('two', '2026-11-20')];
  const order = orderRow({ project: 'two', payWay: 'alipay', mode: 'live', orderNo: 'P1', state: 'pending', paid: 0n });
  await on.store.transaction((tx) => tx.orders.insert(order));
  const file = inPieces(JSON.stringify([{ orderNo: 'P1', channelTradeNo: 'T1' }]));
  const requester = { owner: 'any', actor: 'admin:test' } as const;
  await billRepairs(on.ports).importBill(requester, { project: 'two', payWay: 'alipay', day: '2026-11-20' }, file);
  await compareBill(on.ports, theirs);
  const differences = () => on.store.read((tx) => tx.billDifferences.list({}));
  t.like((await differences())[0], { kind: 'paid_unknown_to_us', state: 'open', billNo: theirs });
  await on.work(ours);
  await on.store.transaction((tx) => tx.bills.update({ billNo: theirs }, { state: 'waiting' }));
  await on.work(theirs);
  t.like(await on.read(theirs), { reading: 0, lines: 0, sums: null, fault: 'same_account' });
  t.like((await differences())[0], { state: 'healed', billNo: theirs });
  t.deepEqual(
    (await on.store.read((tx) => tx.billLines.list({}))).map(({ billNo }) => billNo),
    [ours],
  );
});

/** A bill source that returns these lines for each day and finds the payee in the file: another payee's line names it as its order. */
function deskOfTwo(lines: readonly object[]): BillDesk {
  const isOther = async (file: string) => (await readFile(file, 'utf8')).includes(OTHER);
  return { ...deskOf(lines), payeeIn: async (file) => ((await isOther(file)) ? OTHER : PID) };
}

/** Wraps the bill source: a file that contains `word` runs `meanwhile` while it is read. */
function interrupted(desk: BillDesk, word: string, meanwhile: () => Promise<void>): BillDesk {
  return {
    ...desk,
    async *read(file, day, how) {
      if ((await readFile(file, 'utf8')).includes(word)) await meanwhile();
      yield* desk.read(file, day, how);
    },
  };
}

test('a file of another payee imported for a claim stops counting once the channel answered', async (t) => {
  const on = await claims(t, { shop: deskOfTwo([LOST]) });
  const [asked, other] = [await on.add('shop', '2026-11-21'), await on.add('shop')];
  await on.bring('shop', other, [{ orderNo: OTHER }, { orderNo: GONE, channelTradeNo: 'T-theirs' }]);
  t.like(await on.read(other), { payeeInFile: OTHER, lines: 2 });
  await on.work(asked);
  t.like(await on.read(asked), { account: PID, lines: 1, fault: null });
  t.like(await on.read(other), { account: PID, state: 'waiting', reading: 0, sums: null, fault: 'wrong_account' });
  t.deepEqual(
    (await on.differences()).toSorted(),
    [`${asked} order_unknown_here ${GONE} listed`, `${other} order_unknown_here ${GONE} healed`].toSorted(),
  );
  t.is(await on.store.read((tx) => tx.billLines.count({})), 1);
  await on.work(other);
  t.like(await on.read(other), { account: PID, state: 'done', lines: 1, fault: null, payeeInFile: null });
});

test("a requested day drops a file of another payee and gets the channel's own bill", async (t) => {
  const on = await claims(t, { shop: deskOfTwo([LOST]) });
  const bill = await on.add('shop');
  await on.bring('shop', bill, [{ orderNo: OTHER }]);
  await on.work(bill);
  t.like(await on.read(bill), { account: PID, state: 'done', lines: 1, notOurs: 0, fault: null, payeeInFile: null });
  t.is(await on.store.read((tx) => tx.billLines.count({})), 1);
});

test('a file of another payee is refused if the channel names the payee while the file is read', async (t) => {
  const on = await claims(t, { shop: interrupted(deskOfTwo([LOST]), OTHER, () => on.work(asked)) });
  const [asked, other] = [await on.add('shop', '2026-11-21'), await on.add('shop')];
  const error = await t.throwsAsync(on.bring('shop', other, [{ orderNo: OTHER }]));
  t.like(error, { code: 'bill_malformed', message: `The bill is about the account ${OTHER}.` });
  t.like(await on.read(other), { account: PID, state: 'waiting', reading: 0, lines: 0 });
  t.is(await on.store.read((tx) => tx.billLines.count({ billNo: other })), 0);
});

test('a day whose file is dropped is requested although a second file was read meanwhile', async (t) => {
  const on = await claims(t, { shop: interrupted(deskOfTwo([LOST]), 'second', () => on.work(asked)) });
  const [asked, other] = [await on.add('shop', '2026-11-21'), await on.add('shop')];
  await on.bring('shop', other, [{ orderNo: OTHER }]);
  await on.store.transaction((tx) => tx.bills.update({ billNo: other }, { nextCheckAt: null, state: 'done' }));
  const second = inPieces(JSON.stringify([{ orderNo: OTHER }, { orderNo: 'second' }]));
  const of = { project: 'shop', payWay: 'alipay', day: DAY } as const;
  await t.throwsAsync(billRepairs(on.ports).importBill(requester, of, second));
  const { reading, state, nextCheckAt } = await on.read(other);
  t.deepEqual([reading, state, nextCheckAt], [0, 'waiting', on.ports.now()]);
});

test('a bill that an operator requested is fetched although another project proves the same payee meanwhile', async (t) => {
  let fetched = 0;
  const desk = deskOf([LOST]);
  const counting: BillDesk = { ...desk, fetch: async (day) => (fetched++, desk.fetch(day)) };
  const on = await claims(t, { one: counting, two: desk });
  const ours = await on.add('one');
  await on.work(ours);
  await billRepairs(on.ports).requestBill(requester, { project: 'one', payWay: 'alipay', day: DAY });
  await on.work(await on.add('two', '2026-11-21'));
  await on.work(ours);
  t.deepEqual([(await on.read(ours)).state, fetched], ['done', 2]);
});

test("a file imported for a claim is compared with the orders of all projects once it is the payee's", async (t) => {
  const desk: BillDesk = {
    ...deskOf([LOST]),
    fetch: async (day) =>
      day === DAY ? { kind: 'gone', code: 'TOO_OLD' } : { kind: 'bill', bytes: inPieces('[{"orderNo":"a"}]') },
  };
  const on = await claims(t, { one: desk, two: desk });
  const whose = { project: 'one', payWay: 'alipay', mode: 'live', orderNo: GONE, channelTradeNo: 'T-lost' } as const;
  const order = orderRow({ ...whose, state: 'paid', paid: 1000n, paidAt: new Date('2026-11-20T04:00:00Z') });
  await on.store.transaction((tx) => tx.orders.insert(order));
  await on.work(await on.add('one', '2026-11-21'));
  const theirs = await on.add('two');
  await on.bring('two', theirs, [LOST]);
  t.is((await on.read(theirs)).sums?.[0]?.project, null, 'it is not an order of the claim');
  await on.work(await on.add('two', '2026-11-21'));
  await on.work(theirs);
  const { sums, ...bill } = await on.read(theirs);
  t.like(bill, { account: PID, lines: 1, state: 'done', fault: 'TOO_OLD' });
  t.is(sums?.[0]?.project, 'one');
});

test('an unknown order found for a claim belongs to no project once two projects share the payee', async (t) => {
  const on = await claims(t, { one: deskOf([LOST]), two: deskOf([LOST]) });
  await on.work(await on.add('one', '2026-11-21'));
  const theirs = await on.add('two');
  await on.bring('two', theirs, [LOST]);
  const projects = () =>
    on.store.read(async (tx) => [
      ...(await tx.billDifferences.list({ billNo: theirs })).map(({ project }) => project),
      ...(await tx.exceptions.list({})).map(({ project }) => project),
    ]);
  t.deepEqual(await projects(), ['two', 'two']);
  await on.work(await on.add('two', '2026-11-21'));
  await on.work(theirs);
  t.deepEqual(await projects(), ['', '']);
});

test("a project with wrong keys blocks no other project's bill, and its rate counts for no other project", async (t) => {
  const refused: BillAnswer = { kind: 'refused', code: 'SIGN_ERROR', reason: 'no' };
  const one = { ...jsonDesk(() => refused), rate: { share: '0.9', fixed: 0n, fixedCurrency: null } };
  const two = {
    ...deskOf([{ orderNo: 'P2', channelTradeNo: 'T2' }]),
    rate: { share: '0.006', fixed: 0n, fixedCurrency: null },
  };
  const on = await claims(t, { one, two });
  const billNo = await on.add('one', '2026-11-20');
  const order = orderRow({
    project: 'two',
    payWay: 'alipay',
    mode: 'live',
    orderNo: 'P2',
    state: 'paid',
    paid: 1000n,
    channelTradeNo: 'T2',
    paidAt: new Date('2026-11-20T04:00:00Z'),
  });
  await on.store.transaction(async (tx) => {
    await tx.orders.insert(order);
    for (const project of ['one', 'two']) {
      await tx.payees.delete({ project });
      await tx.payees.insert(payee({ project, payWay: 'alipay', account: PID, mode: 'live' }));
    }
    await tx.bills.update({ billNo }, { account: PID });
  });
  await on.work(billNo);
  t.like(await on.read(billNo), { state: 'done', lines: 1, notOurs: 0, fault: null });
  t.deepEqual(await on.store.read((tx) => tx.billDifferences.list({})), []);
});

test('keys that now answer for another payee return no bill of that payee', async (t) => {
  let who = PID;
  const desk = { ...deskOf([{ orderNo: 'a' }]), payeeIn: async () => who };
  const on = await claims(t, { shop: desk });
  const billNo = await on.add('shop', '2026-11-20');
  await on.work(billNo);
  who = '2088000000000002';
  await on.work(billNo);
  t.like(await on.read(billNo), { account: PID, state: 'refused', lines: 1, reading: 1, fault: 'wrong_account' });
});
