import { sql } from 'kysely';
import test from 'ava';
import {
  MOST_DUE,
  dueBills,
  dueCoinCalls,
  dueConfirmations,
  dueDeliveries,
  dueDifferences,
  dueDisputes,
  dueEffectRows,
  dueFulfilments,
  dueOrders,
  dueLookups,
  dueRefunds,
} from '../../server/db/queries/due.ts';
import {
  MOST_COUNTED,
  MOST_WAITING,
  channelActivityStatement,
  newestExceptionsStatement,
  openExceptionsStatement,
  openOrdersStatement,
  pastEventsStatement,
  waitingDeliveriesStatement,
} from '../../server/db/queries/figures.ts';
import type { Sql } from '../../server/db/kysely.ts';
import { readFigures } from '../../server/live/figures.ts';
import { count } from '../support/counts.ts';
import { postgresDatabase, type TestDatabase, explain } from '../support/database.ts';

/** More rows than the figures count. */
const PENDING = MOST_COUNTED + 500;
const PAID = count(1_000_000, 50_000);
const WAITING = 3 * MOST_WAITING;

const at = `timestamptz '2030-01-01' + n * interval '1 second'`;

async function seed({ database }: TestDatabase): Promise<void> {
  const run = (statement: string) => database.em.fork().execute(statement);
  for (let from = 1; from <= PENDING + PAID; from += 5_000)
    await run(`insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject,
        amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded, refunding,
        overrun, sequence, place_tries, absent_count, captures, checks, next_check_at, created_at, sent_at, expires_at)
      select 'P' || n, 'payment', 'app', 'p', case when n <= 10 then 'simulator' else 'live' end, 'alipay', 'a', 1, 'qr', 's', 100,
        case when n % 2 = 0 then 'CNY' else 'USD' end, 'h', false, '', case when n <= ${PENDING} then 'pending' else 'paid' end, false, false,
        case when n <= ${PENDING} then 0 else 100 end, 0, 0, 0, 1, 1, 0, 0, 0, case when n <= ${PENDING} then ${at} end, ${at}, ${at}, ${at}
        from generate_series(${from}, ${Math.min(PENDING + PAID, from + 4_999)}) n`);
  await run(`insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
    select gen_random_uuid(), 'evt_' || n, case when n <= ${2 * MOST_WAITING} then 'big' when n % 2 = 0 then 'even' else 'odd' end, 'webhook', 'https://x.example',
      'pending', n % 2, ${at}, ${at} from generate_series(1, ${WAITING}) n`);
  await run(`insert into order_exceptions (id, order_no, client_id, project, kind, dedupe, blocks_refunds, state, created_at)
    select gen_random_uuid(), 'P' || n, 'app', 'p', case when n % 2 = 0 then 'late_paid' else 'double_paid' end, 'x', false,
      case when n <= 3000 then 'open' else 'resolved' end, ${at} from generate_series(1, 6000) n`);
  await run(`insert into notifications (pay_way, account, notification_id, order_no, copies, received_at)
    select case when n % 7 = 0 then 'wechat' else 'alipay' end, 'a', 'n' || n, 'P' || n, 1, ${at} from generate_series(1, 6000) n`);
  await run(`insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at)
    select 'evt_' || n, 'order.paid', 'app', 'p', 'P' || n, 'once', '{"amountMinor": 100, "currency": "CNY"}', ${at}
      from generate_series(1, ${2 * MOST_COUNTED}) n`);
  for (const table of ['orders', 'deliveries', 'order_exceptions', 'notifications', 'events'])
    await run(`analyze ${table}`);
}

const DUE = {
  orders: dueOrders(false),
  refunds: dueRefunds(false),
  questions: dueLookups(false),
  disputes: dueDisputes(false),
  bills: dueBills(false),
  differences: dueDifferences(false),
  fulfilments: dueFulfilments(false),
  confirmations: dueConfirmations(false),
  'coin calls': dueCoinCalls(),
  effects: dueEffectRows(),
  deliveries: dueDeliveries(),
};

/** Every statement of the figures, and its maximum of touched rows for any table size. */
const STATEMENTS: readonly [name: string, most: number, statement: Sql][] = [
  ['open orders', 3 * (MOST_COUNTED + 1), openOrdersStatement(false)],
  ['waiting deliveries', 3 * (MOST_WAITING + 20), waitingDeliveriesStatement()],
  ['exceptions by kind', 1_001, openExceptionsStatement()],
  ['newest exceptions', 100, newestExceptionsStatement(50)],
  ['last notices', 1_010, channelActivityStatement()],
  ['the past hour', MOST_COUNTED, pastEventsStatement(BigInt(2 * MOST_COUNTED), new Date('2030-01-01T00:00:00Z'))],
  ...Object.entries(DUE).map(([name, { dueCount }]): [string, number, Sql] => [
    `due ${name}`,
    // Some rows have an order.
    2 * (MOST_DUE + 1),
    sql`select ${dueCount(new Date('2031-01-01T00:00:00Z'))} as due`,
  ]),
];

test('live feed figures touch a bounded number of rows by an index, and report if there are more', async (t) => {
  const db = await postgresDatabase(t);
  await seed(db);
  for (const [name, most, statement] of STATEMENTS) {
    const { scans, rows } = await explain(db.store, () => statement);
    t.true(rows <= most, `${name}: ${rows} rows`);
    const large = scans.filter(({ type, rows: touched }) => type === 'Seq Scan' && touched > 0);
    t.deepEqual(large, [], name);
  }
  const figures = await readFigures({
    store: db.store,
    now: () => new Date('2031-01-01T00:00:00Z'),
    due: () => ({
      tables: Object.entries(DUE).map(([name, { dueCount }]) => ({ name, dueCount })),
      lags: () => ({ at: new Date('2031-01-01T00:00:00Z'), seconds: { orders: 60 } }),
    }),
    simulated: false,
  });
  const [created, pending] = figures.open;
  t.like(created, { status: 'created', count: 0, more: false, amounts: [] });
  t.like(pending, { status: 'pending', count: MOST_COUNTED + 1, more: true });
  t.deepEqual(
    pending!.amounts.map(({ currency }) => currency),
    ['CNY', 'USD'],
  );
  t.deepEqual(
    figures.webhooks.map(({ clientId, count: waiting, more }) => [clientId, waiting, more]),
    [
      ['big', MOST_WAITING, true],
      ['even', MOST_WAITING / 2, false],
      ['odd', MOST_WAITING / 2, false],
    ],
  );
  t.is(figures.webhooks[1]!.failing, 0);
  t.is(figures.webhooks[2]!.failing, MOST_WAITING / 2);
  t.is(
    figures.exceptions.kinds.reduce((sum, one) => sum + one.count, 0),
    1_001,
  );
  t.is(figures.exceptions.newest[0]!.orderNo, 'P3000');
  t.is(figures.channels.find(({ payWay }) => payWay === 'wechat')!.noticedAt, '2030-01-01T01:39:59.000Z');
  const due = new Map(figures.due.map((one) => [one.kind, one]));
  t.like(due.get('orders'), { count: MOST_DUE - 9, more: false, oldestAt: '2030-12-31T23:59:00.000Z' });
  t.like(due.get('deliveries'), { count: MOST_DUE, more: true });
  t.like(due.get('refunds'), { count: 0, more: false, oldestAt: null });
  t.log(`${PENDING + PAID} orders, ${STATEMENTS.length} statements`);
});
