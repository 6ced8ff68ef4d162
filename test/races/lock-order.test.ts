import test, { type ExecutionContext } from 'ava';
import { unbalancedAccounts } from '../../server/db/queries/catalog.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { bareWebhook, deliverEvent } from '../../server/events/deliver.ts';
import type { EventPorts } from '../../server/events/ports.ts';
import { recordEvents } from '../../server/events/record.ts';
import type { Notification } from '../../server/payments/channel.ts';
import { closePayment } from '../../server/payments/orders/order.ts';
import { receiveNotification } from '../../server/payments/notifications/receive.ts';
import { paymentOperations } from '../../server/payments/operations.ts';
import { operatorRepairs } from '../../server/payments/exceptions/operator.ts';
import { refundPayment } from '../../server/payments/refunds/refund.ts';
import { settleDispute } from '../../server/payments/disputes/sync.ts';
import { lockOrder, settleRefund } from '../../server/payments/settle.ts';
import { type CatalogWorld, catalogWorld, operator, plainProduct } from '../support/catalog-world.ts';
import { count, inParallel, isLong } from '../support/counts.ts';
import { PATIENT, postgresDatabase } from '../support/database.ts';
import { until } from '../support/service.ts';
import type { Store, Tx } from '../../server/db/store.ts';

/** A store whose transactions pause between statements so that other transactions interleave; records PostgreSQL's refusals. */
interface JitteryStore extends Store {
  /** SQLSTATE of every statement that failed. */
  readonly failures: string[];
}

function isBuilder(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'compile' in value;
}

/** Follows every statement of a transaction with a pause of up to `ms`. */
function withJitter(store: Store, ms: number): JitteryStore {
  const failures: string[] = [];
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * ms));
  const note = (error: unknown): never => {
    for (let one = error; one instanceof Error; one = one.cause)
      if ('code' in one && /^[0-9A-Z]{5}$/.test(String(one.code))) failures.push(String(one.code));
    throw error;
  };
  const jittery = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member === 'object' && member !== null) return jittery(member);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) => {
          const [first] = given;
          if (name === 'savepoint')
            return (target as unknown as Tx).savepoint((part) =>
              (first as (tx: Tx) => Promise<unknown>)(jittery(part)),
            );
          const result: unknown = Reflect.apply(member, target, given);
          if (result instanceof Promise) return result.catch(note).finally(pause);
          return isBuilder(result) ? jittery(result) : result;
        };
      },
    });
  return {
    failures,
    read: (work) => store.read(work),
    autocommit: (work) => store.autocommit(work),
    transaction: (work) => store.transaction((tx) => work(jittery(tx))),
  };
}

const tea = { project: 'default', code: 'tea' };
const gold = { project: 'default', code: 'gold' };
const STOCK = 100_000;
/** Limits so high that everything is counted and nothing refused. */
const ROOMY = { CNY: { perDay: '9999999999', perMonth: '9999999999', refundPerDay: '9999999999' } };
const requester = { owner: { clientId: 'shop' }, actor: 'app:shop' };
const via = { cause: 'test', actor: 'test' };

/** The rows that all operations of one round share. */
interface Scene {
  world: CatalogWorld;
  number: string;
  /** An open order of a counted product. */
  live: string;
  /** A paid coin package, and an unpaid one. */
  sold: string;
  unpaid: string;
  /** A refund of the sold package that is in progress at the channel. */
  refundNo: string;
  /** An open exception about the sold package. */
  exceptionId: string;
}

type Operation = (scene: Scene, turn: number) => Promise<unknown>;

const OPERATIONS: Record<string, Operation> = {
  'pay with the product': ({ world }, turn) => world.place({ product: 'tea', userId: `payer-${turn}` }),
  'pay of the same merchantOrderNo': ({ world, number }) =>
    world.place({ product: 'tea', userId: 'ann', merchantOrderNo: number }),
  close: ({ world, live }) => closePayment(world.ports)(requester, live),
  expire: ({ world, live }) => world.say(live, { kind: 'closed' }),
  'notice paid': ({ world, live }) => notify(world, live),
  'paid package': ({ world, unpaid }) => notify(world, unpaid),
  'refund of a package': ({ world, sold }) => world.refund(sold, 1),
  'refund done': ({ world, refundNo }) => world.finish(refundNo, 'succeeded'),
  'refund failed': ({ world, refundNo }) => world.finish(refundNo, 'failed'),
  'refund taken back': ({ world, refundNo }) =>
    world.hear(refundNo, { kind: 'abnormal', code: 'RETURNED', reason: 'returned' }),
  'an answer that may be old': ({ world, refundNo }) =>
    settleRefund(world.ports, refundNo, { outcome: { kind: 'abnormal', code: 'RETURNED', reason: 'returned' } }, via),
  'spend coins': ({ world }, turn) =>
    world.catalog.coins.debit('shop', gold, {
      userId: 'ann',
      amount: 1,
      bizNo: `b${(bizNo += 1)}-${turn}`,
      memo: null,
    }),
  'spend the same bizNo': ({ world, number }) =>
    world.catalog.coins.debit('shop', gold, { userId: 'ann', amount: 1, bizNo: number, memo: null }),
  'adjust coins': ({ world }) => world.catalog.coins.adjust(operator, gold, { userId: 'ann', amount: 1, reason: 'x' }),
  'product update': ({ world }, turn) => world.catalog.products.update(operator, tea, { price: 10 + (turn % 2) }),
  'coin update': ({ world }, turn) => world.catalog.coins.update(operator, gold, { name: `Gold ${turn}` }),
  'dispute lost': ({ world, sold }, turn) =>
    world.store.transaction(async (tx) => {
      const order = await lockOrder(tx, sold, 'any');
      const amount = { minor: 1n, currency: order.currency };
      const lost = { amount, at: world.ports.now(), booked: true };
      const named = { channelDisputeNo: `D${sold}${turn}`, tradeNos: [], orderNo: sold, reason: 'OTHER', dueAt: null };
      const said = { ...named, amount, state: 'lost', openedAt: world.ports.now(), lost } as const;
      await settleDispute(world.ports, tx, order, said, via);
    }),
  'approve a refund': async ({ world, sold }) => {
    const { refund } = await waiting(world, sold, 2);
    await paymentOperations(world.ports).approve(ann, refund.refundNo);
  },
  'reject a refund': async ({ world, sold }) => {
    const { refund } = await waiting(world, sold, 3);
    await paymentOperations(world.ports).reject(ann, refund.refundNo, 'no');
  },
  'exception ended': ({ world, exceptionId }) =>
    operatorRepairs(world.ports).resolveException(requester, exceptionId, 'acknowledge', 'seen'),
};
let bizNo = 0;

const ann = { owner: 'any' as const, actor: 'admin:ann' };

/** A refund that waits for approval; a repeated amount gets its own number. */
function waiting({ ports }: CatalogWorld, orderNo: string, refundAmount: number) {
  const merchantRefundNo = `w${(bizNo += 1)}`;
  return refundPayment({ ...ports, refundAbove: 1 })(requester, { orderNo, refundAmount, merchantRefundNo });
}

test.serial('a second pay waits for the end of the first order, returns its stock, and never deadlocks', async (t) => {
  const world = await catalogWorld(t);
  await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 2 });
  const request = { product: 'tea', userId: 'ann', merchantOrderNo: 'm-1' };
  const first = await world.place(request);
  const { ended } = world.ports.effects;
  const gate = Promise.withResolvers<void>();
  world.ports.effects.ended = async (tx, order) => {
    await gate.promise;
    return ended(tx, order);
  };
  const end = world.say(first.orderNo, { kind: 'closed' });
  const second = world.place(request);
  await until('the second pay waits for a lock', () => isWaiting(world));
  gate.resolve();
  t.is((await end).state, 'closed');
  t.not((await second).orderNo, first.orderNo);
  t.is((await world.catalog.products.get(tea)).stock, 1);
  t.deepEqual(await world.store.read((tx) => tx.exceptions.list({})), []);
  t.is(await deadlocksOf(world), 0);
});

test.serial('every concurrent pair of operations avoids deadlocks, and stock and coins balance', async (t) => {
  let store: JitteryStore | undefined;
  const world = await catalogWorld(t, 10, (inner) => (store = withJitter(inner, 4)), ROOMY);
  await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: STOCK, perUserLimit: STOCK });
  await world.soldPackage('debt');
  hearNotifications(world);
  const names = Object.keys(OPERATIONS);
  const found: Record<string, number> = {};
  const pairs: [one: string, other: string, round: number][] = [];
  for (let round = 0; round < count(5, 1); round++)
    for (const [at, one] of names.entries())
      for (const [beside, other] of names.slice(at).entries())
        // A short run takes a fifth of the pairs, in which each operation meets four.
        if (isLong || (2 * at + beside) % 5 === 0) pairs.push([one, other, round]);
  // Two pairs at a time, to increase contention.
  await inParallel(pairs.length, 2, async (n) => {
    const [one, other, round] = pairs[n]!;
    const scene = await sceneOf(world, `${one}:${other}:${round}`);
    const both = [one, other, one, other].map((name, turn) => attempt(OPERATIONS[name]!(scene, turn)));
    for (const word of await Promise.all(both)) found[word] = (found[word] ?? 0) + 1;
  });
  t.deepEqual(store?.failures, [], 'PostgreSQL refused nothing');
  await balanced(t, world);
  t.is(await deadlocksOf(world), 0);
  t.true((found['ok'] ?? 0) > pairs.length);
  t.log(`${pairs.length} pairs`, found);
});

test.serial(
  'a refund that settles while notifications report it never deadlocks: every path locks the order first',
  async (t) => {
    let store: JitteryStore | undefined;
    const world = await catalogWorld(t, 10, (inner) => (store = withJitter(inner, 4)));
    await world.soldPackage('debt');
    hearNotifications(world);
    const rounds = count(100, 10);
    for (let round = 0; round < rounds; round++) {
      const { orderNo } = await world.pay(await world.place({ product: 'coins-100', userId: 'ann' }));
      const refundNo = await world.refund(orderNo, 1);
      const tell = (number: number) => notifyOfRefund(world, orderNo, refundNo, `${round}-${number}`);
      const settle = () => world.finish(refundNo, 'succeeded');
      await Promise.all([settle(), tell(1), settle(), tell(2), settle(), tell(3)]);
      t.is((await world.store.read((tx) => tx.orders.find({ orderNo })))?.refunding, 0n);
    }
    t.deepEqual(store?.failures, [], 'PostgreSQL refused nothing');
    t.is(await deadlocksOf(world), 0);
  },
);

async function sceneOf(world: CatalogWorld, name: string): Promise<Scene> {
  const number = name.replaceAll(/\W+/g, '-').slice(0, 60);
  const { orderNo: live } = await world.place({ product: 'tea', userId: 'ann', merchantOrderNo: number });
  const { orderNo: sold } = await world.pay(await world.place({ product: 'coins-100', userId: 'ann' }));
  const { orderNo: unpaid } = await world.place({ product: 'coins-100', userId: 'ann' });
  const refundNo = await world.refund(sold, 1);
  await notify(world, sold, `again-${sold}`);
  const listed = await world.store.read((tx) => tx.exceptions.find({ orderNo: sold, kind: 'double_paid' }));
  return { world, number, live, sold, unpaid, refundNo, exceptionId: listed!.id };
}

async function attempt(done: Promise<unknown>): Promise<string> {
  try {
    await done;
    return 'ok';
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code);
    throw error;
  }
}

/** The test supplies the channel's messages. */
function hearNotifications({ ports }: CatalogWorld): void {
  const { forNew } = ports.channels;
  ports.channels.forNotifications = async (project, payWay) => {
    const { channel, mode, account, configVersion } = await forNew(project, payWay);
    const readNotification = async (_: unknown, body: Buffer): Promise<Notification> => {
      const { orderNo, channelNo, minor, notificationId, refundNo = null } = JSON.parse(body.toString());
      const amount = { minor: BigInt(minor), currency: 'CNY' };
      const at = new Date();
      return {
        notificationId,
        orderNo,
        refundNo,
        channelOrderId: null,
        account,
        event: refundNo === null ? 'paid' : 'refund',
        ...(refundNo === null
          ? { outcome: { kind: 'paid', channelNo, amount, at } }
          : { refund: { kind: 'succeeded', amount, at } }),
      } as unknown as Notification;
    };
    const versions = new Set([configVersion]);
    return [{ channel: { ...channel, readNotification }, mode, account, versions, payeeVersions: versions }];
  };
}

async function notify(world: CatalogWorld, orderNo: string, channelNo = `T${orderNo}`): Promise<void> {
  const order = await world.store.read((tx) => tx.orders.find({ orderNo }));
  const body = JSON.stringify({ orderNo, channelNo, minor: String(order!.amount), notificationId: `n-${channelNo}` });
  await receiveNotification(world.ports)('alipay', 'default', {}, Buffer.from(body), '127.0.0.1');
}

async function notifyOfRefund(world: CatalogWorld, orderNo: string, refundNo: string, notificationId: string) {
  const refund = await world.store.read((tx) => tx.refunds.find({ refundNo }));
  const body = JSON.stringify({ orderNo, refundNo, minor: String(refund!.amount), notificationId });
  await receiveNotification(world.ports)('alipay', 'default', {}, Buffer.from(body), '127.0.0.1');
}

async function balanced(t: ExecutionContext, world: CatalogWorld): Promise<void> {
  const held = await world.store.read((tx) => tx.orders.count({ productCode: 'tea', stockHeld: true }));
  t.is((await world.catalog.products.get(tea)).stock, STOCK - held, 'every piece is in stock or with an order');
  const ended = await world.store.read((tx) => tx.orders.list({ stockHeld: true, state: ['closed', 'failed'] }));
  t.deepEqual(ended, [], 'no ended order holds stock');
  t.deepEqual(await world.store.read(unbalancedAccounts), []);
  const paid = await world.store.read((tx) => tx.orders.list({ productCode: 'coins-100', state: 'paid' }));
  for (const { orderNo } of paid)
    t.is(await world.store.read((tx) => tx.coinEntries.count({ source: `order:${orderNo}` })), 1, 'credited once');
  t.is(await world.store.read((tx) => tx.exceptions.count({ kind: 'effect_failed' })), 0);
  const live = await world.store.read((tx) => tx.orders.list({ state: ['created', 'pending', 'closing', 'paid'] }));
  const days = await world.store.read((tx) => tx.limitUses.list({ span: 'day' }));
  const sum = (amounts: bigint[]) => amounts.reduce((one, other) => one + other, 0n);
  t.is(
    sum(days.map(({ used }) => used)),
    sum(live.map(({ amount }) => amount)),
    'limits count orders that did not end unpaid',
  );
}

async function isWaiting({ store }: CatalogWorld): Promise<boolean> {
  const [row] = await store.read(
    (tx) =>
      tx.sql<{
        waits: boolean;
      }>`select exists (select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waits`,
  );
  return row?.waits === true;
}

/** PostgreSQL's own deadlock count; a connection reports its count when it ends. */
async function deadlocksOf({ database, url }: Pick<CatalogWorld, 'database' | 'url'>): Promise<number> {
  await database.close();
  const again = await openDatabase({ kind: 'postgres', url, poolSize: 1, timeouts: PATIENT });
  try {
    const [row] = (await again.em
      .fork()
      .execute('select deadlocks from pg_stat_database where datname = current_database()')) as { deadlocks: string }[];
    return Number(row?.deadlocks);
  } finally {
    await again.close();
  }
}

test.serial('a receiver that is gone ends all deliveries of its application at once without a deadlock', async (t) => {
  const { store: inner, database, url } = await postgresDatabase(t);
  const store = withJitter(inner, 4);
  const now = () => new Date();
  const encryption = { encrypt: (_: unknown, text: string) => text, open: (_: unknown, text: string) => text };
  const record = recordEvents(now);
  const ports = { store, now, encryption, log: () => {}, checkpoint: () => {}, audit: async () => {}, tried: () => {} };
  const send = async () => ({ status: 410 });
  const deliver = deliverEvent({ ...ports, send } as unknown as EventPorts);
  const clients = Array.from({ length: 5 }, (_, at) => `app_${at}`);
  for (const clientId of clients)
    await inner.transaction(async (tx) => {
      await tx.webhooks.insert({
        ...bareWebhook(encryption, clientId, 'whsec_c2VjcmV0', now()),
        enabled: true,
        url: 'https://a.example/',
      });
      for (let n = 0; n < 8; n++)
        await record(tx, {
          type: 'order.paid',
          clientId,
          project: 'default',
          objectNo: `${clientId}-${n}`,
          dedupe: 'once',
          since: new Date(),
          object: {},
        });
    });
  for (const clientId of clients) {
    const due = await store.read((tx) => tx.deliveries.list({ clientId }));
    t.is(due.length, 8);
    await Promise.all(due.map(({ id }) => deliver(id)));
    t.is(await store.read((tx) => tx.deliveries.count({ clientId, state: 'pending' })), 0);
    t.false((await store.read((tx) => tx.webhooks.find({ clientId })))?.enabled);
  }
  t.deepEqual(store.failures, []);
  t.is(await deadlocksOf({ database, url }), 0);
});
