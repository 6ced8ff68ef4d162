import type { ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase } from '../../server/db/orm.ts';
import {
  type DueRows,
  dueCoinCalls,
  dueDeliveries,
  dueOrders,
  lookForDue,
  planTask,
  takeTask,
} from '../../server/db/queries/due.ts';
import { createStore, type Store } from '../../server/db/store.ts';
import { orderRow } from './core-rows.ts';
import { PATIENT } from './database.ts';
import { createScheduler, type Scheduler, type SchedulerParts } from '../../server/jobs/scheduler.ts';

/** A kind of rows that can be made due and finished. */
interface DueSample {
  name: string;
  rows: DueRows;
  insert(store: Store, n: number): Promise<string[]>;
  finish(store: Store, id: string): Promise<unknown>;
}

/** One kind with a lease column, and one whose claim postpones the next attempt. */
export const SAMPLES: readonly DueSample[] = [
  { name: 'delivery', rows: dueDeliveries(), insert: insertDeliveries, finish: finishDelivery },
  {
    name: 'coin-call',
    rows: dueCoinCalls(),
    async insert(store, n) {
      const ids = Array.from({ length: n }, () => `X${crypto.randomUUID().slice(0, 13)}`);
      const nextAttemptAt = new Date(Date.now() - 60_000);
      await store.transaction((tx) =>
        tx.coinCalls.insertMany(ids.map((orderNo) => ({ ...coinCall, orderNo, nextAttemptAt }))),
      );
      return ids;
    },
    finish: (store, orderNo) => store.transaction((tx) => tx.coinCalls.update({ orderNo }, { nextAttemptAt: null })),
  },
];

/** A call paid with coins, with the columns that the table requires. */
export const coinCall = {
  clientId: 'app_a',
  project: 'default',
  userId: 'u',
  resource: 'r',
  productVersion: 1,
  subject: 's',
  bodyDigest: '',
  handler: {} as never,
  coin: 'gold',
  amount: 1n,
  refundAfterFulfilment: false,
  fulfilment: 'none',
  fencing: 0,
  attempts: 0,
  createdAt: new Date(0),
} as const;

/** Inserts due orders, alternating between accounts of a channel; returns their numbers. */
export async function insertDueOrders(
  store: Store,
  n: number,
  payWay: 'alipay' | 'wechat' | 'paypal',
  accounts: readonly string[],
): Promise<string[]> {
  const nextCheckAt = new Date(Date.now() - 60_000);
  const none = { merchantOrderNo: null, channelTradeNo: null, leasedUntil: null };
  const rows = Array.from({ length: n }, (_, at) => {
    const account = accounts[at % accounts.length]!;
    return orderRow({ orderNo: `P-${payWay}-${account}-${at}`, payWay, account, ...none, nextCheckAt });
  });
  await store.transaction((tx) => tx.orders.insertMany(rows));
  return rows.map(({ orderNo }) => orderNo);
}

/** The due rows of orders and how they are finished. */
export const ORDERS = {
  rows: dueOrders(true),
  finish: (store: Store, orderNo: string) =>
    store.transaction((tx) => tx.orders.update({ orderNo }, { nextCheckAt: null, leasedUntil: null })),
};

/** The store of another replica, with its own connections. */
export async function replicaStore(t: ExecutionContext, url: string): Promise<Store> {
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 4, timeouts: PATIENT });
  t.teardown(() => database.close());
  return createStore(database, () => {});
}

/** Inserts deliveries that are due now, alternating between apps; returns their ids. */
export async function insertDeliveries(
  store: Store,
  n: number,
  apps: readonly string[] = ['app_a'],
  url = 'https://shop.example/',
): Promise<string[]> {
  const rows = await store.transaction(
    (tx) =>
      tx.sql<{
        id: string;
      }>`insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
       select gen_random_uuid(), 'evt_' || n, (array[${sql.raw(apps.map((app) => `'${app}'`).join(', '))}])[n % ${sql.lit(apps.length)} + 1],
              'webhook', ${url}, 'pending', 0, now() - interval '1 minute', now()
         from generate_series(1, ${n}) n returning id`,
  );
  return rows.map(({ id }) => id);
}

/** Marks a delivery as done. */
export async function finishDelivery(store: Store, id: string): Promise<void> {
  await store.transaction((tx) => tx.deliveries.update({ id }, { state: 'delivered', nextAttemptAt: null }));
}

/** A scheduler of one replica for the deliveries in a database; stopped when the test ends. */
export function deliveryScheduler(
  t: ExecutionContext,
  store: Store,
  run: (id: string) => Promise<unknown>,
  more: Partial<SchedulerParts> = {},
): Scheduler {
  const scheduler = createScheduler({
    store,
    now: () => new Date(),
    log: () => {},
    lookForDue,
    takeTask,
    planTask,
    kinds: [
      { name: 'delivery', wokenBy: 'deliver-event', rows: dueDeliveries(), run, concurrency: 16, queueConcurrency: 8 },
    ],
    tasks: [],
    lookMs: 20,
    ...more,
  });
  t.teardown(() => scheduler.stop(10_000));
  return scheduler;
}
