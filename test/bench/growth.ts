import { setTimeout as sleep } from 'node:timers/promises';
import { type Line, median } from './figures.ts';
import { freePort, untilHealthy } from './processes.ts';
import { seedOrders } from './growth-rows.ts';
import { dataOf, PAYMENT, post, type Service, type Stage } from './stage.ts';

const SMALL = [1_000];
const LARGE = [1_000, 100_000, 1_000_000, 10_000_000];
const TIMES = 30;
/** Of the figure with a thousand orders. */
const MOST_GROWTH = 1.2;
/** A difference that is smaller than this is the clock's, and that of a machine with other work (ms). */
const NOISE_MS = 3;
const MOST_START_MS = 2_000;

type Figures = Map<string, number>;

/** What the number of orders does to what people ask for; from a thousand to ten million when asked. Takes most of an hour then. */
export async function measureGrowth(stage: Stage, large: boolean): Promise<Line[]> {
  const service = await stage.onCopy('growth');
  const sizes = large ? LARGE : SMALL;
  const tables: Figures[] = [];
  let orders = 0;
  for (const size of sizes) {
    await seedOrders(service, orders, size);
    orders = size;
    tables.push(await measure(stage, service, size));
    console.log(
      `# ${size.toLocaleString('en')} orders: ${[...tables.at(-1)!].map(([what, ms]) => `${what} ${ms.toFixed(1)}`).join(', ')}`,
    );
  }
  await stage.processes.end(service.child);
  return [...tables[0]!.keys()].map((what) => lineOf(what, sizes, tables));
}

function lineOf(what: string, sizes: readonly number[], tables: readonly Figures[]): Line {
  const [first, last] = [tables[0]!.get(what)!, tables.at(-1)!.get(what)!];
  const unit = what.endsWith('rows/s') ? '' : ' ms';
  const told = (at: number) => `${tables[at]!.get(what)!.toFixed(1)}${unit} at ${sizes[at]!.toLocaleString('en')}`;
  const isStart = what === 'start until ready';
  const isRate = unit === '';
  const growth = isRate ? first / last : last / first;
  const isFlat = growth <= MOST_GROWTH || Math.abs(last - first) <= NOISE_MS;
  return {
    what,
    ours:
      sizes
        .slice(1)
        .map((_, at) => told(at + 1))
        .join(', ') || told(0),
    baseline: sizes.length > 1 ? told(0) : '',
    result: isStart ? `${last.toFixed(0)} ms` : `${growth.toFixed(2)} times`,
    aim: isStart ? `≤ ${MOST_START_MS} ms` : `≤ ${MOST_GROWTH} times`,
    reached: isStart ? last <= MOST_START_MS : sizes.length > 1 ? isFlat : undefined,
  };
}

/** Where the books begin for a look at their middle. */
const AFTER = Buffer.from('orders|S').toString('base64url');

async function measure(stage: Stage, service: Service, orders: number): Promise<Figures> {
  const { url, token, adminToken } = service;
  const middle = `S${String(Math.floor(orders / 2)).padStart(9, '0')}`;
  const gets: [string, string, string][] = [
    ['list of own orders', `${url}/api/v2/payment/orders?limit=50`, token],
    ['list of own paid orders', `${url}/api/v2/payment/orders?limit=50&status=paid`, token],
    ['console list', `${url}/api/v1/orders?limit=50`, adminToken],
    ['console list of one payer', `${url}/api/v1/orders?limit=50&userId=user-42`, adminToken],
    ['query', `${url}/api/v2/payment/query/${middle}`, token],
    ['events from the end', `${url}/api/v2/events?limit=50&after=${Math.max(0, orders - 60)}`, token],
    ['explain', `${url}/api/v1/orders/${middle}/explain`, adminToken],
    ['timeline', `${url}/api/v1/orders/${middle}/timeline`, adminToken],
    [
      'statistics of a day',
      `${url}/api/v1/stats/overview?from=2026-01-02&to=2026-01-02&tz=UTC&mode=simulator`,
      adminToken,
    ],
    ['a page of the audit', `${url}/api/v1/books?limit=1000&cursor=${AFTER}`, adminToken],
  ];
  const figures: Figures = new Map();
  for (const [what, address, bearer] of gets) figures.set(what, await latency(() => get(address, bearer)));
  figures.set('pay', await latency(async () => void (await pay(service))));
  figures.set('export, rows/s', await exportRate(service));
  figures.set('start until ready', await startAgain(stage, service));
  return figures;
}

async function get(url: string, token: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
}

async function pay({ url, token, sql }: Service): Promise<void> {
  const { orderNo } = dataOf(await post(`${url}/api/v2/payment/pay`, PAYMENT, token));
  // The channel of the benchmark answers no questions about it.
  await sql(`update orders set next_check_at = null where order_no = $1`, [orderNo]);
}

async function latency(ask: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let turn = -5; turn < TIMES; turn += 1) {
    const started = performance.now();
    await ask();
    if (turn >= 0) times.push(performance.now() - started);
  }
  return median(times);
}

const EXPORTED = 20_000;

/** Rows a second of an export that is ended after a while, or when everything was told. */
async function exportRate({ url, adminToken }: Service): Promise<number> {
  const started = performance.now();
  const answer = await fetch(`${url}/api/v1/orders/export?format=ndjson`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  let lines = 0;
  for await (const part of answer.body!) {
    lines += Buffer.from(part).filter((byte) => byte === 10).length;
    if (lines >= EXPORTED) break;
  }
  return (lines / (performance.now() - started)) * 1000;
}

const STARTS = 3;

/** From the start of a second process on the same database to its first healthy answer; the first one fills the compile cache. */
async function startAgain({ processes }: Stage, service: Service): Promise<number> {
  const times: number[] = [];
  for (let turn = -1; turn < STARTS; turn += 1) {
    const port = await freePort();
    const started = performance.now();
    const child = processes.begin([service.payctl, 'server', 'start'], {
      ...service.env,
      PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
      PAY_SERVER_DRAIN_SECONDS: '0',
    });
    child.stdout?.resume();
    await untilHealthy(`http://127.0.0.1:${port}`, child);
    if (turn >= 0) times.push(performance.now() - started);
    await processes.end(child);
    await sleep(100);
  }
  return median(times);
}
