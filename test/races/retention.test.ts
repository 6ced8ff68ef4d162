import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import {
  PART_ROWS,
  type Removal,
  removeDeliveries,
  removeEffects,
  removeMessages,
  removeNotifications,
  removeRefundLookups,
  removeUnpaidOrders,
} from '../../server/db/queries/retention.ts';
import { orderRow } from '../support/core-rows.ts';
import { type Watched, watched } from './watched.ts';

const ROWS = 10_000;
const NOW = new Date('2030-01-01T00:00:00Z');
/** The first 9,000 rows are older. */
const BEFORE = new Date('2029-12-01T00:00:00Z');
const AT = `timestamptz '2029-01-01 00:00:00Z' + case when n <= 9000 then n * interval '1 minute' else interval '350 days' end`;

interface Kind {
  table: string;
  remove: Removal;
  /** Every hundredth row is kept at any age. */
  kept: number;
  insert: string[];
}

const KINDS: readonly Kind[] = [
  {
    // These rows are in months without a table.
    table: 'channel_messages_rest',
    remove: removeMessages('channel_messages_rest'),
    kept: 90,
    insert: [
      `insert into channel_messages (order_no, pay_way, direction, call, at, times, last_at)
       select 'P' || n, 'alipay', 'out', 'query', ${AT}, 2, case when n % 100 = 0 then timestamptz '2029-12-31 00:00:00Z' end`,
    ],
  },
  {
    // These rows are in months without a table.
    table: 'notifications_rest',
    remove: removeNotifications('notifications_rest'),
    kept: 0,
    insert: [
      `insert into notifications (pay_way, account, notification_id, order_no, copies, received_at)
       select 'alipay', 'a', 'n' || n, 'P' || n, 1, ${AT}`,
    ],
  },
  {
    // These rows are in months without a table.
    table: 'deliveries_rest',
    remove: removeDeliveries('deliveries_rest'),
    kept: 90,
    insert: [
      `insert into deliveries (id, event_id, client_id, target, url, state, attempts, created_at, finished_at)
       select md5(n::text)::uuid, 'evt_' || n, 'shop', 'webhook', 'https://shop.example', case when n % 100 = 0 then 'pending' else 'delivered' end, 2,
              ${AT}, case when n % 100 > 0 then ${AT} end`,
      `insert into delivery_attempts (delivery_id, at, duration_ms) select md5(n::text)::uuid, ${AT}, 1`,
      `insert into delivery_attempts (delivery_id, at, duration_ms) select md5(n::text)::uuid, ${AT}, 1`,
    ],
  },
  {
    table: 'due_effects',
    remove: removeEffects,
    kept: 90,
    insert: [
      `insert into due_effects (id, order_no, project, sequence, place, name, run, refunded, refunding, state, tries, created_at, finished_at)
       select gen_random_uuid(), 'P' || n, 'default', 1, 1, 'paid', '{paid}', 0, 0,
              case when n % 100 = 0 then 'due' when n % 2 = 0 then 'given_up' else 'done' end, 1, ${AT}, case when n % 100 > 0 then ${AT} end`,
    ],
  },
  {
    table: 'refund_lookups',
    remove: removeRefundLookups,
    kept: 90,
    insert: [
      `insert into refund_lookups (id, order_no, number, state, checks, queue_key, created_at, finished_at)
       select gen_random_uuid(), 'P' || n, 'R', case when n % 100 = 0 then 'open' when n % 2 = 0 then 'given_up' else 'answered' end, 1,
              'alipay simulator 1', ${AT}, case when n % 100 > 0 then ${AT} end`,
    ],
  },
];

async function countOf({ store }: Watched, table: string): Promise<number> {
  const [row] = await store.read((tx) => tx.sql<{ n: number }>`select count(*)::int as n from ${sql.raw(table)}`);
  return Number(row?.n);
}

function bounded(t: ExecutionContext, taken: readonly number[], all: number): void {
  t.is(
    taken.reduce((sum, n) => sum + n, 0),
    all,
  );
  t.true(Math.max(...taken) <= PART_ROWS, `${Math.max(...taken)} rows in one statement`);
}

for (const { table, remove, kept, insert } of KINDS)
  test.serial(
    `old rows of ${table} are deleted in bounded batches by two concurrent replicas; young and due rows stay`,
    async (t) => {
      const on = await watched(t, table, 'delivery_attempts');
      const { store } = on;
      for (const statement of insert)
        await store.transaction((tx) => tx.sql`${sql.raw(statement)} from generate_series(1, ${sql.lit(ROWS)}) n`);
      const first = await remove(store, BEFORE, () => false);
      t.true(first > 0 && first <= PART_ROWS, 'a stopping replica runs only one batch');
      const [one, other] = await Promise.all([remove(store, BEFORE), remove(store, BEFORE)]);
      // The rows that the other replica held are left for the next hour.
      const rest = await remove(store, BEFORE);
      t.is(first + one + other + rest, 9000 - kept);
      bounded(t, await on.taken(table), 9000 - kept);
      t.is(await countOf(on, table), 1000 + kept);
      t.is(await remove(store, BEFORE), 0);
      if (table !== 'deliveries_rest') return;
      bounded(t, await on.taken('delivery_attempts'), 2 * (9000 - kept));
      t.is(await countOf(on, 'delivery_attempts'), 2 * (1000 + kept));
    },
  );

const UNPAID = 2_000;

test.serial(
  'unpaid orders are deleted in bounded batches with all dependent rows by two concurrent replicas, and stay counted',
  async (t) => {
    const tables = [
      'orders',
      'transitions',
      'events',
      'deliveries',
      'delivery_attempts',
      'channel_messages',
      'order_exceptions',
    ];
    const on = await watched(t, ...tables);
    const { store } = on;
    const old = new Date('2029-06-01T00:00:00Z');
    for (let n = 1; n <= UNPAID; n += 1) {
      const state = n % 10 === 0 ? 'failed' : 'closed';
      const createdAt = new Date(old.getTime() + n * 60_000);
      const order = orderRow({
        orderNo: `P${n}`,
        merchantOrderNo: null,
        state,
        createdAt,
        closedAt: createdAt,
        nextCheckAt: null,
      });
      await store.transaction((tx) => tx.orders.insert(order));
    }
    const series = `from generate_series(1, ${UNPAID}) n`;
    for (const insert of [
      `insert into transitions (order_no, sequence, to_state, rule, cause, actor, at) select 'P' || n, s, 'closed', 'close_confirmed', 'check', 'service', now() ${series}, generate_series(1, 4) s`,
      `insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at) select 'evt_' || n, 'order.closed', 'app_1', 'default', 'P' || n, 'once', '{}', now() ${series}`,
      `insert into deliveries (id, event_id, client_id, target, url, state, attempts, created_at, finished_at) select md5(n::text)::uuid, 'evt_' || n, 'app_1', 'webhook', 'https://shop.example', 'failed', 1, now(), now() ${series}`,
      `insert into delivery_attempts (delivery_id, at, duration_ms) select md5(n::text)::uuid, now(), 1 ${series}`,
      `insert into channel_messages (order_no, pay_way, direction, call, at) select 'P' || n, 'wechat', 'out', 'query', now() ${series}`,
      `insert into order_exceptions (id, order_no, client_id, project, kind, dedupe, blocks_refunds, state, created_at) select md5(n::text)::uuid, 'P' || n, 'app_1', 'default', 'order_overdue', 'once', false, 'resolved', now() ${series}`,
    ])
      await store.transaction((tx) => tx.sql`${sql.raw(insert)}`);
    const first = await removeUnpaidOrders(store, NOW, () => false);
    t.is(first, 100, 'a stopping replica runs only one batch');
    const [one, other] = await Promise.all([removeUnpaidOrders(store, NOW), removeUnpaidOrders(store, NOW)]);
    t.is(first + one + other + (await removeUnpaidOrders(store, NOW)), UNPAID);
    for (const [table, times] of [
      ['transitions', 4],
      ...tables.filter((name) => name !== 'transitions').map((name) => [name, 1]),
    ] as const) {
      t.is(await countOf(on, String(table)), 0, String(table));
      bounded(t, await on.taken(String(table)), UNPAID * Number(times));
    }
    const counted = await store.read((tx) => tx.removedOrders.list({}));
    t.is(
      counted.reduce((sum, { count }) => sum + count, 0),
      UNPAID,
    );
    t.is(
      counted.filter(({ state }) => state === 'failed').reduce((sum, { count }) => sum + count, 0),
      UNPAID / 10,
    );
  },
);

test.serial('an order that ever received money or has open work stays', async (t) => {
  const on = await watched(t, 'orders');
  const { store } = on;
  const createdAt = new Date('2029-06-01T00:00:00Z');
  const ended = { state: 'closed', merchantOrderNo: null, createdAt, closedAt: createdAt, nextCheckAt: null } as const;
  const young = new Date('2029-12-31T00:00:00Z');
  await store.transaction(async (tx) => {
    const order = (orderNo: string, change: Parameters<typeof orderRow>[0] = {}) =>
      tx.orders.insert(orderRow({ ...ended, orderNo, ...change }));
    await order('GOES');
    await order('PENDING', { state: 'pending', closedAt: null });
    await order('PAID', { state: 'paid', paid: 1000n, channelTradeNo: 'T1' });
    await order('REFUNDED', { paid: 1000n, refunded: 1000n, channelTradeNo: 'T2' });
    await order('PARTLY', { paid: 1000n, refunded: 400n, channelTradeNo: 'T3' });
    await order('YOUNG', { createdAt: young, closedAt: young });
    await order('CLOSED-LATELY', { closedAt: young });
    await order('LATE-CHECK', { nextCheckAt: young });
    await order('EFFECT', { effectsDue: true });
    await order('STOCK', { stockHeld: true });
    for (const name of ['SURPLUS', 'RECEIVED', 'LISTED', 'COINS', 'ASKED', 'TELLING', 'CONTENT']) await order(name);
    for (const insert of [
      `insert into refunds (refund_no, order_no, client_id, project, origin, amount, currency, state, accepted, surplus, elsewhere, actor, tries, absent_count, checks, queue_key, created_at)
       values ('R1', 'SURPLUS', 'a', 'default', 'surplus', 1, 'CNY', 'succeeded', true, true, false, 's', 1, 0, 0, 'alipay simulator 1', now())`,
      `insert into order_exceptions (id, order_no, client_id, project, kind, dedupe, received_minor, blocks_refunds, state, created_at)
       values (gen_random_uuid(), 'RECEIVED', 'a', 'default', 'amount_mismatch', 'x', 5, false, 'resolved', now()),
              (gen_random_uuid(), 'LISTED', 'a', 'default', 'order_overdue', 'x', null, false, 'open', now())`,
      `insert into coin_entries (project, coin, user_id, delta, balance_after, kind, source, order_no, actor, created_at)
       values ('default', 'gold', 'u', 1, 1, 'credit', 's', 'COINS', 'a', now())`,
      `insert into refund_lookups (id, order_no, number, state, checks, queue_key, created_at) values (gen_random_uuid(), 'ASKED', 'R', 'open', 0, 'alipay simulator 1', now())`,
      `insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at) values ('evt_t', 'order.closed', 'a', 'default', 'TELLING', 'once', '{}', now())`,
      `insert into deliveries (id, event_id, client_id, target, url, state, attempts, created_at) values (gen_random_uuid(), 'evt_t', 'a', 'webhook', 'https://shop.example', 'pending', 1, now())`,
      `insert into skill_orders (order_no, client_id, project, resource, product_version, body_digest, handler, refund_after_fulfilment, fulfilment, fencing, attempts, entries, queue_key, offered_at)
       values ('CONTENT', 'a', 'default', 'weather', 1, 'd', '{}', true, 'done', 1, 1, '[]', 'alipay simulator 1', now())`,
    ])
      await tx.sql`${sql.raw(insert)}`;
  });
  const orders = async () => (await store.read((tx) => tx.orders.list({}))).map(({ orderNo }) => orderNo).toSorted();
  const all = await orders();
  t.is(await removeUnpaidOrders(store, BEFORE), 1);
  t.deepEqual(
    await orders(),
    all.filter((orderNo) => orderNo !== 'GOES'),
  );
});

test.serial('an order whose row is locked is left for the next run', async (t) => {
  const { store } = await watched(t, 'orders');
  const createdAt = new Date('2029-06-01T00:00:00Z');
  const ended = { state: 'closed', merchantOrderNo: null, createdAt, closedAt: createdAt, nextCheckAt: null } as const;
  await store.transaction((tx) => tx.orders.insert(orderRow({ ...ended, orderNo: 'HELD' })));
  await store.transaction(async (tx) => {
    await tx.orders.lock({ orderNo: 'HELD' });
    t.is(await removeUnpaidOrders(store, BEFORE), 0);
    // The payment arrives now.
    await tx.orders.update({ orderNo: 'HELD' }, { paid: 1000n, state: 'paid', channelTradeNo: 'T1' });
  });
  t.is(await removeUnpaidOrders(store, BEFORE), 0);
  t.is(await store.read((tx) => tx.orders.count({})), 1);
});
