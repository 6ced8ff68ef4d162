import type { ExecutionContext } from 'ava';
import { openDatabase } from '../../server/db/orm.ts';
import { type DueRows, dueCoinCalls, dueDeliveries, dueOrders } from '../../server/db/queries/due.ts';
import { createStore, type Store } from '../../server/db/store.ts';
import { orderRow } from './core-rows.ts';
import { PATIENT } from './database.ts';
import { finishDelivery, insertDeliveries } from './due-deliveries.ts';

/** A kind of rows that can be made due, and be done with. */
export interface DueSample {
  name: string;
  rows: DueRows;
  insert(store: Store, n: number): Promise<string[]>;
  finish(store: Store, id: string): Promise<unknown>;
}

/** One whose lease is a column of its own, and one whose claim puts the attempt off. */
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

/** A call that coins paid, as far as the table demands one. */
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

/** The due orders of accounts of a channel, in turns; gives their numbers. */
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

/** What the jobs do about orders that are over. */
export const ORDERS = {
  rows: dueOrders(true),
  finish: (store: Store, orderNo: string) =>
    store.transaction((tx) => tx.orders.update({ orderNo }, { nextCheckAt: null, leasedUntil: null })),
};

/** The store of another replica, with connections of its own. */
export async function replicaStore(t: ExecutionContext, url: string): Promise<Store> {
  const database = await openDatabase({ kind: 'postgres', url, poolSize: 4, timeouts: PATIENT });
  t.teardown(() => database.close());
  return createStore(database, () => {});
}
