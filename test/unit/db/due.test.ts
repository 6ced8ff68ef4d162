import test from 'ava';
import { dueDeliveries, dueFulfilments, dueOrders, dueRefunds, lookForDue } from '../../../server/db/queries/due.ts';
import { planTask, takeTask } from '../../../server/db/queries/timetable.ts';
import { embeddedDatabase } from '../../support/database.ts';
import { insertDeliveries } from '../../support/due-deliveries.ts';

const later = (at: Date, seconds: number) => new Date(at.getTime() + seconds * 1000);

test('every table can be looked at and claimed from, with the simulator and without', async (t) => {
  const { store } = await embeddedDatabase(t);
  const now = new Date();
  for (const simulated of [true, false]) {
    const tables = [dueOrders(simulated), dueRefunds(simulated), dueFulfilments(simulated), dueDeliveries()];
    t.deepEqual(await store.read((tx) => lookForDue(tx, tables, now)), [undefined, undefined, undefined, undefined]);
    for (const table of tables.slice(0, 3)) {
      t.deepEqual(await store.transaction((tx) => table.claim(tx, { now, limit: 5, full: ['alipay'] })), []);
      t.deepEqual(await store.transaction((tx) => table.claim(tx, { now, limit: 5, only: ['P1'] })), []);
    }
  }
});

test('a claim takes the oldest rows, no more than asked, none of a full lane, and nobody takes them again', async (t) => {
  const { store } = await embeddedDatabase(t);
  const ids = await insertDeliveries(store, 6, ['app_a', 'app_b']);
  const now = new Date();
  const rows = dueDeliveries();
  const claim = (more: object, at = now) => store.transaction((tx) => rows.claim(tx, { now: at, limit: 10, ...more }));
  t.deepEqual(await claim({}, later(now, -3600)), [], 'not yet due');
  const [lag] = await store.read((tx) => lookForDue(tx, [rows], now));
  t.true(lag! >= 60, 'they are due since a minute');
  t.is((await claim({ limit: 1, full: ['app_a'] }))[0]?.lane, 'app_b');
  const named = await claim({ only: [ids[1]!, ids[3]!, crypto.randomUUID()], full: ['app_b'] });
  t.true(named.every(({ id, lane }) => lane === 'app_a' && ids.includes(id)));
  const rest = await claim({});
  t.is(rest.length, 5 - named.length);
  t.deepEqual(await claim({}), []);
  t.deepEqual(await store.read((tx) => lookForDue(tx, [rows], now)), [undefined]);
  t.is((await claim({}, later(now, 61))).length, 6, 'leases end');
});

test('a task is taken by one, again when its lease is over, and after it was planned not before its time', async (t) => {
  const { store } = await embeddedDatabase(t);
  const now = new Date();
  const take = (at: Date) => store.transaction((tx) => takeTask(tx, 'tidy', at, later(at, 600)));
  t.deepEqual(await Promise.all([take(now), take(now)]), [true, false]);
  t.false(await take(later(now, 599)));
  t.true(await take(later(now, 600)));
  await store.transaction((tx) => planTask(tx, 'tidy', later(now, 3600)));
  t.false(await take(later(now, 3599)));
  t.true(await take(later(now, 3600)));
});
