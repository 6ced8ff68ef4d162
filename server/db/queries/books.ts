import type { ReadTx } from '../tx.ts';

/** One check of ledger consistency: what must hold, and the statement that finds the violations. */
export interface BookCheck {
  check: string;
  /** What holds when nothing is found. */
  promise: string;
  /** Selects `id` and `detail` of every violation. */
  sql: string;
}

/** How many violations are listed as examples. */
const EXAMPLES = 20;

/** The checks, from the money outwards. */
export const BOOK_CHECKS: readonly BookCheck[] = [
  {
    check: 'refunded',
    promise: 'the refunded amount of an order equals the sum of its succeeded refunds',
    sql: `select o.order_no as id, format('order %s, refunds %s', o.refunded, coalesce(r.sum, 0)) as detail from orders o
      left join (select order_no, sum(amount) as sum from refunds where state = 'succeeded' and not surplus group by 1) r using (order_no)
      where o.refunded <> coalesce(r.sum, 0)`,
  },
  {
    check: 'refunding',
    promise: 'the refunding amount of an order equals the sum of its refunds in progress',
    sql: `select o.order_no as id, format('order %s, refunds %s', o.refunding, coalesce(r.sum, 0)) as detail from orders o
      left join (select order_no, sum(amount) as sum from refunds where state in ('pending', 'processing', 'abnormal') and not surplus group by 1) r using (order_no)
      where o.refunding <> coalesce(r.sum, 0)`,
  },
  {
    check: 'overrun',
    promise: 'refunds do not exceed the payment, unless an exception is recorded',
    sql: `select o.order_no as id, format('paid %s, refunded or refunding %s', o.paid, o.refunded + o.refunding) as detail from orders o
      where o.refunded + o.refunding > o.paid
        and not exists (select 1 from order_exceptions e where e.order_no = o.order_no and e.kind in ('refund_overrun', 'refund_elsewhere'))`,
  },
  {
    check: 'paid',
    promise: 'a paid order has its paid amount and a channel transaction number',
    sql: `select order_no as id, format('paid %s of %s, channel number %s', paid, amount, coalesce(channel_trade_no, 'none')) as detail from orders
      where state = 'paid' and (channel_trade_no is null or paid_at is null
        or (paid <> amount and not exists (select 1 from order_exceptions e where e.order_no = orders.order_no and e.kind = 'amount_mismatch')))`,
  },
  {
    check: 'unpaid',
    promise: 'only orders that were paid, in time or late, have a paid amount',
    sql: `select order_no as id, format('%s with %s', state, paid) as detail from orders
      where paid > 0 and state not in ('paid', 'closed', 'failed')`,
  },
  {
    check: 'order-history',
    promise: 'the last history entry of an order matches its state',
    sql: `select o.order_no as id, format('state %s, history %s', o.state, coalesce(m.to_state, 'nothing')) as detail from orders o
      left join lateral (select to_state from moves where order_no = o.order_no and refund_no is null order by sequence desc limit 1) m on true
      where m.to_state is distinct from o.state`,
  },
  {
    check: 'refund-history',
    promise: 'the last history entry of a refund matches its state',
    sql: `select r.refund_no as id, format('state %s, history %s', r.state, coalesce(m.to_state, 'nothing')) as detail from refunds r
      left join lateral (select to_state from moves where order_no = r.order_no and refund_no = r.refund_no order by sequence desc limit 1) m on true
      where m.to_state is distinct from r.state`,
  },
  {
    check: 'sequence',
    promise: 'no history entry is missing',
    sql: `select o.order_no as id, format('%s entries, sequence %s', m.n, o.sequence) as detail from orders o
      join (select order_no, count(*) as n, max(sequence) as last from moves group by 1) m using (order_no)
      where m.n <> o.sequence or m.last <> o.sequence`,
  },
  {
    check: 'order-events',
    promise: 'every payment has exactly one event',
    sql: `select o.order_no as id, format('%s events', count(e.id)) as detail from orders o
      left join events e on e.object_no = o.order_no and e.type in ('order.paid', 'order.paid_late')
      where o.paid > 0 group by o.order_no having count(e.id) <> 1`,
  },
  {
    check: 'refund-events',
    promise: 'every succeeded refund has an event',
    sql: `select r.refund_no as id, 'no event' as detail from refunds r where r.state = 'succeeded'
      and not exists (select 1 from events e where e.object_no = r.refund_no and e.type = 'refund.succeeded')`,
  },
  {
    check: 'closed-events',
    promise: 'every closed order has an event',
    sql: `select o.order_no as id, 'no event' as detail from orders o where o.state = 'closed'
      and not exists (select 1 from events e where e.object_no = o.order_no and e.type = 'order.closed')`,
  },
  {
    check: 'coins',
    promise: 'every balance equals the sum of its ledger entries',
    sql: `select a.coin || '/' || a.user_id as id, format('balance %s, entries %s', a.balance, coalesce(e.sum, 0)) as detail from coin_accounts a
      left join (select project, coin, user_id, sum(delta) as sum from coin_entries group by 1, 2, 3) e using (project, coin, user_id)
      where a.balance <> coalesce(e.sum, 0)`,
  },
  {
    check: 'due',
    promise: 'every order or refund that is not final is scheduled or has an open exception',
    sql: `select o.order_no as id, format('%s, not scheduled', o.state) as detail from orders o
        where o.state in ('created', 'pending', 'closing') and o.next_check_at is null
          and not exists (select 1 from order_exceptions e where e.order_no = o.order_no and e.state = 'open')
      union all
      select r.refund_no, format('%s, not scheduled', r.state) from refunds r
        where r.state in ('pending', 'processing', 'abnormal') and r.next_check_at is null
          and not exists (select 1 from order_exceptions e where e.order_no = r.order_no and e.state = 'open')`,
  },
];

/** One row that violates a check. */
export interface Violation {
  id: string;
  detail: string;
}

/** Finds the violations of a check: how many, and the first of them. */
export async function findViolations(
  tx: ReadTx,
  { sql }: BookCheck,
): Promise<{ count: number; examples: Violation[] }> {
  const rows = await tx.sql<Violation & { n: string }>(
    `select id, detail, count(*) over () as n from (${sql}) violations order by id limit ${EXAMPLES}`,
  );
  return { count: Number(rows[0]?.n ?? 0), examples: rows.map(({ id, detail }) => ({ id, detail })) };
}
