import test, { type ExecutionContext } from 'ava';
import { dueDeliveries } from '../../server/db/queries/due.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { createStore } from '../../server/db/store.ts';
import { concurrencyOfReceivers } from '../../server/jobs/queues.ts';
import { count } from '../support/counts.ts';
import { createDatabase, PATIENT, postgresDatabase } from '../support/database.ts';
import { deliveryScheduler, finishDelivery, insertDeliveries } from '../support/due-work.ts';
import { layCable } from '../support/in-between.ts';
import { createClock, until } from '../support/service.ts';

test('three replicas work a backlog, each row once', async (t) => {
  const { store, url } = await postgresDatabase(t);
  const n = count(20_000, 1_000);
  const ids = await insertDeliveries(store, n, ['app_a', 'app_b', 'app_c', 'app_d']);
  const worked: string[] = [];
  const shares = [0, 0, 0];
  const replicas = await Promise.all(
    shares.map(async (_, replica) => {
      const database = await openDatabase({ kind: 'postgres', url, poolSize: 4, timeouts: PATIENT });
      t.teardown(() => database.close());
      const own = createStore(database, () => {});
      return deliveryScheduler(t, own, async (id) => {
        worked.push(id);
        shares[replica]! += 1;
        await finishDelivery(own, id);
      });
    }),
  );
  for (const replica of replicas) replica.start();
  await until('everything is worked', async () => worked.length >= n, 240_000);
  t.deepEqual(worked.toSorted(), ids.toSorted());
  t.log(`${n} rows, 3 replicas: ${shares.join(', ')}`);
});

test('rows of a replica that died are worked by another one after their lease expires, not before', async (t) => {
  const { store } = await postgresDatabase(t);
  const ids = await insertDeliveries(store, 5);
  const clock = createClock();
  const dying: string[] = [];
  const funeral = Promise.withResolvers<void>();
  const dead = deliveryScheduler(t, store, (id) => {
    dying.push(id);
    return funeral.promise;
  });
  t.teardown(() => funeral.resolve());
  dead.start();
  await until('it has them all', async () => dying.length === 5);
  const worked: string[] = [];
  const run = async (id: string) => {
    worked.push(id);
    await finishDelivery(store, id);
  };
  const other = deliveryScheduler(t, store, run, { now: clock.now });
  t.is(await other.sweep('delivery').once(), 0);
  clock.advance(61);
  t.is(await other.sweep('delivery').once(), 5);
  t.deepEqual(worked.toSorted(), ids.toSorted());
});

test('a commit wakes its own replica, a failed transaction wakes none, and the other replicas find the row by polling', async (t) => {
  const { url, drop } = await createDatabase();
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 4, timeouts: PATIENT });
  t.teardown(async () => {
    await database.close();
    await drop();
  });
  const woken: object[] = [];
  const store = createStore(database, (by, row) => {
    woken.push({ by, ...row });
    scheduler.wake(by, row);
  });
  const worked: string[] = [];
  const run = async (id: string) => {
    worked.push(id);
    await finishDelivery(store, id);
  };
  // Polls are so rare that only a wake can be the reason.
  let looks = 0;
  const scheduler = deliveryScheduler(t, store, run, { lookMs: 3_600_000, looked: () => void (looks += 1) });
  scheduler.start();
  await until('the first look is over', async () => looks === 1);
  const [first, second] = await insertDeliveries(store, 2);
  await t.throwsAsync(
    store.transaction(async (tx) => {
      await tx.afterCommit('deliver-event', { deliveryId: first! });
      throw new Error('on purpose');
    }),
  );
  t.deepEqual(woken, []);
  await store.transaction((tx) => tx.afterCommit('deliver-event', { deliveryId: second! }));
  await until('the one that was named', async () => worked.length === 1);
  t.deepEqual(worked, [second]);
  const other = deliveryScheduler(t, store, run);
  other.start();
  await until('the other one', async () => worked.length === 2);
  t.deepEqual(worked, [second, first]);
});

test('wakes and polls resume without a restart after a database black hole during the work', async (t) => {
  const direct = await postgresDatabase(t);
  const cable = await layCable(t, direct.url);
  const database = await openDatabase({ kind: 'postgres', url: cable.url, poolSize: 4 });
  t.teardown(() => database.close());
  const clock = createClock();
  const logged: string[] = [];
  const worked: string[] = [];
  let looks = 0;
  let hang = true;
  const store = createStore(database, (by, row) => scheduler.wake(by, row));
  const scheduler = deliveryScheduler(
    t,
    store,
    async (id) => {
      if (hang) cable.swallow();
      await finishDelivery(store, id);
      worked.push(id);
    },
    { now: clock.now, looked: () => void (looks += 1), log: (_, message) => void logged.push(message) },
  );
  const ids = await insertDeliveries(direct.store, 30, ['app_a', 'app_b']);
  scheduler.start();
  await until('the failure is logged', async () => logged.includes('jobs could not look for due rows'), 60_000);
  t.deepEqual(worked, []);
  hang = false;
  cable.mend();
  const before = looks;
  await until('it looks again', async () => looks > before + 1, 60_000);
  // Rows claimed during the black hole stay leased until the lease expires.
  clock.advance(61);
  await until('everything is worked', async () => new Set(worked).size === 30, 60_000);
  t.deepEqual([...new Set(worked)].toSorted(), ids.toSorted());
  await until('nothing is under way', async () => scheduler.busy()['delivery'] === 0, 60_000);
  const fresh = await insertDeliveries(direct.store, 1);
  await store.transaction((tx) => tx.afterCommit('deliver-event', { deliveryId: fresh[0]! }));
  await until('a fresh one is worked', async () => worked.includes(fresh[0]!));
  const spells = logged.filter((message) => /^jobs (could not look|look) for due rows/.test(message));
  const [begin, end] = ['jobs could not look for due rows', 'jobs look for due rows again'];
  t.deepEqual(
    spells,
    spells.map((_, at) => (at % 2 === 0 ? begin : end)),
    'each time once, and when it was over',
  );
  await scheduler.stop(60_000);
  t.is(scheduler.busy()['delivery'], 0);
});

test("1,200 due deliveries to a receiver that never answers do not delay another application's event", async (t) => {
  const { store, arrived, silent } = await sleepless(t);
  await insertDeliveries(store, 1_200, ['app_dead'], 'https://dead.example/hook');
  await until('the silent receiver has all that it may have', async () => silent() >= 8);
  const [id] = await insertDeliveries(store, 1, ['app_quick'], 'https://quick.example/hook');
  await until('the event of the other application arrives', async () => arrived.includes(id!));
  t.true(silent() <= 16, `${silent()} under way`);
});

test('one dead receiver of many applications does not take all slots', async (t) => {
  const { store, arrived, silent } = await sleepless(t);
  const apps = Array.from({ length: 40 }, (_, at) => `app_${at}`);
  await insertDeliveries(store, 1_200, apps, 'https://dead.example/hook');
  await until('the silent receiver has all that it may have', async () => silent() >= 8);
  const [id] = await insertDeliveries(store, 1, ['app_0'], 'https://quick.example/hook');
  await until('an event for another receiver arrives, also of the same application', async () => arrived.includes(id!));
  t.true(silent() <= 16, `${silent()} under way`);
});

/** A scheduler as in the service, with deliveries to `dead.example`, which never answers, and to working receivers. */
async function sleepless(t: ExecutionContext) {
  const { store } = await postgresDatabase(t);
  const silence = Promise.withResolvers<void>();
  const arrived: string[] = [];
  let under = 0;
  const run = async (id: string) => {
    const row = await store.read((tx) => tx.deliveries.find({ id }));
    if (row?.url.includes('dead.example')) {
      under += 1;
      return silence.promise;
    }
    arrived.push(id);
    return finishDelivery(store, id);
  };
  const kinds = [{ name: 'delivery', rows: dueDeliveries(), run, ...concurrencyOfReceivers(8) }];
  deliveryScheduler(t, store, run, { kinds }).start();
  t.teardown(() => silence.resolve());
  return { store, arrived, silent: () => under };
}
