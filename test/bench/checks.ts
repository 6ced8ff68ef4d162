import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Line, median } from './figures.ts';
import { costOf, spent } from './load.ts';
import { alipayConfiguration, post, type Service, type Stage, wechatConfiguration } from './stage.ts';

/** Orders of a channel, spread over its accounts. */
interface Orders {
  orders: number;
  accounts: number;
}

/** The due orders: some of Alipay, which answers, and some of WeChat Pay, which is silent. */
interface Backlog {
  alipay: Orders;
  wechat: Orders;
}

const SMALL: readonly Backlog[] = [
  { alipay: { orders: 10_000, accounts: 1 }, wechat: { orders: 2_000, accounts: 1 } },
  { alipay: { orders: 10_000, accounts: 20 }, wechat: { orders: 10_000, accounts: 40 } },
];
const LARGE: readonly Backlog[] = [
  { alipay: { orders: 100_000, accounts: 1 }, wechat: { orders: 20_000, accounts: 1 } },
  { alipay: { orders: 100_000, accounts: 20 }, wechat: { orders: 100_000, accounts: 40 } },
];

const AIM = 200;

/** Measures how fast the real service checks unpaid orders beside a channel that never answers. */
export async function measureChecks(stage: Stage, workers: string, large: boolean): Promise<Line[]> {
  const lines: Line[] = [];
  for (const [at, backlog] of (large ? LARGE : SMALL).entries())
    lines.push(lineOf(backlog, workers, await drain(stage, backlog, `checks_${at}`, workers)));
  return lines;
}

/** The result of a backlog, per check unless stated otherwise. */
interface Drained {
  perSecond: number;
  cpuMs: number;
  databaseMs: number;
  transactions: number;
  silent: Stats;
  /** How long the oldest order of the silent channel has been due. */
  silentLagSeconds: number;
}

/** The call counts of the benchmark's channel. */
interface Stats {
  queried: number;
  silent: number;
  mostSilent: number;
  heldMs: number[];
}

function lineOf({ alipay, wechat }: Backlog, workers: string, drained: Drained): Line {
  const { perSecond, cpuMs, databaseMs, transactions, silent, silentLagSeconds } = drained;
  const [asked, atOnce, held] = [silent.silent, silent.mostSilent, median(silent.heldMs) / 1000];
  return {
    what: `${words(alipay)} checked beside ${words(wechat)} that are not answered, ${workers} worker${workers === '1' ? '' : 's'}`,
    ours: `${cpuMs.toFixed(1)} ms CPU, ${databaseMs.toFixed(1)} of PostgreSQL, ${transactions.toFixed(1)} transactions each`,
    baseline: `silent: ${asked} calls of ${held.toFixed(1)} s, ${atOnce} at once, lag ${Math.round(silentLagSeconds)} s`,
    result: `${Math.round(perSecond)} checks/s`,
    aim: `≥ ${AIM}`,
    reached: perSecond >= AIM,
  };
}

function words({ orders, accounts }: Orders): string {
  return `${orders.toLocaleString('en')} orders of ${accounts} account${accounts === 1 ? '' : 's'}`;
}

async function drain(stage: Stage, backlog: Backlog, database: string, workers: string): Promise<Drained> {
  const { processes, keys } = stage;
  const channel = await processes.address([join(import.meta.dirname, 'channel.ts')], {
    BENCH_CHANNEL_KEY: keys.channel.privateKey,
  });
  const asked = async () => (await (await fetch(`${channel.url}/stats`)).json()) as Stats;
  const env = { PAY_SIMULATOR_URL: channel.url, PAY_SERVER_WORKERS: workers };
  const service = await stage.onCopy(database, env);
  await configure(stage, service, backlog);
  await insertDue(service, backlog);
  const read = async () => ({
    at: performance.now(),
    queried: (await asked()).queried,
    cost: await costOf(service),
  });
  while ((await asked()).queried === 0) await sleep(20);
  const first = await read();
  while ((await asked()).queried < backlog.alipay.orders) await sleep(50);
  const last = await read();
  const silent = await asked();
  const silentLagSeconds = await lagOf(service, 'wechat');
  await requireOnce(service, backlog.alipay);
  await processes.end(service.child);
  const checks = last.queried - first.queried;
  const { cpuMs, databaseMs, transactions } = spent(first.cost, last.cost);
  return {
    perSecond: (checks / (last.at - first.at)) * 1000,
    cpuMs: cpuMs / checks,
    databaseMs: databaseMs / checks,
    transactions: transactions / checks,
    silent,
    silentLagSeconds,
  };
}

async function lagOf({ sql }: Service, payWay: string): Promise<number> {
  const [row] = await sql(
    `select extract(epoch from now() - min(next_check_at))::float8 as seconds from orders
      where pay_way = $1 and next_check_at <= now() and (leased_until is null or leased_until <= now())`,
    [payWay],
  );
  return Number(row?.['seconds'] ?? 0);
}

/** Throws unless the last answers are settled and every order was queried once. */
async function requireOnce({ sql }: Service, { orders }: Orders): Promise<void> {
  const settled = async () =>
    Number(
      (
        await sql(`select sum(checks - ${CHECKS}) as n from orders where client_id = 'bench' and pay_way = 'alipay'`)
      )[0]!['n'],
    );
  while ((await settled()) < orders) await sleep(50);
  const [row] = await sql(
    `select count(*) as n from orders where client_id = 'bench' and pay_way = 'alipay' and checks <> ${CHECKS + 1}`,
  );
  if (Number(row!['n']) > 0) throw new Error(`${row!['n']} orders were not queried exactly once`);
}

/** Each version of a project's configuration is another account; orders keep theirs. */
async function configure({ keys }: Stage, { url, adminToken }: Service, { alipay, wechat }: Backlog): Promise<void> {
  for (let n = 1; n < alipay.accounts; n++)
    await post(`${url}/api/v1/payment/config/alipay`, alipayConfiguration(keys, accountOf('alipay', n)), adminToken);
  for (let n = 0; n < wechat.accounts; n++)
    await post(`${url}/api/v1/payment/config/wechat`, wechatConfiguration(keys, accountOf('wechat', n)), adminToken);
}

const FIRST = { alipay: 2_021_000_000_000_001n, wechat: 1_900_000_001n };

function accountOf(payWay: keyof typeof FIRST, n: number): string {
  return String(FIRST[payWay] + BigInt(n));
}

/** After so many checks the next one is an hour later. */
const CHECKS = 6;

/** Makes all orders due with one commit, alternating between the channels. */
async function insertDue({ sql }: Service, { alipay, wechat }: Backlog): Promise<void> {
  await sql(
    `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject,
       amount, currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded,
       refunding, overrun, sequence, place_tries, absent_count, captures, checks, next_check_at, created_at, sent_at,
       expires_at)
     select 'P' || n, 'payment', 'bench', 'default', 'simulator', pay_way, cast(first + place % accounts as text),
            place % accounts + 1, 'qr', 'Two coffees', 1250, 'CNY', '', false, '', 'pending', false, false, 0, 0, 0, 0, 1,
            1, 0, 0, ${CHECKS}, now() - interval '1 minute' + n * interval '1 microsecond', now(), now(),
            now() + interval '2 hours'
       from (select row_number() over (order by place * share) as n, o.*
               from (select place, 'alipay' as pay_way, cast($3 as bigint) as first, $2::int as accounts, 1.0 / $1 as share
                       from generate_series(1, $1::int) place
                     union all
                     select place, 'wechat', cast($6 as bigint), $5::int, 1.0 / $4 from generate_series(1, $4::int) place) o) o`,
    [alipay.orders, alipay.accounts, accountOf('alipay', 0), wechat.orders, wechat.accounts, accountOf('wechat', 0)],
  );
  await sql('analyze orders');
}
