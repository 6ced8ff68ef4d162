import test from 'ava';
import { userList } from '../../server/db/queries/catalog.ts';
import { eventList, type EventFilter } from '../../server/db/queries/events.ts';
import { orderList, refundList, type OrderFilter, type RefundFilter } from '../../server/db/queries/orders.ts';
import { count } from '../support/counts.ts';
import { type TestDatabase, postgresDatabase, explain } from '../support/database.ts';

const TOTAL = count(1_000_000, 20_000);
const PAGE = 51;
/** The maximum rows of a first page, for any table size: the page, plus a margin for its index. */
const BOUND = 2_000;

test('every filter of the lists answers from an index, and the first page reads a bounded number of rows', async (t) => {
  const db = await postgresDatabase(t, 4);
  await seedLists(db);
  const { store } = db;
  let plans = 0;
  for (const [name, table, statement] of statements()) {
    const plan = await explain(store, statement);
    plans += 1;
    t.deepEqual(
      plan.scans.filter(({ type, relation }) => type === 'Seq Scan' && relation === table).map(({ type }) => type),
      [],
      `${name}: no sequential scan of ${table}`,
    );
    t.true(plan.rows <= BOUND, `${name}: ${plan.rows} rows touched`);
  }
  t.log(
    `${TOTAL} orders, refunds, users and events: ${plans} statements, none scans its table, each touches at most ${BOUND} rows`,
  );
});

type Statement = Parameters<typeof explain>[1];

function statements(): [string, string, Statement][] {
  const middle = new Date(Date.UTC(2030, 0, 1) + (TOTAL / 2) * 1000);
  const orders: OrderFilter[] = [
    {},
    { orderNo: 'P0000000042' },
    { merchantOrderNo: 'M42' },
    { channelTradeNo: 'T42' },
    { clientId: 'app_rare' },
    { clientId: 'app_a', userId: 'user-42' },
    { userId: 'user-42' },
    { project: 'rare' },
    { project: ['rare', 'none'] },
    { project: ['default', 'rare'] },
    { payWay: 'paypal' },
    { mode: 'sandbox' },
    { orderType: 'rare' },
    ...['created', 'pending', 'closing', 'closed', 'failed', 'paid', 'partially_refunded', 'refunded'].map(
      (status) => ({ status }),
    ),
    { exception: 'any' },
    { exception: 'amount_mismatch' },
    { amountMin: { decimal: 4_242n, whole: 43n }, amountMax: { decimal: 4_242n, whole: 42n } },
    { amountMin: { decimal: 9_999_000n, whole: 99_990n } },
    { amountMax: { decimal: 20n, whole: 0n } },
    { createdFrom: middle },
    { createdTo: middle },
    { status: 'paid', payWay: 'alipay', createdTo: middle },
  ];
  const refunds: RefundFilter[] = [
    {},
    { refundNo: 'R0000000042' },
    { orderNo: 'P0000000042' },
    { merchantRefundNo: 'MR42' },
    { clientId: 'app_rare' },
    { project: 'rare' },
    { project: ['rare', 'none'] },
    { project: ['default', 'rare'] },
    { status: 'abnormal' },
    { origin: 'late' },
    { createdFrom: middle },
    { createdTo: middle },
  ];
  const events: EventFilter[] = [
    {},
    { clientId: 'app_rare' },
    { project: 'rare' },
    { project: ['rare', 'none'] },
    { project: ['default', 'rare'] },
    { objectNo: 'P0000000042' },
    { types: ['order.failed'] },
    { types: ['order.failed', 'order.paid', 'coin.debited'] },
    { since: middle },
    { clientId: 'app_a', types: ['order.paid'] },
  ];
  const log = { after: 0n, head: BigInt(TOTAL) };
  const users = [{}, { userId: 'user-42' }, { email: 'user-42@shop.example' }, { phone: '42' }, { status: 'blocked' }];
  return [
    ...orders.map((filter) => named('orders', filter, (tx) => orderList(tx, filter, undefined, PAGE))),
    named('orders', { after: 'middle' }, (tx) => orderList(tx, {}, { createdAt: middle, id: 'P' }, PAGE)),
    ...refunds.map((filter) => named('refunds', filter, (tx) => refundList(tx, filter, undefined, PAGE))),
    ...events.map((filter) => named('events', filter, (tx) => eventList(tx, filter, log, PAGE))),
    ...users.map((filter) =>
      named('users', filter, (tx) => userList(tx, { project: 'default', limit: PAGE - 1, ...filter })),
    ),
  ];
}

function named(table: string, filter: object, statement: Statement): [string, string, Statement] {
  const shown = JSON.stringify(filter, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return [`${table} ${shown}`, table, statement];
}

/** Inserts millions of rows of every kind; the rare values occur in one of ten thousand or fewer. */
async function seedLists({ database }: TestDatabase): Promise<void> {
  const run = (statement: string) => database.em.fork().execute(statement);
  // A busy disk may make one statement slower than the service's timeouts: it is sent again.
  const again = (statement: string) => run(statement).catch(() => run(statement));
  const step = 2_000;
  for (let from = 1; from <= TOTAL; from += step) {
    const series = `generate_series(${from}, ${Math.min(TOTAL, from + step - 1)}) n`;
    for (const insert of seeds(series)) await again(`${insert} on conflict do nothing`);
  }
  await run(`insert into order_exceptions (id, order_no, client_id, project, kind, dedupe, blocks_refunds, state, created_at)
    select gen_random_uuid(), 'P' || lpad(n::text, 10, '0'), 'app_a', 'default', case when n % 2 = 0 then 'amount_mismatch' else 'late_payment' end,
           'x', false, 'open', now() from generate_series(1, 40) n`);
  for (const table of ['orders', 'refunds', 'events', 'users', 'order_exceptions']) await again(`analyze ${table}`);
}

function seeds(series: string): string[] {
  const rare = `n % 10000 = 0`;
  const at = `timestamptz '2030-01-01 00:00:00Z' + n * interval '1 second'`;
  const owner = `case when ${rare} then 'app_rare' else 'app_a' end, case when ${rare} then 'rare' else 'default' end`;
  const state = `(array['closed', 'created', 'pending', 'closing', 'failed'])[case when n % 5000 < 5 then n % 5 + 1 else null end]`;
  const isPaid = `n % 5000 >= 5`;
  const refunded = `case when n % 5000 = 77 then 10 when n % 5000 = 78 then 5 else 0 end`;
  return [
    `insert into orders (order_no, kind, client_id, project, merchant_order_no, mode, pay_way, account, config_version, scene,
       subject, order_type, user_id, amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered,
       paid, refunded, refunding, overrun, channel_trade_no, sequence, place_tries, absent_count, captures, checks, created_at,
       sent_at, expires_at)
     select 'P' || lpad(n::text, 10, '0'), 'payment', ${owner}, 'M' || n, case when ${rare} then 'sandbox' else 'simulator' end,
       case when ${rare} then 'paypal' else 'alipay' end, 'acc', 1, 'qr', 'Seed', case when ${rare} then 'rare' else 'goods' end,
       'user-' || (n % 5000), 10 + (n::bigint * 7919) % 10000000, 'CNY', 'h', false, '', coalesce(${state}, 'paid'), false, false,
       case when ${isPaid} then 10 else 0 end, ${refunded}, 0, 0, 'T' || n, 1, 1, 0, 0, 0, ${at}, ${at}, ${at} from ${series}`,
    `insert into refunds (refund_no, order_no, client_id, project, merchant_refund_no, origin, amount, currency, state, accepted,
       surplus, elsewhere, actor, tries, absent_count, checks, queue_key, created_at)
     select 'R' || lpad(n::text, 10, '0'), 'P' || lpad(n::text, 10, '0'), ${owner}, 'MR' || n,
       case when ${rare} then 'late' else 'merchant' end, 1, 'CNY', case when ${rare} then 'abnormal' else 'succeeded' end,
       true, false, false, 'seed', 1, 0, 0, 'alipay simulator 1', ${at} from ${series}`,
    `insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at)
     select 'evt_' || n, case when ${rare} then 'order.failed' else 'order.paid' end, ${owner},
       'P' || lpad(n::text, 10, '0'), 'once', '{}', ${at} from ${series}`,
    `insert into users (id, project, user_id, email, phone, status, created_at, updated_at)
     select gen_random_uuid(), 'default', 'user-' || n, 'user-' || n || '@shop.example', n::text,
       case when ${rare} then 'blocked' else 'active' end, ${at}, ${at} from ${series}`,
  ];
}
