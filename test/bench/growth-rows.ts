import type { Service } from './stage.ts';

/** Rows of one statement: an amount that PostgreSQL inserts in some seconds. */
const PART = 100_000;
/** Above this many new orders the indexes are rebuilt: row by row they would take most of the time. */
const REBUILT = 1_000_000;

interface Index {
  name: string;
  definition: string;
}

/**
 * Inserts closed and paid orders, one every three seconds until the beginning of 2026, for 997 payers; with histories and events as
 * the service writes them, though shorter. Numbers run from `from` to `to`.
 */
export async function seedOrders(service: Service, from: number, to: number): Promise<void> {
  const { sql } = service;
  const rebuilds = to - from >= REBUILT;
  const dropped = rebuilds ? await dropIndexes(service) : [];
  for (let first = from + 1; first <= to; first += PART) await seedPart(service, first, Math.min(to, first + PART - 1));
  for (const { definition } of dropped) await sql(definition);
  for (const table of ['orders', 'transitions', 'events']) await sql(`vacuum analyze ${table}`);
  await sql('checkpoint');
}

/** Drops indexes that are no constraints; unique ones stay, to prevent duplicates. */
async function dropIndexes({ sql }: Service): Promise<Index[]> {
  const rows = await sql(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i
       join pg_class c on c.oid = i.indrelid
      where c.relname in ('orders', 'transitions_rest', 'events_rest') and not i.indisunique`,
  );
  const indexes = rows.map(({ name, definition }) => ({ name: String(name), definition: String(definition) }));
  for (const { name } of indexes) await sql(`drop index ${name}`);
  return indexes;
}

async function seedPart({ sql, clientId }: Service, first: number, last: number): Promise<void> {
  const orders = `(select n, 'S' || lpad(n::text, 9, '0') as order_no, n % 3 <> 0 as is_paid, 1000 + n % 500 as amount,
      timestamptz '2026-01-03 00:00:00Z' - n * interval '3 seconds' as at from generate_series($1::int, $2::int) n) o`;
  await sql(
    `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject, order_type, user_id,
       amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, paid_at, closed_at, refunded, refunding,
       overrun, channel_trade_no, sequence, place_tries, absent_count, captures, checks, created_at, sent_at, expires_at)
     select order_no, 'payment', $3, 'default', 'simulator', 'alipay', '1', 1, 'qr', 'Two coffees', 'goods', 'user-' || n % 997, amount, 'CNY',
       '', false, '', case when is_paid then 'paid' else 'closed' end, false, false, case when is_paid then amount else 0 end,
       case when is_paid then at end, case when is_paid then null else at end, 0, 0, 0, case when is_paid then 'T' || n end, 2, 1, 0, 0, 0, at, at, at
       from ${orders}`,
    [first, last, clientId],
  );
  await sql(
    `insert into transitions (order_no, sequence, from_state, to_state, rule, cause, actor, at)
     select order_no, s, case s when 2 then 'created' end, case when s = 1 then 'created' when is_paid then 'paid' else 'closed' end,
       case when s = 1 then 'placed' when is_paid then 'paid' else 'close_confirmed' end, 'place', $3, at from ${orders}, generate_series(1, 2) s`,
    [first, last, clientId],
  );
  await sql(
    `insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at)
     select 'evt_' || order_no, case when is_paid then 'order.paid' else 'order.closed' end, $3, 'default', order_no, 'once',
       jsonb_build_object('orderNo', order_no, 'amount', amount), at from ${orders}`,
    [first, last, clientId],
  );
}
