import test from 'ava';
import {
  bookCalls,
  dueBills,
  dueCoinCalls,
  dueConfirmations,
  dueDeliveries,
  dueDifferences,
  dueDisputes,
  dueEffectRows,
  dueFulfilments,
  dueOrders,
  dueLookups,
  dueRefunds,
  lookForDue,
  planTask,
  takeTask,
} from '../../../server/db/queries/due.ts';
import type { Store } from '../../../server/db/store.ts';
import { queueKeyOf } from '../../../server/payments/core/plan.ts';
import { orderRow, refundRow } from '../../support/core-rows.ts';
import { postgresDatabase } from '../../support/database.ts';
import { coinCall, insertDeliveries } from '../../support/due-work.ts';
import { claimDue } from '../jobs/due-rows.ts';

/** Shared by the file; each test starts with empty tables. */
let store: Store;
const closing: (() => unknown)[] = [];
test.before(async () => void ({ store } = await postgresDatabase({ teardown: (end) => void closing.push(end) })));
test.afterEach.always(() =>
  store.transaction((tx) => tx.sql`truncate orders, refunds, deliveries, coin_calls, rate_limits`),
);
test.after.always(() => Promise.all(closing.map((end) => end())));

const later = (at: Date, seconds: number) => new Date(at.getTime() + seconds * 1000);

test.serial('every due table supports look, claim and renew, with and without the simulator', async (t) => {
  const now = new Date();
  const ofAccounts = [dueOrders, dueRefunds, dueLookups, dueDisputes, dueBills, dueDifferences, dueConfirmations];
  for (const simulated of [true, false]) {
    const tables = [...ofAccounts, dueFulfilments].map((rows) => rows(simulated));
    tables.push(dueCoinCalls(), dueEffectRows(), dueDeliveries());
    t.deepEqual(
      await store.read((tx) => lookForDue(tx, tables, now)),
      tables.map(() => undefined),
    );
    for (const [at, rows] of tables.entries()) {
      const id = at < 2 ? 'P1' : crypto.randomUUID();
      await store.transaction(async (tx) => {
        t.deepEqual(await rows.queues(tx, now), []);
        t.deepEqual(await rows.claim(tx, { now, capacity: new Map([['alipay live 1', 5]]) }), []);
        const full = { fullQueues: ['alipay live 1'], fullGroups: ['alipay'] };
        t.deepEqual(await rows.claimNamed(tx, { now, ids: [id], ...full }), []);
        t.deepEqual(await rows.renew(tx, { now, rows: [{ id, lease: now }] }), [{ kind: 'busy' }]);
      });
    }
  }
});

test.serial(
  'a claim takes the oldest rows of each queue up to its capacity, and no other claim takes them again',
  async (t) => {
    const ids = await insertDeliveries(store, 6, ['app_a', 'app_b']);
    const [a, b] = ['app_a //shop.example', 'app_b //shop.example'] as const;
    const now = new Date();
    const rows = dueDeliveries();
    const claim = (capacity: Record<string, number>) =>
      store.autocommit((tx) => rows.claim(tx, { now, capacity: new Map(Object.entries(capacity)) }));
    t.deepEqual(await store.read((tx) => rows.queues(tx, later(now, -3600))), [], 'not yet due');
    t.deepEqual(await store.read((tx) => rows.queues(tx, now)), [a, b]);
    const [lag] = await store.read((tx) => lookForDue(tx, [rows], now));
    t.true(lag! >= 60, 'they are due since a minute');
    const [first, ...more] = await claim({ [b]: 1, 'app_c //shop.example': 9 });
    t.is(first?.queueKey, b);
    t.deepEqual(first?.lease, later(now, 60));
    t.is(more.length, 0);
    const named = (fullQueues: string[], fullGroups: string[] = []) =>
      store.autocommit((tx) =>
        rows.claimNamed(tx, { now, ids: [...ids, crypto.randomUUID()], fullQueues, fullGroups }),
      );
    t.deepEqual(await named([], ['//shop.example']), []);
    t.deepEqual(await named([], ['app_a', 'app_b']), []);
    t.deepEqual(new Set((await named([b])).map(({ queueKey }) => queueKey)), new Set([a]));
    t.deepEqual(await store.read((tx) => rows.queues(tx, now)), [b]);
    t.is((await claim({ [a]: 9, [b]: 9 })).length, 2);
    t.deepEqual(await store.read((tx) => rows.queues(tx, now)), []);
    t.deepEqual(await store.read((tx) => lookForDue(tx, [rows], now)), [undefined]);
    t.is((await store.transaction((tx) => claimDue(tx, rows, later(now, 61)))).length, 6, 'leases end');
  },
);

test.serial('a receiver is the host of its address, without path, query or fragment', async (t) => {
  for (const url of [
    'https://shop.example',
    'https://shop.example?a=1',
    'http://shop.example/hook',
    'https://shop.example#a',
  ])
    await insertDeliveries(store, 1, ['app_a'], url);
  await insertDeliveries(store, 1, ['app_a'], 'https://shop.example:8443/hook');
  t.deepEqual(await store.read((tx) => dueDeliveries().queues(tx, new Date())), [
    'app_a //shop.example',
    'app_a //shop.example:8443',
  ]);
});

test.serial('a queue is an account, and without Debug simulator rows are not due', async (t) => {
  const now = new Date();
  const due = { nextCheckAt: later(now, -1), leasedUntil: null };
  const orders = (['live', 'simulator'] as const).map((mode) =>
    orderRow({ orderNo: `P-${mode}`, merchantOrderNo: null, channelTradeNo: null, mode, ...due }),
  );
  await store.transaction(async (tx) => {
    await tx.orders.insertMany(orders);
    for (const order of orders) {
      const { orderNo } = order;
      await tx.refunds.insert(refundRow({ refundNo: `R-${order.mode}`, orderNo, queueKey: queueKeyOf(order), ...due }));
    }
  });
  const [live, simulator] = orders.map(queueKeyOf) as [string, string];
  t.deepEqual(await store.read((tx) => dueOrders(true).queues(tx, now)), [live, simulator]);
  t.deepEqual(await store.read((tx) => dueOrders(false).queues(tx, now)), [live]);
  t.deepEqual(await store.read((tx) => dueRefunds(true).queues(tx, now)), [live, simulator]);
  t.deepEqual(await store.read((tx) => dueRefunds(false).queues(tx, now)), [live]);
  t.deepEqual(await store.autocommit((tx) => dueOrders(false).claimNamed(tx, { now, ids: ['P-simulator'] })), []);
});

test.serial('a renewal extends only an unchanged lease, not a row that was replanned or claimed since', async (t) => {
  const now = new Date();
  const ids = await insertDeliveries(store, 5);
  const rows = dueDeliveries();
  const claimed = await store.transaction((tx) => claimDue(tx, rows, now));
  const [kept, planned, ended, taken, gone] = ids as [string, string, string, string, string];
  const set = (id: string, patch: object) => store.transaction((tx) => tx.deliveries.update({ id }, patch));
  await set(planned, { leasedUntil: null, nextAttemptAt: later(now, 90) });
  await set(ended, { leasedUntil: later(now, 75) });
  // Another replica can claim it only after the lease ends, so its own lease ends at least one period later.
  await set(taken, { leasedUntil: later(now, 120) });
  await store.transaction((tx) => tx.deliveries.delete({ id: gone }));
  const mine = [kept, planned, ended, taken, gone].map((id) => claimed.find((row) => row.id === id)!);
  const became = await store.autocommit((tx) => rows.renew(tx, { now: later(now, 30), rows: mine }));
  const lease = later(now, 90);
  t.deepEqual(became, [
    { kind: 'renewed', lease },
    { kind: 'over' },
    { kind: 'over' },
    { kind: 'lost' },
    { kind: 'busy' },
  ]);
  const stored = await store.read((tx) => tx.deliveries.list({}));
  const leaseOf = (id: string) => stored.find((row) => row.id === id)?.leasedUntil;
  t.deepEqual([kept, planned, ended, taken].map(leaseOf), [lease, null, later(now, 75), later(now, 120)]);
  const again = await store.autocommit((tx) => rows.renew(tx, { now: lease, rows: [{ id: kept, lease }] }));
  t.deepEqual(again, [{ kind: 'renewed', lease: later(now, 150) }], 'nobody has taken it, so late is not too late');
});

test.serial(
  'where a claim postpones the attempt, a renewal leaves every attempt that was planned meanwhile',
  async (t) => {
    const now = new Date();
    const rows = dueCoinCalls();
    const call = { ...coinCall, orderNo: 'X1', nextAttemptAt: now };
    await store.transaction((tx) => tx.coinCalls.insert(call));
    const [mine] = await store.transaction((tx) => claimDue(tx, rows, now));
    const renew = (at: Date, lease: Date) =>
      store.autocommit((tx) => rows.renew(tx, { now: at, rows: [{ id: call.orderNo, lease }] }));
    const planFor = (nextAttemptAt: Date | null) =>
      store.transaction((tx) => tx.coinCalls.update({ orderNo: call.orderNo }, { nextAttemptAt }));
    const next = async () => (await store.read((tx) => tx.coinCalls.find({ orderNo: call.orderNo })))?.nextAttemptAt;
    t.deepEqual(await renew(later(now, 30), mine!.lease), [{ kind: 'renewed', lease: later(now, 90) }]);
    for (const planned of [null, later(now, 40), later(now, 600), later(now, 86_400)]) {
      await planFor(planned);
      t.deepEqual(await renew(later(now, 60), later(now, 90)), [{ kind: 'over' }]);
      t.deepEqual(await next(), planned);
    }
    // Another replica could have claimed and postponed it by now.
    await planFor(later(now, 151));
    t.deepEqual(await renew(later(now, 95), later(now, 90)), [{ kind: 'lost' }]);
    t.deepEqual(await next(), later(now, 151));
  },
);

test.serial('calls are booked one after another across replicas, and never in the past', async (t) => {
  const now = new Date(1_000_000);
  const book = (at: Date, calls: Record<string, number>) =>
    store.transaction(async (tx) => Object.fromEntries(await bookCalls(tx, 10, at, new Map(Object.entries(calls)))));
  t.deepEqual(await book(now, { a: 3, b: 1 }), { a: 1_000_300, b: 1_000_100 });
  t.deepEqual(await book(later(now, 0.2), { b: 2, a: 1 }), { a: 1_000_400, b: 1_000_400 });
  t.deepEqual(await book(later(now, 60), { a: 1 }), { a: 1_060_100 });
});

test.serial('a task is claimed once, again after its lease ends, and not before its planned time', async (t) => {
  const now = new Date();
  const take = (at: Date) => store.transaction((tx) => takeTask(tx, 'tidy', at, later(at, 600)));
  t.deepEqual(await Promise.all([take(now), take(now)]), [true, false]);
  t.false(await take(later(now, 599)));
  t.true(await take(later(now, 600)));
  await store.transaction((tx) => planTask(tx, 'tidy', later(now, 3600)));
  t.false(await take(later(now, 3599)));
  t.true(await take(later(now, 3600)));
});
