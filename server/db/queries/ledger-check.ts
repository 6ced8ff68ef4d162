import { sql } from 'kysely';
import { UUID } from '../../domain.ts';
import type { Sql } from '../kysely.ts';
import type { ReadTx } from '../store.ts';
import { SAME_ACCOUNT, isQuiet } from './payees.ts';
import { keptSince } from './retention.ts';

/** The tables that the ledger check (of orders, refunds, coins and bills) reads step by step, sorted by their keys. */
export type WalkName = 'orders' | 'accounts' | 'entries' | 'bills';

/** For each table: the key column, its SQL type, a value before the first key, and the valid format of a key. */
export const WALKS: Readonly<
  Record<WalkName, { table: string; key: string; type: string; first: string; form: RegExp }>
> = {
  orders: { table: 'orders', key: 'order_no', type: 'varchar', first: '', form: /^[A-Za-z0-9_-]{0,64}$/ },
  accounts: {
    table: 'coin_accounts',
    key: 'id',
    type: 'uuid',
    first: '00000000-0000-0000-0000-000000000000',
    form: UUID,
  },
  entries: { table: 'coin_entries', key: 'id', type: 'bigint', first: '0', form: /^\d{1,18}$/ },
  bills: { table: 'bills', key: 'bill_no', type: 'varchar', first: '', form: /^[A-Za-z0-9_-]{0,64}$/ },
};

/** The keys after `after` and up to `upTo`; `upTo` null = up to the last key. */
interface KeyRange {
  after: string;
  upTo: string | null;
}

/** Returns the SQL condition that a column's value is in the range of keys that the statement checks. */
type Within = (column: string) => Sql;

interface LedgerStatements {
  /** The name of the invariant (payments/core/invariants.ts). */
  check: string;
  /** For each table, the statement that selects `id` and `detail` of every violation in a key range. */
  in: Partial<Record<WalkName, (within: Within) => Sql>>;
}

export const EXAMPLES = 20;

const sumOfRefunds = (states: Sql, within: Within) =>
  sql`(select order_no, sum(amount) as sum from refunds where ${within('order_no')} and state in (${states}) and not surplus group by 1)`;

/** Joins the last transition of an order or refund. `of` is the condition that selects its transitions. */
const lastTransition = (of: string) =>
  sql`left join lateral (select to_state from transitions where ${sql.raw(of)} order by sequence desc limit 1) m on true`;

/** SQL: retention (Retention.HistoryDays, Retention.EventDays) has removed nothing of the history of a row. */
const whole = (row: string, history: 'transitions' | 'events') =>
  sql`${sql.raw(row)}.created_at >= ${keptSince(history)}`;

/** Only the bills of the last 35 days are checked, because the channel may no longer provide older bills. */
const BILL_DAYS = 35;

/** A refund or dispute is checked together with its order, so that each row is checked exactly once. */
export const BOOK_CHECKS = [
  {
    check: 'refunded',
    in: {
      orders: (
        within,
      ) => sql`select o.order_no as id, format('order %s, refunds %s', o.refunded, coalesce(r.sum, 0)) as detail from orders o
      left join ${sumOfRefunds(sql`'succeeded'`, within)} r using (order_no)
      where ${within('o.order_no')} and o.refunded <> coalesce(r.sum, 0)`,
    },
  },
  {
    check: 'refunding',
    in: {
      orders: (
        within,
      ) => sql`select o.order_no as id, format('order %s, refunds %s', o.refunding, coalesce(r.sum, 0)) as detail from orders o
      left join ${sumOfRefunds(sql`'pending', 'processing', 'abnormal'`, within)} r using (order_no)
      where ${within('o.order_no')} and o.refunding <> coalesce(r.sum, 0)`,
    },
  },
  {
    check: 'overrun',
    in: {
      orders: (
        within,
      ) => sql`select o.order_no as id, format('paid %s, refunded or refunding %s', o.paid, o.refunded + o.refunding) as detail from orders o
      where ${within('o.order_no')} and o.refunded + o.refunding > o.paid
        and not exists (select 1 from order_exceptions e where e.order_no = o.order_no and e.kind in ('refund_overrun', 'refund_elsewhere'))`,
    },
  },
  {
    check: 'paid',
    in: {
      orders: (
        within,
      ) => sql`select order_no as id, format('paid %s of %s, channel number %s', paid, amount, coalesce(channel_trade_no, 'none')) as detail from orders
      where ${within('order_no')} and state = 'paid' and (channel_trade_no is null or paid_at is null
        or (paid <> amount and not exists (select 1 from order_exceptions e where e.order_no = orders.order_no and e.kind = 'amount_mismatch')))`,
    },
  },
  {
    check: 'unpaid',
    in: {
      orders: (within) => sql`select order_no as id, format('%s with %s', state, paid) as detail from orders
      where ${within('order_no')} and paid > 0 and state not in ('paid', 'closed', 'failed')`,
    },
  },
  {
    check: 'order-history',
    in: {
      orders: (
        within,
      ) => sql`select o.order_no as id, format('state %s, history %s', o.state, coalesce(m.to_state, 'nothing')) as detail from orders o
      ${lastTransition('order_no = o.order_no and refund_no is null')}
      where ${within('o.order_no')} and m.to_state is distinct from o.state and ${whole('o', 'transitions')}`,
    },
  },
  {
    check: 'refund-history',
    in: {
      orders: (
        within,
      ) => sql`select r.refund_no as id, format('state %s, history %s', r.state, coalesce(m.to_state, 'nothing')) as detail from refunds r
      ${lastTransition('order_no = r.order_no and refund_no = r.refund_no')}
      where ${within('r.order_no')} and m.to_state is distinct from r.state and ${whole('r', 'transitions')}`,
    },
  },
  {
    check: 'disputes',
    in: {
      orders: (
        within,
      ) => sql`select d.dispute_no as id, format('lost %s, refund %s', d.amount_lost, coalesce(d.refund_no, 'none')) as detail from disputes d
      left join refunds r on r.refund_no = d.refund_no and r.order_no = d.order_no
      where ${within('d.order_no')} and d.amount_lost > 0 and (r.amount is distinct from d.amount_lost
        or exists (select 1 from disputes o where o.refund_no = d.refund_no and o.dispute_no <> d.dispute_no))`,
    },
  },
  {
    check: 'sequence',
    in: {
      orders: (
        within,
      ) => sql`select o.order_no as id, format('%s entries, sequence %s', m.n, o.sequence) as detail from orders o
      join (select order_no, count(*) as n, max(sequence) as last from transitions where ${within('order_no')} group by 1) m using (order_no)
      where ${within('o.order_no')} and (m.n <> o.sequence or m.last <> o.sequence) and ${whole('o', 'transitions')}`,
    },
  },
  {
    check: 'order-events',
    in: {
      orders: (within) => sql`select o.order_no as id, format('%s events', e.n) as detail from orders o
      cross join lateral (select count(*) as n from events where object_no = o.order_no and type in ('order.paid', 'order.paid_late')) e
      where ${within('o.order_no')} and o.paid > 0 and e.n <> 1 and ${whole('o', 'events')}`,
    },
  },
  {
    check: 'refund-events',
    in: {
      orders: (within) => sql`select r.refund_no as id, 'no event' as detail from refunds r
      cross join lateral (select count(*) as n from events where object_no = r.refund_no and type = 'refund.succeeded') e
      where ${within('r.order_no')} and r.state = 'succeeded' and e.n = 0 and ${whole('r', 'events')}`,
    },
  },
  {
    check: 'closed-events',
    in: {
      orders: (within) => sql`select o.order_no as id, 'no event' as detail from orders o
      cross join lateral (select count(*) as n from events where object_no = o.order_no and type = 'order.closed') e
      where ${within('o.order_no')} and o.state = 'closed' and e.n = 0 and ${whole('o', 'events')}`,
    },
  },
  {
    check: 'coins',
    in: {
      // Two conditions together prove that the balance is the sum of the entries. The balance must equal the balance
      // after the last entry, and the balance after each entry must be the previous balance plus the entry's amount.
      accounts: (
        within,
      ) => sql`select a.coin || '/' || a.user_id as id, format('balance %s, entries %s', a.balance, coalesce(e.balance_after, 0)) as detail
       from coin_accounts a
       left join lateral (select balance_after from coin_entries
                           where project = a.project and coin = a.coin and user_id = a.user_id order by id desc limit 1) e on true
      where ${within('a.id')} and a.balance <> coalesce(e.balance_after, 0)`,
      entries: (
        within,
      ) => sql`select c.coin || '/' || c.user_id as id, format('entry %s: %s after %s and %s', c.id, c.balance_after, coalesce(b.balance_after, 0), c.delta) as detail
       from coin_entries c
       left join lateral (select balance_after from coin_entries
                           where project = c.project and coin = c.coin and user_id = c.user_id and id < c.id order by id desc limit 1) b on true
       -- The limit keeps it an index lookup per entry.
       left join lateral (select id from coin_accounts where project = c.project and coin = c.coin and user_id = c.user_id limit 1) a on true
      where ${within('c.id')} and (c.balance_after <> coalesce(b.balance_after, 0) + c.delta or a.id is null)
      union all
      select c.order_no as id, format('entry %s: %s coins, and no such call', c.id, c.delta) as detail
       from coin_entries c
       left join coin_calls k on k.order_no = c.order_no and k.user_id = c.user_id and k.amount = abs(c.delta)
            and (c.delta < 0 or k.refunded_at is not null)
      where ${within('c.id')} and (c.source like 'skillpay:%' or c.source like 'skillpay-refund:%') and k.order_no is null`,
    },
  },
  {
    check: 'bills',
    in: {
      // A bill that was never read is a violation if its state is `refused` or `missing`, and if another bill of the
      // same account was read. In any other state the service may still read the bill, so it is not a violation.
      bills: (
        within,
      ) => sql`select d.bill_no as id, format('%s: %s%s', d.day, d.kind, case when d.order_no = '' then '' else ' of order ' || d.order_no end) as detail
        from bill_differences d join bills b on b.bill_no = d.bill_no
        where ${within('d.bill_no')} and d.state in ('open', 'listed') and b.day >= current_date - ${sql.lit(BILL_DAYS)}
      union all
      select b.bill_no, format('%s: no bill of %s %s, %s', b.day, b.pay_way, b.account, b.state) from bills b
        where ${within('b.bill_no')} and b.state in ('refused', 'missing') and b.reading = 0
          and exists (select 1 from bills o where o.pay_way = b.pay_way and o.account = b.account and o.mode = b.mode and o.reading > 0)
          and b.day >= current_date - ${sql.lit(BILL_DAYS)}`,
    },
  },
  {
    check: 'due',
    in: {
      orders: (within) => sql`select o.order_no as id, format('%s, not scheduled', o.state) as detail from orders o
        where ${within('o.order_no')} and o.state in ('created', 'pending', 'closing') and o.next_check_at is null
          and not exists (select 1 from order_exceptions e where e.order_no = o.order_no and e.state = 'open')
      union all
      select r.refund_no, format('%s, not scheduled', r.state) from refunds r
        where ${within('r.order_no')} and r.state in ('pending', 'processing', 'abnormal') and r.next_check_at is null
          and not exists (select 1 from order_exceptions e where e.order_no = r.order_no and e.state = 'open')`,
    },
  },
] as const satisfies readonly LedgerStatements[];

export interface Violation {
  id: string;
  detail: string;
}

/** The number of rows after the key `after`, at most `limit`, and the key of the last of these rows. */
export async function nextKeys(
  tx: ReadTx,
  walk: WalkName,
  after: string,
  limit: number,
): Promise<{ rows: number; last: string | null }> {
  const { table, key, type } = WALKS[walk];
  const column = sql.ref(key);
  const [row] = await tx.sql<{ rows: number; last: string | null }>`
    with part as materialized (
      select ${column} as key from ${sql.table(table)} where ${column} > ${after}::${sql.raw(type)} order by ${column} limit ${limit})
    select count(*)::int as rows, (select key::text from part order by key desc limit 1) as last from part`;
  return row ?? { rows: 0, last: null };
}

/** `unread` counts the bills that the channel should provide by now, but that were not read. */
export interface BillsRead {
  read: number;
  unread: number;
  /** Accounts whose reports about unknown numbers in bills are turned off, such as `wechat 1900000001`. */
  quiet: string[];
}

/** Counts the bills of the last five weeks, without today's and yesterday's, which the channel may not provide yet. */
export async function countBillsRead(tx: ReadTx, range: KeyRange): Promise<BillsRead> {
  const within = inRange('bills', range);
  const isQuietAccount = isQuiet(sql`b.pay_way`, sql`b.account`, sql`b.mode`);
  const [row] = await tx.sql<BillsRead>`
    select count(*) filter (where reading > 0 and day < current_date - 1)::int as read,
           count(*) filter (where reading = 0 and day < current_date - 1)::int as unread,
           coalesce(json_agg(distinct b.pay_way || ' ' || b.account) filter (where ${isQuietAccount}), '[]') as quiet
      from bills b where ${within('bill_no')} and day >= current_date - ${sql.lit(BILL_DAYS)} and b.fault is distinct from ${SAME_ACCOUNT}`;
  return row ?? { read: 0, unread: 0, quiet: [] };
}

/** The statement of a check for one table and key range; undefined if the check does not read the table. */
export function checkStatement({ in: statements }: LedgerStatements, walk: WalkName, range: KeyRange): Sql | undefined {
  return statements[walk]?.(inRange(walk, range));
}

function inRange(walk: WalkName, { after, upTo }: KeyRange): Within {
  const type = sql.raw(WALKS[walk].type);
  return (name) => {
    const column = sql.ref(name);
    return upTo === null
      ? sql`${column} > ${after}::${type}`
      : sql`${column} > ${after}::${type} and ${column} <= ${upTo}::${type}`;
  };
}

/** Finds the violations of a check in one table and key range. Returns their number and the first examples. */
export async function findViolations(
  tx: ReadTx,
  check: LedgerStatements,
  walk: WalkName,
  range: KeyRange,
): Promise<{ count: number; examples: Violation[] }> {
  const statement = checkStatement(check, walk, range);
  if (!statement) return { count: 0, examples: [] };
  const rows = await tx.sql<Violation & { n: number }>`
    select id, detail, (count(*) over ())::int as n from (${statement}) violations order by id limit ${EXAMPLES}`;
  return { count: rows[0]?.n ?? 0, examples: rows.map(({ id, detail }) => ({ id, detail })) };
}
