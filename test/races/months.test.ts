import { sql } from 'kysely';
import test from 'ava';
import { recordEvents } from '../../server/events/record.ts';
import {
  MONTHLY,
  dropOldParts,
  keepMonths,
  makeMonthsAhead,
  monthFrom,
  monthlyTable,
  partsOf,
  removeMonthly,
} from '../../server/db/months.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { removeEvents, type Removal } from '../../server/db/queries/retention.ts';
import { createStore, type Store } from '../../server/db/store.ts';
import { PATIENT, postgresDatabase } from '../support/database.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { type Service, startService, until } from '../support/service.ts';

async function countOf(store: Store, from: string): Promise<number> {
  const [row] = await store.read((tx) => tx.sql<{ n: number }>`select count(*)::int as n from ${sql.raw(from)}`);
  return Number(row?.n);
}

/** Places, pays and notifies orders continuously; `end` waits for them and returns their number. */
function keepPaying(service: Service, shop: Awaited<ReturnType<Service['merchant']>>) {
  let goesOn = true;
  let orders = 0;
  const work = async (payWay: string) => {
    while (goesOn) {
      await payOrder(service, shop, { payWay, ...(payWay === 'paypal' && { currency: 'USD' }) });
      orders += 1;
    }
  };
  const all = Promise.all(['alipay', 'wechat', 'paypal', 'alipay'].map(work));
  return {
    orders: () => orders,
    async end() {
      goesOn = false;
      await all;
      return orders;
    },
  };
}

test('two concurrent replicas create months ahead once, and each row is in its month', async (t) => {
  const { store } = await postgresDatabase(t);
  const now = monthFrom(new Date(), 14);
  const [one, other] = await Promise.all([makeMonthsAhead(store, now), makeMonthsAhead(store, now)]);
  const names = new Set([...one, ...other].map(({ name }) => name));
  t.is(names.size, 2 * MONTHLY.length, 'this month and the next');
  t.true([...one, ...other].every(({ result }) => result === 'made'));
  t.deepEqual(await makeMonthsAhead(store, now), []);
  const record = recordEvents(() => new Date(now.getTime() + 20 * 86_400_000));
  const event = { type: 'order.paid', clientId: 'a', project: 'p', dedupe: 'once', since: now, object: {} };
  await store.transaction((tx) => record(tx, { ...event, objectNo: 'P1' }));
  const [row] = await store.read((tx) => tx.sql<{ part: string }>`select tableoid::regclass::text as part from events`);
  t.is(row?.part, `events_${now.toISOString().slice(0, 7).replace('-', '_')}`);
  // Rows of a later month without a table go to the rest table and stay there.
  const late = recordEvents(() => monthFrom(now, 5));
  await store.transaction((tx) => late(tx, { ...event, objectNo: 'P2' }));
  t.is(await countOf(store, 'events_rest'), 1);
  const made = await makeMonthsAhead(store, monthFrom(now, 5));
  t.deepEqual(
    made.filter(({ result }) => result !== 'made').map(({ name }) => name.slice(0, 6)),
    ['events'],
  );
});

test('an event or message stored in one month is not stored again in another', async (t) => {
  const service = await startService(t);
  const { store } = service.app;
  const shop = await service.merchant();
  await makeMonthsAhead(store, monthFrom(new Date(), 2));
  const orderNo = await payOrder(service, shop, {});
  const { clientId } = shop;
  const order = await store.read((tx) => tx.orders.find({ orderNo }));
  service.clock.advance(65 * 86_400);
  const again = {
    type: 'order.paid',
    clientId,
    project: 'default',
    dedupe: 'once',
    since: order!.createdAt,
    object: {},
  };
  await store.transaction((tx) => recordEvents(service.clock.now)(tx, { ...again, objectNo: orderNo }));
  t.is(await countOf(store, `events where object_no = '${orderNo}' and type = 'order.paid'`), 1);
  const before = await countOf(store, 'notifications');
  await service.sim('/sim/notify', { orderNo, times: 2 });
  await until('the notification was repeated', async () => {
    const deliveries = await service.deliveries(orderNo);
    return deliveries.length >= 3;
  });
  t.is(await countOf(store, 'notifications'), before);
  t.is(await countOf(store, `transitions where order_no = '${orderNo}' and to_state = 'paid'`), 1);
});

/** Tables with rows of one old month that are kept. */
const KEEPS_A_MONTH = new Set(['deliveries', 'channel_messages']);

test('past months are dropped while services run, and kept rows keep their month', async (t) => {
  const service = await startService(t);
  const { store } = service.app;
  const first = monthFrom(new Date(), 3);
  service.clock.advance((monthFrom(first, 3).getTime() - Date.now()) / 1000 + 3600);
  const shop = await service.merchant();
  for (let month = 0; month < 4; month += 1) await makeMonthsAhead(store, monthFrom(first, month));
  const day = (month: number) => monthFrom(first, month).toISOString();
  for (const [month, state] of ['delivered', 'pending', 'delivered'].entries())
    await store.transaction(async (tx) => {
      const finished = state === 'pending' ? 'null' : `'${day(month)}'`;
      await tx.sql`insert into deliveries (id, event_id, client_id, target, url, state, attempts, created_at, finished_at)
         select gen_random_uuid(), 'evt', 'shop', 'webhook', 'https://shop.example', '${sql.raw(state)}', 1, '${sql.raw(day(month))}', ${sql.raw(finished)}
           from generate_series(1, 50)`;
      await tx.sql`insert into channel_messages (order_no, pay_way, direction, call, at, last_at)
         select 'P' || n, 'alipay', 'out', 'query', '${sql.raw(day(month))}', ${sql.raw(month === 2 ? `'${day(3)}'` : 'null')} from generate_series(1, 50) n`;
    });
  const load = keepPaying(service, shop);
  const before = monthFrom(first, 3);
  const parts = await store.read((tx) => partsOf(tx, { name: 'transitions' }));
  const old = parts.filter(({ to }) => to !== null && to <= before);
  t.true(old.length >= 4, 'three months, and those that existed at the start');
  const dropped: string[] = [];
  const none = (): Removal => async () => 0;
  for (const { name } of MONTHLY) {
    const remove = removeMonthly({ table: name, days: 90, rows: none, dropped: (table) => dropped.push(table) });
    // A partition in constant use is left for the next run.
    await until(`the old parts of ${name} are gone`, async () => {
      await remove(store, before);
      const parts = await store.read((tx) => partsOf(tx, { name }));
      return parts.length <= (KEEPS_A_MONTH.has(name) ? 4 : 3);
    });
  }
  const then = load.orders();
  await until('orders were paid meanwhile', async () => load.orders() > then + 4);
  const orders = await load.end();
  t.true(orders > 0);
  const partNames = async (name: 'deliveries' | 'channel_messages' | 'transitions') =>
    (await store.read((tx) => partsOf(tx, { name }))).map((part) => part.name.slice(name.length + 1));
  const names = [0, 1, 2].map((month) => day(month).slice(0, 7).replace('-', '_'));
  const kept = [3, 4].map((month) => monthFrom(first, month).toISOString().slice(0, 7).replace('-', '_'));
  t.deepEqual(await partNames('deliveries'), [names[1], ...kept, 'rest']);
  t.deepEqual(await partNames('channel_messages'), [names[2], ...kept, 'rest']);
  t.deepEqual(await partNames('transitions'), [...kept, 'rest']);
  t.is(dropped.filter((name) => name === 'transitions').length, old.length);
  t.is(await countOf(store, `pg_class where relname like '%\\_gone'`), 0);
  const proven = await proveBooks(service.app);
  t.true(proven.ok, JSON.stringify(proven.proofs.filter(({ ok }) => !ok)));
});

test('the leftover of an interrupted drop is dropped next time, and tables detached by an operator stay', async (t) => {
  const { store } = await postgresDatabase(t);
  await store.autocommit((tx) => tx.sql`create table events_2020_01_gone (n int)`);
  await store.autocommit((tx) => tx.sql`create table events_2020_02 (n int)`);
  t.is(await dropOldParts(store, monthlyTable('events'), new Date('2021-01-01T00:00:00Z')), 0);
  t.is(await countOf(store, `pg_class where relname in ('events_2020_01_gone', 'events_2020_02')`), 1);
});

test('a role that does not own the tables gets a clear message, and rows go to the rest table and leave it one by one', async (t) => {
  const { url, store } = await postgresDatabase(t, 10, { direct: true });
  const role = `r_${Math.random().toString(36).slice(2)}`;
  const own = new URL(url);
  for (const text of [
    `create role ${role} login password 'secret'`,
    `grant usage on schema public to ${role}`,
    `grant select, insert, update, delete on all tables in schema public to ${role}`,
    `grant usage, select on all sequences in schema public to ${role}`,
  ])
    await store.autocommit((tx) => tx.sql`${sql.raw(text)}`);
  Object.assign(own, { username: role, password: 'secret' });
  const database = await openDatabase({ kind: 'postgres', url: own.href, poolSize: 2, timeouts: PATIENT });
  const narrow = createStore(database, () => {});
  const late = monthFrom(new Date(), 30);
  const { refused, months } = await keepMonths(database, late);
  t.regex(String(refused), /permission denied|must be owner/);
  t.deepEqual(months, []);
  const record = recordEvents(() => late);
  const event = { type: 'order.paid', clientId: 'a', project: 'p', dedupe: 'once', since: late, object: {} };
  await narrow.transaction((tx) => record(tx, { ...event, objectNo: 'P1' }));
  t.is(await countOf(store, 'events_rest'), 1);
  const remove = removeMonthly({ table: 'events', days: 400, rows: removeEvents, dropped: () => t.fail() });
  t.is(await remove(narrow, monthFrom(late, -1)), 0);
  t.is(await remove(narrow, monthFrom(late, 1)), 1);
  await database.close();
  await store.autocommit((tx) => tx.sql`drop owned by ${sql.raw(role)}`);
  await store.autocommit((tx) => tx.sql`drop role ${sql.raw(role)}`);
});

test('rows are deleted one by one from every month if whole months would keep rows too long', async (t) => {
  const { store } = await postgresDatabase(t);
  const month = monthFrom(new Date(), 14);
  await makeMonthsAhead(store, month);
  const event = { type: 'order.paid', clientId: 'a', project: 'p', dedupe: 'once', since: month, object: {} };
  const on = (day: number) => new Date(month.getTime() + day * 86_400_000);
  for (const day of [1, 10, 20])
    await store.transaction((tx) => recordEvents(() => on(day))(tx, { ...event, objectNo: `P${day}` }));
  const after = (days: number) => removeMonthly({ table: 'events', days, rows: removeEvents, dropped: () => {} });
  t.is(await after(90)(store, on(15)), 0, 'the month is not over');
  t.is(await after(7)(store, on(15)), 2);
  t.is(await countOf(store, 'events'), 1);
});

test('ledger checks ignore histories and events that retention removed', async (t) => {
  const service = await startService(t);
  const { store } = service.app;
  const shop = await service.merchant();
  await payOrder(service, shop, {});
  const refunded = await payOrder(service, shop, { payWay: 'wechat' });
  t.is((await shop.call('POST', '/api/v2/payment/refund', { orderNo: refunded, refundAmount: 1 })).status, 200);
  await until(
    'refunded',
    async () => (await store.read((tx) => tx.refunds.find({ orderNo: refunded })))?.state === 'succeeded',
  );
  t.true((await proveBooks(service.app)).ok);
  const later = monthFrom(new Date(), 4);
  service.clock.advance((later.getTime() - Date.now()) / 1000);
  await makeMonthsAhead(store, later);
  const young = await placeOrder(await service.merchant(), {});
  const none = () => async () => 0;
  for (const table of ['transitions', 'events'] as const)
    await removeMonthly({ table, days: 400, rows: none, dropped: () => {} })(store, later);
  t.is(await countOf(store, `transitions where order_no = '${refunded}'`), 0);
  const proven = await proveBooks(service.app);
  t.true(proven.ok, JSON.stringify(proven.proofs.filter(({ ok }) => !ok)));
  await store.transaction(
    (tx) => tx.sql`delete from transitions where order_no = '${sql.raw(young)}' and sequence = 1`,
  );
  t.false((await proveBooks(service.app)).ok, 'a young row is still reported as missing');
});
