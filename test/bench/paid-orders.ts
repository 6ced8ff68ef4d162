import { setTimeout as sleep } from 'node:timers/promises';
import type { Line } from './figures.ts';
import { openSimulator, processorMs, residentMegabytes } from './processes.ts';
import { openReceiver, type Receiver } from './receiver.ts';
import { post, type Service, type Stage } from './stage.ts';

const FEW = 1_500;
const MANY = 10_000;
/** Orders that are placed at the same time. */
const SIDE_BY_SIDE = 16;
/** The pause after the last order before the memory is read again. */
const CALM_MS = 120_000;

/** Measures the cost of one paid order: placed through the API, paid at the simulator, notified and sent to the shop's webhook. */
export async function measurePaidOrders(stage: Stage, large: boolean): Promise<Line[]> {
  const simulator = await openSimulator(stage.processes);
  const ours = await measure(await stage.onCopy('paid', simulator.env, 'simulator'), large ? MANY : FEW, large);
  await simulator.close();
  if (!stage.onCopyBefore) return lines(ours);
  const other = await openSimulator(stage.processes);
  const before = await measure(await stage.onCopyBefore('paid_before', other.env, 'simulator'), FEW, false);
  await other.close();
  return lines(ours, before);
}

interface Cost {
  bytes: number;
  /** The size of each table with its indexes, the largest first. */
  tables: [table: string, bytes: number][];
  cpuMs: number;
  peak: number;
  calm: number | undefined;
}

function lines(ours: Cost, before?: Cost): Line[] {
  const line = (what: string, figure: (cost: Cost) => number | undefined, unit: string, most: number): Line[] => {
    const value = figure(ours);
    if (value === undefined) return [];
    const told = `${value.toFixed(1)} ${unit}`;
    const than = before && figure(before);
    return [
      {
        what,
        ours: told,
        baseline: than === undefined ? '' : `${than.toFixed(1)} ${unit} (before)`,
        result: told,
        aim: `≤ ${most} ${unit}`,
        reached: value <= most,
      },
    ];
  };
  const parts = ours.tables.map(([table, bytes]) => `${table} ${(bytes / 1000).toFixed(2)}`);
  return [
    ...line('a paid order, all tables', ({ bytes }) => bytes / 1000, 'kB', 6),
    { what: '  of it', ours: parts.join(', '), baseline: '', result: '', aim: '', reached: undefined },
    ...line('a paid order, processor of the service', ({ cpuMs }) => cpuMs, 'ms', 8),
    ...line('memory while orders are placed', ({ peak }) => peak, 'MB', 250),
    ...line('memory two minutes after', ({ calm }) => calm, 'MB', 150),
  ];
}

async function measure(service: Service, orders: number, waits: boolean): Promise<Cost> {
  const receiver = await openReceiver();
  await post(
    `${service.url}/api/v1/api-apps/${service.clientId}/webhook`,
    { url: receiver.url },
    service.adminToken,
    'PUT',
  );
  await payMany(service, receiver, 50);
  const before = await sizes(service);
  const spent = processorMs(service.pid);
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, residentMegabytes(service.pid))), 100);
  await payMany(service, receiver, orders);
  clearInterval(watch);
  const cpuMs = (processorMs(service.pid) - spent) / orders;
  if (waits) await sleep(CALM_MS);
  const calm = waits ? residentMegabytes(service.pid) : undefined;
  const after = await sizes(service);
  const tables = [...after]
    .map(([table, bytes]): [string, number] => [table, (bytes - (before.get(table) ?? 0)) / orders])
    .filter(([, bytes]) => bytes >= 20)
    .toSorted((a, b) => b[1] - a[1]);
  receiver.close();
  return { bytes: tables.reduce((sum, [, bytes]) => sum + bytes, 0), tables, cpuMs, peak, calm };
}

/** Places orders that the simulator pays at once, and waits until each was notified. */
async function payMany({ url, token }: Service, receiver: Receiver, orders: number): Promise<void> {
  const told = receiver.told() + orders;
  let left = orders;
  const payWays = ['alipay', 'wechat', 'paypal'];
  const work = async (): Promise<void> => {
    for (; left > 0;) {
      const payWay = payWays[(left -= 1) % payWays.length];
      const body = { subject: 'Two coffees', amount: 0.01, payWay, currency: payWay === 'paypal' ? 'USD' : 'CNY' };
      await post(`${url}/api/v2/payment/pay`, body, token).catch(unlessPlaced);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  while (receiver.told() < told) await sleep(50);
}

/** Ignores an order whose payment was faster than the create response: it exists, and the webhook reports it. */
function unlessPlaced(error: Error): void {
  if (!/: 504 .*"orderNo"/.test(error.message)) throw error;
}

/** Bytes of each table with its indexes and long values; partitions count for their table. */
async function sizes({ sql }: Service): Promise<Map<string, number>> {
  const rows = await sql(
    `select coalesce(i.inhparent::regclass, c.oid::regclass)::text as name, sum(pg_total_relation_size(c.oid))::float8 as bytes
       from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_inherits i on i.inhrelid = c.oid
      where n.nspname = 'public' and c.relkind = 'r' group by 1`,
  );
  return new Map(rows.map(({ name, bytes }) => [String(name), Number(bytes)]));
}
