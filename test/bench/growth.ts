import { type Line, median } from './figures.ts';
import { freePort, untilHealthy } from './processes.ts';
import { seedOrders } from './growth-rows.ts';
import { dataOf, PAYMENT, post, type Service, type Stage } from './stage.ts';

const SMALL = [1_000];
const LARGE = [1_000, 100_000, 1_000_000, 10_000_000];
/** The orders of the comparison service: somewhat more than a day, so that a day's figures cover equal numbers. */
const BESIDE = 30_000;
const TIMES = 30;
/** The allowed ratio to the comparison figure. */
const MOST_GROWTH = 1.2;
/** Smaller differences are clock noise and other load of the machine (ms). */
const NOISE_MS = 3;
const MOST_START_MS = 2_000;

/** A figure of the growing service, and the comparison figure at the same time. */
interface Pair {
  ours: number;
  beside: number;
}

type Figures = Map<string, Pair>;

/**
 * Measures how the number of orders affects common requests, from a thousand to ten million with `large`, which takes half an hour.
 * Every figure alternates with that of a service of constant size, so that other load of the machine affects both.
 */
export async function measureGrowth(stage: Stage, large: boolean): Promise<Line[]> {
  const service = await stage.onCopy('growth');
  const beside = await stage.onCopy('growth_beside');
  await seedOrders(beside, 0, BESIDE);
  const sizes = large ? LARGE : SMALL;
  const tables: Figures[] = [];
  let orders = 0;
  for (const size of sizes) {
    await seedOrders(service, orders, size);
    orders = size;
    tables.push(await measure(stage, [service, size], [beside, BESIDE]));
    const told = [...tables.at(-1)!].map(
      ([what, pair]) => `${what} ${pair.ours.toFixed(1)} / ${pair.beside.toFixed(1)}`,
    );
    console.log(`# ${size.toLocaleString('en')} / ${BESIDE.toLocaleString('en')} orders: ${told.join(', ')}`);
  }
  for (const { child } of [service, beside]) await stage.processes.end(child);
  return [...tables[0]!.keys()].map((what) => lineOf(what, sizes, tables));
}

function lineOf(what: string, sizes: readonly number[], tables: readonly Figures[]): Line {
  const last = tables.at(-1)!.get(what)!;
  const isRate = what.endsWith('rows/s');
  const unit = isRate ? '' : ' ms';
  const isStart = what === 'start until ready';
  const growth = isRate ? last.beside / last.ours : last.ours / last.beside;
  const isFlat = growth <= MOST_GROWTH || (!isRate && Math.abs(last.ours - last.beside) <= NOISE_MS);
  return {
    what,
    ours: sizes
      .map((size, at) => `${tables[at]!.get(what)!.ours.toFixed(1)}${unit} at ${size.toLocaleString('en')}`)
      .join(', '),
    baseline: `${last.beside.toFixed(1)}${unit} at ${BESIDE.toLocaleString('en')}`,
    result: isStart ? `${last.ours.toFixed(0)} ms` : `${growth.toFixed(2)} times`,
    aim: isStart ? `≤ ${MOST_START_MS} ms` : `≤ ${MOST_GROWTH} times`,
    reached: isStart ? last.ours <= MOST_START_MS : sizes.length > 1 ? isFlat : undefined,
  };
}

/** A ledger check cursor in the middle of the orders. */
const AFTER = Buffer.from('orders|S').toString('base64url');

type Sized = readonly [service: Service, orders: number];

async function measure(stage: Stage, one: Sized, other: Sized): Promise<Figures> {
  const figures: Figures = new Map();
  const others = new Map(asksOf(other));
  for (const [what, ask] of asksOf(one))
    figures.set(what, await inTurns(TIMES, latencyOf(ask), latencyOf(others.get(what)!)));
  const [ours, beside] = [one[0], other[0]];
  figures.set(
    'export, rows/s',
    await inTurns(
      EXPORTS,
      () => exportRate(ours),
      () => exportRate(beside),
    ),
  );
  figures.set(
    'start until ready',
    await inTurns(
      STARTS,
      () => startAgain(stage, ours),
      () => startAgain(stage, beside),
    ),
  );
  return figures;
}

function asksOf([service, orders]: Sized): [what: string, ask: () => Promise<void>][] {
  const { url, token, adminToken } = service;
  const middle = `S${String(Math.floor(orders / 2)).padStart(9, '0')}`;
  const day = '2026-01-02';
  const reads: [string, string, string][] = [
    ['list of own orders', '/api/v2/payment/orders?limit=50', token],
    ['list of own paid orders', '/api/v2/payment/orders?limit=50&status=paid', token],
    ['console list', '/api/v1/orders?limit=50', adminToken],
    ['console list of one payer', '/api/v1/orders?limit=50&userId=user-42', adminToken],
    ['query', `/api/v2/payment/query/${middle}`, token],
    ['events from the end', `/api/v2/events?limit=50&after=${Math.max(0, orders - 60)}`, token],
    ['explain', `/api/v1/orders/${middle}/explain`, adminToken],
    ['timeline', `/api/v1/orders/${middle}/timeline`, adminToken],
    ['statistics of a day', `/api/v1/stats/overview?from=${day}&to=${day}&tz=UTC&mode=simulator`, adminToken],
    ['a page of the audit', `/api/v1/books?limit=1000&cursor=${AFTER}`, adminToken],
  ];
  return [
    ...reads.map(([what, path, bearer]): [string, () => Promise<void>] => [what, () => get(url + path, bearer)]),
    ['pay', () => pay(service)],
  ];
}

/** The medians of both measurements, taken in alternation after one warm-up each. */
async function inTurns(times: number, ours: () => Promise<number>, beside: () => Promise<number>): Promise<Pair> {
  const found = { ours: [] as number[], beside: [] as number[] };
  for (let turn = -1; turn < times; turn += 1) {
    const pair = { ours: await ours(), beside: await beside() };
    if (turn >= 0) for (const who of ['ours', 'beside'] as const) found[who].push(pair[who]);
  }
  return { ours: median(found.ours), beside: median(found.beside) };
}

async function get(url: string, token: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
}

async function pay({ url, token, sql }: Service): Promise<void> {
  const { orderNo } = dataOf(await post(`${url}/api/v2/payment/pay`, PAYMENT, token));
  // The benchmark's channel answers no queries about this order.
  await sql(`update orders set next_check_at = null where order_no = $1`, [orderNo]);
}

const latencyOf = (ask: () => Promise<void>) => async (): Promise<number> => {
  const started = performance.now();
  await ask();
  return performance.now() - started;
};

const EXPORTS = 5;
const EXPORTED = 20_000;

/** Rows per second of an export that is aborted after a while, or completed. */
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

/** From the start of a second process on the same database to its first healthy answer (ms). */
async function startAgain({ processes }: Stage, service: Service): Promise<number> {
  const port = await freePort();
  const started = performance.now();
  const child = processes.begin([service.payctl, 'server', 'start'], {
    ...service.env,
    PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
    PAY_SERVER_DRAIN_SECONDS: '0',
  });
  child.stdout?.resume();
  await untilHealthy(`http://127.0.0.1:${port}`, child);
  const took = performance.now() - started;
  await processes.end(child);
  return took;
}
