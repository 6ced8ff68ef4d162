import test, { type ExecutionContext } from 'ava';
import { bookCalls, lookForDue } from '../../server/db/queries/due.ts';
import type { Store } from '../../server/db/store.ts';
import { type DueKind, concurrencyOfAccounts } from '../../server/jobs/queues.ts';
import { createScheduler, type SchedulerParts } from '../../server/jobs/scheduler.ts';
import { postgresDatabase } from '../support/database.ts';
import { insertDueOrders, ORDERS, replicaStore, SAMPLES } from '../support/due-work.ts';
import { placeOrder } from '../support/orders.ts';
import { createClock, startService, until } from '../support/service.ts';

/** Differs from the service's own lease, so that only the injected one counts. */
const LEASE_SECONDS = 10;

/** One replica that polls continuously; counts its polls. */
function startReplica(t: ExecutionContext, store: Store, kind: DueKind, more: Partial<SchedulerParts> = {}) {
  let looks = 0;
  const lost: string[] = [];
  const logged: string[] = [];
  const scheduler = createScheduler({
    store,
    now: () => new Date(),
    log: (_, message) => void logged.push(message),
    lookForDue,
    takeTask: async () => false,
    planTask: async () => {},
    kinds: [kind],
    tasks: [],
    leaseMs: LEASE_SECONDS * 1000,
    leaseLost: (name) => void lost.push(name),
    looked: () => void (looks += 1),
    lookMs: 10,
    ...more,
  });
  t.teardown(() => scheduler.stop(10_000));
  scheduler.start();
  return { scheduler, lost, logged, looks: () => looks };
}

for (const { name, rows, insert, finish } of SAMPLES)
  test(`${name}: a row that takes several leases is worked once, by the replica that claimed it`, async (t) => {
    const { store, url } = await postgresDatabase(t, 4);
    const clock = createClock();
    clock.stop();
    const long = await insert(store, 3);
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    const kindOf = (own: Store): DueKind => ({
      name,
      rows,
      concurrency: 8,
      queueConcurrency: 8,
      async run(id) {
        begun.push(id);
        if (long.includes(id)) await gate.promise;
        await finish(own, id);
      },
    });
    const first = startReplica(t, store, kindOf(store), { now: clock.now });
    await until('they are under way', async () => begun.length === 3);
    const own = await replicaStore(t, url);
    const second = startReplica(t, own, kindOf(own), { now: clock.now });
    for (let passed = 0; passed < 4 * LEASE_SECONDS; passed += 4) {
      clock.advance(4);
      const [a, b] = [first.looks(), second.looks()];
      await until('both have looked since', async () => first.looks() > a + 1 && second.looks() > b + 1);
    }
    t.deepEqual(begun.toSorted(), long.toSorted());
    const [short] = await insert(store, 1);
    await until('another one is worked meanwhile', async () => begun.includes(short!));
    gate.resolve();
    await until('nothing is under way', async () =>
      [first, second].every(({ scheduler }) => scheduler.busy()[name] === 0),
    );
    clock.advance(4 * LEASE_SECONDS);
    const [a, b] = [first.looks(), second.looks()];
    await until('both have looked since', async () => first.looks() > a + 1 && second.looks() > b + 1);
    t.deepEqual(begun.toSorted(), [...long, short!].toSorted());
    t.deepEqual([...first.lost, ...second.lost], []);
  });

test('a replica that hangs loses its row when the lease expires, reports this once, and leaves the new lease alone', async (t) => {
  const { name, rows, insert, finish } = SAMPLES[0]!;
  const { store, url } = await postgresDatabase(t, 4);
  const clock = createClock();
  clock.stop();
  const [id] = await insert(store, 1);
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const begun: number[] = [];
  const kindOf = (own: Store, place: 0 | 1): DueKind => ({
    name,
    rows,
    concurrency: 8,
    queueConcurrency: 8,
    async run(one) {
      begun.push(place);
      await gates[place].promise;
      await finish(own, one);
    },
  });
  const hanging = Promise.withResolvers<void>();
  let looks = 0;
  const first = startReplica(t, store, kindOf(store, 0), {
    now: clock.now,
    async lookForDue(...asked) {
      looks += 1;
      if (looks > 1) await hanging.promise;
      return lookForDue(...asked);
    },
  });
  await until('it is under way', async () => begun.length === 1 && looks > 1);
  const own = await replicaStore(t, url);
  const second = startReplica(t, own, kindOf(own, 1), { now: clock.now });
  clock.advance(LEASE_SECONDS - 1);
  await until('the other one has looked', async () => second.looks() > 2);
  t.deepEqual(begun, [0]);
  clock.advance(1);
  await until('the other one has it', async () => begun.length === 2);
  t.deepEqual(begun, [0, 1]);
  clock.advance(LEASE_SECONDS / 2);
  const leaseOf = async () => (await store.read((tx) => tx.deliveries.find({ id: id! })))?.leasedUntil?.getTime();
  const lease = clock.now().getTime() + LEASE_SECONDS * 1000;
  await until('the other one has renewed', async () => (await leaseOf()) === lease);
  hanging.resolve();
  const before = first.looks();
  await until('the first one goes on', async () => first.looks() > before + 2);
  t.deepEqual([first.lost, second.lost], [[name], []]);
  t.deepEqual(first.logged, ['another replica has claimed a row that is still being processed here']);
  t.is(await leaseOf(), lease);
  for (const gate of gates) gate.resolve();
});

/** Two replicas that check orders; accounts whose name begins with `silent` never get an answer. */
async function checking(t: ExecutionContext) {
  const { store, url } = await postgresDatabase(t, 4);
  const clock = createClock();
  clock.stop();
  const silence = Promise.withResolvers<void>();
  const done: string[] = [];
  let silent = 0;
  const replicas = [store, await replicaStore(t, url)].map((own) => {
    const kind: DueKind = {
      name: 'order',
      rows: ORDERS.rows,
      ...concurrencyOfAccounts({ perAccount: 16, perChannel: 32 }),
      async run(orderNo) {
        if (orderNo.includes('silent')) {
          silent += 1;
          return silence.promise;
        }
        await ORDERS.finish(own, orderNo);
        done.push(orderNo);
      },
    };
    return startReplica(t, own, kind, { now: clock.now, leaseMs: 3_600_000 });
  });
  t.teardown(() => silence.resolve());
  const isDone = (numbers: readonly string[]) => async () => numbers.every((orderNo) => done.includes(orderNo));
  return { store, clock, replicas, isDone, silent: () => silent };
}

test('a silent account does not delay other accounts of its channel', async (t) => {
  const { store, clock, replicas, isDone, silent } = await checking(t);
  await insertDueOrders(store, 400, 'alipay', ['silent']);
  await until('the silent account has all that it may have', async () => silent() === 32);
  const good = await insertDueOrders(store, 200, 'alipay', ['good', 'better']);
  await until('the others are done', isDone(good));
  clock.advance(4);
  const more = await insertDueOrders(store, 200, 'alipay', ['best']);
  await until('the others are done when it is known who is silent, too', isDone(more));
  t.is(silent(), 32, 'sixteen in each replica');
  for (const { scheduler } of replicas)
    t.deepEqual(scheduler.queues()['order'], [
      { group: 'alipay', state: 'held', count: 1 },
      { group: 'alipay', state: 'full', count: 1 },
    ]);
});

test('a channel with forty silent accounts delays neither other channels nor its own answering accounts', async (t) => {
  const { store, clock, replicas, isDone, silent } = await checking(t);
  const accounts = Array.from({ length: 40 }, (_, n) => `silent-${n}`);
  await insertDueOrders(store, 800, 'alipay', accounts);
  await until('the silent channel has all that it may have', async () => silent() === 64);
  const other = await insertDueOrders(store, 100, 'wechat', ['good']);
  const same = await insertDueOrders(store, 100, 'alipay', ['good']);
  await until('the other channel is done', isDone(other));
  t.is(silent(), 64, '32 in each replica');
  t.false(await isDone(same)());
  // By now the silent accounts are known.
  clock.advance(4);
  await until('the account that answers is done', isDone(same));
  t.true(silent() <= 64 + 32, `${silent()} silent calls`);
  for (const { scheduler } of replicas)
    t.true(scheduler.queues()['order']!.some(({ group, state }) => group === 'alipay' && state === 'held'));
});

test('replicas that book the calls of many queues at once never wait for each other and lose none', async (t) => {
  const { store } = await postgresDatabase(t);
  const queues = Array.from({ length: 8 }, (_, n) => `lane ${n}`);
  const now = new Date(1_000_000);
  await Promise.all(
    Array.from({ length: 40 }, (_, turn) => {
      const calls = new Map((turn % 2 ? queues : queues.toReversed()).map((queueKey) => [queueKey, 2]));
      return store.transaction((tx) => bookCalls(tx, 10, now, calls));
    }),
  );
  const booked = await store.transaction((tx) =>
    bookCalls(tx, 10, now, new Map(queues.map((queueKey) => [queueKey, 0]))),
  );
  t.deepEqual(new Set(booked.values()), new Set([1_000_000 + 40 * 2 * 100]));
});

test('the service books the calls of its due work, not those of merchants, and a rate limit delays no request', async (t) => {
  const service = await startService(t, { env: { PAY_JOBS_CALLS_PER_SECOND: '4' } });
  const shop = await service.merchant();
  const { store } = service.app;
  const booked = () =>
    store.read(
      (tx) => tx.sql<{ key: string; expire: string }>`select key, expire from rate_limits where key like 'calls:%'`,
    );
  const orders = [];
  for (let n = 0; n < 6; n++) orders.push(await placeOrder(shop, { payWay: 'alipay' }));
  for (const orderNo of orders) t.is((await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).status, 200);
  t.deepEqual(await booked(), []);
  const now = new Date();
  await store.transaction((tx) => tx.orders.update({ state: 'pending' }, { nextCheckAt: now }));
  t.true((await service.app.sweep.once()) >= 6);
  const [calls, ...others] = await booked();
  t.deepEqual(others, []);
  t.regex(calls!.key, /^calls:alipay simulator \d+$/);
  // Six calls at four a second, in sequence.
  t.true(Number(calls!.expire) >= now.getTime() + 6 * 250);
});
