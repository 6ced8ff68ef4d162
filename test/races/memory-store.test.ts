import test from 'ava';
import type { TransitionRow, OrderExceptionRow, OrderRow } from '../../server/db/entities/orders.ts';
import type { RefundRow } from '../../server/db/entities/refunds.ts';
import type { Store, Tx } from '../../server/db/store.ts';
import { type Chance, createChance } from '../prove/chance.ts';
import { indexedStore } from '../prove/memory/indexed-store.ts';
import { memoryStore } from '../prove/memory/memory-store.ts';
import { EMPTY } from '../prove/memory/tables.ts';
import { at, orderRow, refundRow } from '../support/core-rows.ts';
import { count } from '../support/counts.ts';
import { postgresDatabase } from '../support/database.ts';

const STATES = ['created', 'pending', 'closing', 'closed', 'failed', 'paid'] as const;
const few = (letter: string) => [1, 2, 3, 4].map((one) => `${letter}-${one}`);

/** A statement of a transaction, with its result. */
type Statement = (tx: Tx) => Promise<unknown>;

class Stop extends Error {}

function someOrder(chance: Chance): OrderRow {
  return orderRow({
    orderNo: chance.pick(few('P')),
    merchantOrderNo: chance.pick([null, ...few('m')]),
    channelTradeNo: chance.pick([null, null, ...few('T')]),
    state: chance.pick(STATES),
    paid: chance.pick([0n, 1000n]),
    refunded: chance.pick([0n, 0n, 400n]),
    credential: chance.pick([null, { type: 'qr', qrCode: 'weixin://x' }]),
  });
}

/** Every transition row has the same number, so the second one is refused. */
function someMove({ orderNo, state }: OrderRow): Omit<TransitionRow, 'id'> {
  const line = { orderNo, refundNo: null, sequence: 1, fromState: null, toState: state, requestId: null };
  return { ...line, rule: 'placed', cause: 'place', outcome: { kind: 'pending', n: 1 }, actor: 'a', at: at(3) };
}

function someRefund(chance: Chance): RefundRow {
  const merchantRefundNo = chance.pick([null, ...few('r')]);
  return refundRow({ refundNo: chance.pick(few('R')), orderNo: chance.pick(few('P')), merchantRefundNo });
}

function someException(chance: Chance): OrderExceptionRow {
  return {
    id: `00000000-0000-4000-8000-00000000000${chance.whole(1, 6)}`,
    orderNo: chance.pick(few('P')),
    refundNo: null,
    clientId: 'app_1',
    project: 'default',
    kind: chance.pick(['late_paid', 'refund_unexplained'] as const),
    dedupe: chance.pick(few('d')),
    detail: { notifications: 1, number: 'x' },
    receivedMinor: null,
    receivedCurrency: null,
    blocksRefunds: chance.happens(0.5),
    state: chance.pick(['open', 'resolved'] as const),
    resolution: null,
    reason: null,
    resolvedBy: null,
    createdAt: at(-10),
    resolvedAt: null,
  };
}

/** A random statement of those that payments use, with few values, so that rows collide. */
function someStatement(chance: Chance): Statement {
  const orderNo = chance.pick(few('P'));
  const states = STATES.filter(() => chance.happens(0.5));
  const merchantOrderNo = chance.pick([null, ...few('m')]);
  const [order, refund, exception] = [someOrder(chance), someRefund(chance), someException(chance)];
  const { state, channelTradeNo, paid, refunded, credential } = order;
  return chance.pick<Statement>([
    (tx) => tx.orders.insertIfNew(order),
    (tx) => tx.orders.insertIfNew(order, { table: 'transitions', row: someMove(order) }),
    (tx) =>
      tx.orders.update({ orderNo }, { paid, refunded }, { table: 'transitions', row: someMove({ ...order, orderNo }) }),
    (tx) => tx.orders.insert(order),
    (tx) => tx.orders.update({ orderNo }, { state, channelTradeNo }),
    (tx) => tx.orders.update({ orderNo }, { paid, refunded, credential, nextCheckAt: null }),
    (tx) => tx.orders.update({ merchantOrderNo, state: states }, { checkedAt: at(5) }),
    (tx) => tx.orders.lock({ orderNo }),
    (tx) => tx.orders.find({ orderNo, merchantOrderNo }),
    (tx) => tx.orders.list({ state: states }, { orderBy: { orderNo: 'desc' }, limit: 3 }),
    (tx) => tx.orders.list({ nextCheckAt: at(30) }, { orderBy: { state: 'asc', orderNo: 'asc' }, offset: 1 }),
    (tx) => tx.orders.count({ merchantOrderNo }),
    (tx) =>
      tx.orders.listWith<{ refunds: RefundRow; listed: OrderExceptionRow }>(
        { orderNo, state: states },
        {
          refunds: { table: 'refunds', by: 'orderNo', orderBy: { createdAt: 'asc', refundNo: 'desc' } },
          listed: { table: 'exceptions', by: 'orderNo', where: { state: 'open' }, orderBy: { id: 'asc' } },
        },
      ),
    (tx) => tx.refunds.insertIfNew(refund),
    (tx) => tx.refunds.update({ orderNo }, { merchantRefundNo: refund.merchantRefundNo }),
    (tx) => tx.refunds.delete({ refundNo: refund.refundNo }),
    (tx) => tx.refunds.list({ orderNo }, { orderBy: { refundNo: 'asc' } }),
    (tx) => tx.exceptions.insertIfNew(exception),
    (tx) => tx.exceptions.update({ orderNo, state: 'open' }, { state: 'resolved', resolvedAt: at(1) }),
    (tx) => tx.exceptions.list({ orderNo }, { orderBy: { kind: 'asc', dedupe: 'asc' } }),
    async (tx) => {
      const part = someStatement(chance);
      await tx.savepoint(async (inner) => [await part(inner), Promise.reject(new Stop())][1]).catch(isStop);
    },
  ]);
}

function isStop(error: unknown): void {
  if (!(error instanceof Stop)) throw error;
}

/** The result of a transaction, or that the database refused it. */
function run(store: Store, statements: readonly Statement[]): Promise<unknown> {
  const work = async (tx: Tx) => {
    const given: unknown[] = [];
    for (const statement of statements) given.push(await statement(tx));
    return given;
  };
  return store.transaction(work).catch((error: Error & { code?: string }) => {
    // Any constraint violation of PostgreSQL.
    if (error.name === 'RefusedByDatabase' || error.code?.startsWith('23')) return 'refused';
    throw error;
  });
}

test('the in-memory stores for exploration and seeds behave like PostgreSQL', async (t) => {
  const { store } = await postgresDatabase(t);
  const memory = memoryStore(EMPTY);
  const indexed = indexedStore();
  const chance = createChance(20_261_123);
  const transactions = count(3_000, 300);
  let refused = 0;
  for (let turn = 0; turn < transactions; turn += 1) {
    // The same statements for both: random values inside them are drawn from one seed.
    const seed = chance.whole(0, 0xffff_ffff);
    const statements = () => {
      const own = createChance(seed);
      return Array.from({ length: own.whole(1, 4) }, () => someStatement(own.fork()));
    };
    const [theirs, ours] = [await run(store, statements()), await run(memory, statements())];
    t.deepEqual(ours, theirs, `transaction ${turn}`);
    t.deepEqual(await run(indexed, statements()), theirs, `transaction ${turn} of the indexed one`);
    if (theirs === 'refused') refused += 1;
  }
  for (const table of ['orders', 'refunds', 'exceptions', 'transitions'] as const) {
    const key = { orders: 'orderNo', refunds: 'refundNo', exceptions: 'id', transitions: 'orderNo' }[table];
    // PostgreSQL skips the numbers of rolled back rows, the memory store does not.
    const all = async (from: Store) => {
      const rows = await from.read((tx) => (tx[table] as Tx['orders']).list({}, { orderBy: { [key]: 'asc' } }));
      return table === 'transitions' ? rows.map((row) => ({ ...row, id: null })) : rows;
    };
    t.deepEqual(await all(memory), await all(store), table);
    t.deepEqual(await all(indexed), await all(store), table);
  }
  t.true(refused > 0 && refused < transactions / 2, `${refused} of ${transactions}`);
  t.log(`${transactions} transactions, ${refused} refused by all`);
});
