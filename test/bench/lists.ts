import { type Line, median } from './figures.ts';
import type { Service, Stage } from './stage.ts';

const SMALL = 1_000;
const LARGE = 1_000_000;
const TIMES = 60;

/** How long lists and queries take, one after the other, with a thousand orders and, when asked, with a million. */
export async function measureLists({ processes, onCopy }: Stage, large: boolean): Promise<Line[]> {
  const small = await measure(await onCopy('small'), SMALL);
  if (!large) return lines(small);
  const service = await onCopy('large');
  const figures = await measure(service, LARGE);
  await processes.end(service.child);
  return lines(small, figures);
}

type Figures = Record<string, number>;

function lines(small: Figures, large?: Figures): Line[] {
  return Object.entries(small).map(([what, ms]) => ({
    what,
    ours: large ? `${large[what]!.toFixed(1)} ms at ${LARGE.toLocaleString('en')}` : `${ms.toFixed(1)} ms`,
    baseline: `${ms.toFixed(1)} ms at ${SMALL.toLocaleString('en')}`,
    result: large ? `${(large[what]! / ms).toFixed(2)} times` : `${ms.toFixed(1)} ms`,
    aim: '',
    reached: undefined,
  }));
}

async function measure(service: Service, orders: number): Promise<Figures> {
  await seed(service, orders);
  const { url, token, adminToken } = service;
  const middle = `S${String(orders / 2).padStart(9, '0')}`;
  const shots: [string, string, string][] = [
    ['list of own orders, 50', `${url}/api/v2/payment/orders?limit=50`, token],
    ['list of own paid orders, 50', `${url}/api/v2/payment/orders?limit=50&status=paid`, token],
    ['console list, 50', `${url}/api/v1/orders?limit=50`, adminToken],
    ['console list by payer, 50', `${url}/api/v1/orders?limit=50&userId=user-42`, adminToken],
    ['query', `${url}/api/v2/payment/query/${middle}`, token],
  ];
  const figures: Figures = {};
  for (const [what, address, bearer] of shots) figures[what] = await latency(address, bearer);
  return figures;
}

async function latency(url: string, token: string): Promise<number> {
  const times: number[] = [];
  for (let turn = -10; turn < TIMES; turn++) {
    const started = performance.now();
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
    if (turn >= 0) times.push(performance.now() - started);
  }
  return median(times);
}

/** Closed and paid orders of the last months, as many for each of 997 payers, in parts that PostgreSQL takes easily. */
async function seed({ sql, clientId }: Service, orders: number): Promise<void> {
  const part = 100_000;
  for (let from = 1; from <= orders; from += part)
    await sql(
      `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject,
         order_type, user_id, amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered,
         paid, paid_at, closed_at, refunded, refunding, overrun, channel_trade_no, sequence, place_tries, absent_count,
         captures, checks, created_at, sent_at, expires_at)
       select 'S' || lpad(n::text, 9, '0'), 'payment', $1, 'default', 'simulator', 'alipay', '1', 1, 'qr', 'Two coffees',
         'goods', 'user-' || n % 997, 1000 + n % 500, 'CNY', '', false, '{}',
         case when n % 3 = 0 then 'closed' else 'paid' end, false, false,
         case when n % 3 = 0 then 0 else 1000 + n % 500 end, case when n % 3 <> 0 then at end,
         case when n % 3 = 0 then at end, 0, 0, 0, case when n % 3 <> 0 then 'T' || n end, 2, 1, 0, 0, 0, at, at, at
         from (select n, now() - (${orders} - n) * interval '7 seconds' as at from generate_series($2::int, $3::int) n) o`,
      [clientId, from, Math.min(orders, from + part - 1)],
    );
  await sql('vacuum analyze orders');
}
