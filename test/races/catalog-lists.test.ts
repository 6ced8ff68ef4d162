import { type Expression, sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import { userList } from '../../server/db/queries/catalog.ts';
import type { Sql } from '../../server/db/kysely.ts';
import type { ReadTx } from '../../server/db/store.ts';
import { createdStatement, paidStatement, refundedStatement, type StatsRange } from '../../server/db/queries/stats.ts';
import { daysBetween } from '../../server/catalog/stats.ts';
import { count } from '../support/counts.ts';
import { postgresDatabase, type TestDatabase } from '../support/database.ts';

const rows = count(1_000_000, 20_000);

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Plan[];
}

/** A statement's plan: each node that reads a table, as `type table index`. */
async function planOf({ store }: TestDatabase, statement: (tx: ReadTx) => Expression<unknown>): Promise<string[]> {
  const [row] = await store.read(
    (tx) => tx.sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>`explain (format json) ${statement(tx)}`,
  );
  const walk = (plan: Plan): string[] => [
    ...(plan['Relation Name'] || plan['Index Name']
      ? [`${plan['Node Type']} ${plan['Relation Name'] ?? ''} ${plan['Index Name'] ?? ''}`]
      : []),
    ...(plan.Plans ?? []).flatMap(walk),
  ];
  return row ? walk(row['QUERY PLAN'][0].Plan) : [];
}

/** Repeats the vacuum if it is cut off; it resumes where it stopped. */
async function unhurried({ database }: TestDatabase, sql: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await database.em.fork().execute(sql);
      return;
    } catch (error) {
      if (tries === 20) throw error;
    }
  }
}

async function seeded(t: ExecutionContext): Promise<TestDatabase> {
  const on = await postgresDatabase(t);
  const fill = async (text: (series: Sql) => Sql) => {
    // One statement per part stays below the statement time-out with a million rows.
    for (let from = 1; from <= rows; from += 10_000) {
      const series = sql`generate_series(${from}::int, ${Math.min(rows, from + 9_999)}::int) n`;
      await on.store.autocommit((tx) => tx.sql`${text(series)}`);
    }
  };
  await fill(
    (series) => sql`
    insert into users (id, project, user_id, email, phone, status, created_at, updated_at)
    select gen_random_uuid(), 'p' || n % 4, 'u' || n, 'u' || n || '@example.com', '1' || n,
           case when n % 500 = 0 then 'blocked' else 'active' end, at, at
      from ${series}, lateral (select timestamptz '2030-01-01' + n * interval '1 minute' as at) x`,
  );
  await fill(
    (
      series,
    ) => sql`insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject, user_id,
            amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded,
            refunding, overrun, sequence, place_tries, absent_count, captures, checks, created_at, sent_at, expires_at, paid_at)
     select 'P' || n, 'payment', 'app', 'p' || n % 4, case when n % 10 = 0 then 'simulator' else 'live' end, 'alipay', 'a',
            1, 'qr', 's', 'u' || n % 100, 100, 'CNY', 'h', false, '', case when n % 3 = 0 then 'paid' else 'closed' end,
            false, false, case when n % 3 = 0 then 100 else 0 end, 0, 0, 0, 1, 1, 0, 0, 0, at, at, at,
            case when n % 3 = 0 then at end
       from (select timestamptz '2028-01-01' + n * (interval '730 days' / ${sql.lit(rows)}) as at, n from ${series}) s`,
  );
  await fill(
    (
      series,
    ) => sql`insert into refunds (refund_no, order_no, client_id, project, origin, amount, currency, state, accepted, surplus,
            elsewhere, actor, tries, absent_count, checks, queue_key, created_at, finished_at)
     select 'R' || order_no, order_no, client_id, project, 'merchant', 10, currency, 'succeeded', true, false, false, 'x', 1,
            0, 0, 'alipay simulator 1', paid_at, paid_at
       from ${series} join orders on order_no = 'P' || n
      where paid_at is not null and n % 10 = 3`,
  );
  for (const table of ['users', 'orders', 'refunds']) await unhurried(on, `vacuum (analyze) ${table}`);
  return on;
}

test('every filter of the payer list and every statistic uses an index', async (t) => {
  const on = await seeded(t);
  const cursor = { createdAt: new Date('2030-01-10T00:00:00Z'), id: '00000000-0000-4000-8000-000000000000' };
  const lists = [
    {},
    { userId: 'u5' },
    { status: 'blocked' },
    { status: 'active' },
    { email: 'u5@example.com' },
    { phone: '15' },
    { status: 'active', cursor },
    { cursor },
  ];
  for (const filter of lists) {
    const plan = await planOf(on, (tx) => userList(tx, { project: 'p1', limit: 50, ...filter }));
    t.log(JSON.stringify(filter), plan.join(' | '));
    t.true(plan.length > 0 && plan.every((node) => /^(Index|Bitmap)/.test(node)), `${JSON.stringify(filter)} ${plan}`);
  }
  const { days, end } = daysBetween('2029-05-01', '2029-05-30', 'Asia/Shanghai');
  const starts = days.map(({ start }) => start);
  const range: StatsRange = { from: starts[0] ?? end, to: end, starts, mode: 'live' };
  for (const [index, statement] of [
    ['orders_created', createdStatement(range)],
    ['orders_paid', paidStatement(range)],
    ['orders_created', createdStatement({ ...range, project: 'p1' })],
    ['orders_paid', paidStatement({ ...range, project: 'p1' })],
    ['refunds_succeeded', refundedStatement(range)],
  ] as const) {
    const plan = await planOf(on, () => statement);
    t.log(plan.join(' | '));
    // The chosen index depends on the row count; no full table scan is the claim.
    t.true(plan.length > 0 && plan.every((node) => /^(Index|Bitmap)/.test(node)), plan.join(' | '));
    if (rows >= 1_000_000)
      t.true(
        plan.some((node) => node.endsWith(index)),
        plan.join(' | '),
      );
  }
  t.log(`${rows} payers, ${rows} orders`);
});
