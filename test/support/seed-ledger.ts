import type { TestDatabase } from './database.ts';

const CHUNK = 2_000;

/** Consistent ledgers: paid orders with one refund each, their histories and events, and payers' coins with five entries per payer. */
export async function seedLedger({ database }: TestDatabase, orders: number): Promise<void> {
  const run = (statement: string) => database.em.fork().execute(statement);
  for (let from = 1; from <= orders; from += CHUNK) {
    const series = `generate_series(${from}, ${Math.min(orders, from + CHUNK - 1)}) n`;
    for (const insert of seeds(series)) await run(insert);
  }
  for (const table of ['orders', 'refunds', 'transitions', 'events', 'coin_accounts', 'coin_entries', 'bills'])
    await run(`analyze ${table}`);
}

function seeds(series: string): string[] {
  const number = `lpad(n::text, 10, '0')`;
  const at = `timestamptz '2030-01-01 00:00:00Z' + n * interval '1 second'`;
  return [
    `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject, amount, currency,
       facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded, refunding, overrun, channel_trade_no,
       sequence, place_tries, absent_count, captures, checks, created_at, sent_at, expires_at, paid_at)
     select 'P' || ${number}, 'payment', 'app_a', 'default', 'simulator', 'alipay', 'acc', 1, 'qr', 'Seed', 10, 'CNY', 'h', false, '',
       'paid', false, false, 10, 4, 0, 0, 'T' || n, 5, 1, 0, 0, 0, ${at}, ${at}, ${at}, ${at} from ${series}`,
    `insert into refunds (refund_no, order_no, client_id, project, origin, amount, currency, state, accepted, surplus, elsewhere, actor,
       tries, absent_count, checks, queue_key, created_at)
     select 'R' || ${number}, 'P' || ${number}, 'app_a', 'default', 'merchant', 4, 'CNY', 'succeeded', true, false, false, 'seed', 1, 0, 0,
       'alipay simulator 1', ${at} from ${series}`,
    `insert into transitions (order_no, refund_no, sequence, to_state, rule, cause, actor, at)
     select 'P' || ${number}, case when s > 3 then 'R' || ${number} end, s,
       (array['created', 'pending', 'paid', 'pending', 'succeeded'])[s], 'paid', 'seed', 'seed', ${at} from ${series}, generate_series(1, 5) s`,
    `insert into events (id, type, client_id, project, object_no, dedupe, payload, created_at)
     select 'evt_' || n || t, case t when 'p' then 'order.paid' else 'refund.succeeded' end, 'app_a', 'default',
       case t when 'p' then 'P' else 'R' end || ${number}, 'once', '{}', ${at} from ${series}, unnest(array['p', 'r']) t`,
    // Each belongs to its own account.
    `insert into bills (bill_no, pay_way, account, mode, project, day, state, reading, readings, lines, most_lines, not_ours, checks, created_at)
     select 'B' || ${number}, 'alipay', 'acc' || n, 'live', 'default', current_date - 1 - n % 30, 'waiting', 0, 0, 0, 0, 0, 0, ${at} from ${series}`,
    `insert into coin_accounts (id, project, coin, user_id, balance, held, debt, created_at, updated_at)
     select md5('u' || (n / 5))::uuid, 'default', 'gold', 'u' || (n / 5), 15, 0, 0, ${at}, ${at} from ${series} where n % 5 = 0`,
    `insert into coin_entries (project, coin, user_id, delta, balance_after, kind, source, actor, created_at)
     select 'default', 'gold', 'u' || ((n + 4) / 5), k, k * (k + 1) / 2, 'credit', 's' || n, 'seed', ${at}
       from (select n, (n + 4) % 5 + 1 as k from ${series}) e order by n`,
  ];
}
