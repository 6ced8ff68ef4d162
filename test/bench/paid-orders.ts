import { setTimeout as sleep } from 'node:timers/promises';
import type { Line } from './figures.ts';
import { costOf, spent } from './load.ts';
import { openSimulator, processorMs, residentMegabytes } from './processes.ts';
import { openReceiver, type Receiver } from './receiver.ts';
import { type BareSettings, type Caller, post, type Service, type Stage } from './stage.ts';

const FEW = 1_500;
const MANY = 10_000;
/** Orders that are placed at the same time. */
const SIDE_BY_SIDE = 16;
/** The pause after the last order before the memory is read again. */
const CALM_MS = 120_000;
/** The turns of each program beside the bare one, and the orders of a turn. */
const TURNS = 4;
const EACH_TURN = 200;
/** The allowed processor time beside the bare program. */
const MOST_BESIDE = 1.5;

/** Measures the cost of one paid order: placed through the API, paid at the simulator, notified and sent to the shop's webhook. */
export async function measurePaidOrders(stage: Stage, large: boolean): Promise<Line[]> {
  const simulator = await openSimulator(stage.processes);
  const receiver = await openReceiver();
  const open = async (start: Stage['onCopy'], name: string): Promise<Service> => {
    const service = await start(name, simulator.env, 'simulator');
    const hook = `${service.url}/api/v1/api-apps/${service.clientId}/webhook`;
    await post(hook, { url: receiver.url }, service.adminToken, 'PUT');
    return service;
  };
  const service = await open(stage.onCopy, 'paid');
  const ours = await measure(service, receiver, large ? MANY : FEW, large);
  const bare = await stage.bareOnCopy('paid_bare', { ...(await accountAt(simulator.url)), webhook: receiver.url });
  const other = stage.onCopyBefore && (await open(stage.onCopyBefore, 'paid_before'));
  const before = other && (await measure(other, receiver, FEW, false));
  const beside = await measureBeside([service, bare, ...(other ? [other] : [])], receiver);
  for (const { child } of [service, bare, ...(other ? [other] : [])]) await stage.processes.end(child);
  receiver.close();
  await simulator.close();
  return [...lines(ours, before), beside];
}

/** The bare program's account is that of the services at the same simulator. */
async function accountAt(simulator: string): Promise<Partial<BareSettings>> {
  const answer = await fetch(`${simulator}/sim/config?account=default`);
  const { alipay } = (await answer.json()) as {
    alipay: { fields: { appId: string }; pems: Record<'alipay_app_key' | 'alipay_public_key', [string]> };
  };
  const { alipay_app_key: app, alipay_public_key: channel } = alipay.pems;
  return { gateway: simulator, appId: alipay.fields.appId, appKey: app[0], channelKey: channel[0] };
}

/** Compares the processor time of an Alipay order in turns; that of the database counts, and that of the simulator does not. */
async function measureBeside(programs: readonly Caller[], receiver: Receiver): Promise<Line> {
  const sums = programs.map(() => ({ cpuMs: 0, databaseMs: 0 }));
  for (let turn = -1; turn < TURNS; turn += 1)
    for (const [at, program] of programs.entries()) {
      const first = await costOf(program);
      await payMany(program, receiver, turn < 0 ? 50 : EACH_TURN, ['alipay']);
      const { cpuMs, databaseMs } = spent(first, await costOf(program));
      if (turn < 0) continue;
      sums[at]!.cpuMs += cpuMs;
      sums[at]!.databaseMs += databaseMs;
    }
  const [ours, bare] = sums as [Spent, Spent];
  const told = ({ cpuMs, databaseMs }: Spent) =>
    [cpuMs, databaseMs].map((ms) => (ms / TURNS / EACH_TURN).toFixed(2)).join(' + ');
  const ratio = (ours.cpuMs + ours.databaseMs) / (bare.cpuMs + bare.databaseMs);
  return {
    what: 'a paid order of Alipay, processor of the program + PostgreSQL',
    ours: `${told(ours)} ms`,
    baseline: `${told(bare)} ms (bare)${sums[2] ? `, ${told(sums[2])} ms (before)` : ''}`,
    result: `${ratio.toFixed(2)} of bare, ${(ours.cpuMs / bare.cpuMs).toFixed(2)} without PostgreSQL`,
    aim: `≤ ${MOST_BESIDE}`,
    reached: ratio <= MOST_BESIDE,
  };
}

type Spent = Pick<ReturnType<typeof spent>, 'cpuMs' | 'databaseMs'>;

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
    ...line('a paid order, all tables', ({ bytes }) => bytes / 1000, 'kB', 5),
    { what: '  of it', ours: parts.join(', '), baseline: '', result: '', aim: '', reached: undefined },
    ...line('a paid order, processor of the service', ({ cpuMs }) => cpuMs, 'ms', 8),
    ...line('memory while orders are placed', ({ peak }) => peak, 'MB', 250),
    ...line('memory two minutes after', ({ calm }) => calm, 'MB', 190),
  ];
}

async function measure(service: Service, receiver: Receiver, orders: number, waits: boolean): Promise<Cost> {
  await payMany(service, receiver, 50);
  const before = await sizes(service);
  const spent = processorMs(service.pid);
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, residentMegabytes(service.pid))), 100);
  await payMany(service, receiver, orders).finally(() => clearInterval(watch));
  const cpuMs = (processorMs(service.pid) - spent) / orders;
  if (waits) await sleep(CALM_MS);
  const calm = waits ? residentMegabytes(service.pid) : undefined;
  const after = await sizes(service);
  const tables = [...after]
    .map(([table, bytes]): [string, number] => [table, (bytes - (before.get(table) ?? 0)) / orders])
    .filter(([, bytes]) => bytes >= 20)
    .toSorted((a, b) => b[1] - a[1]);
  return { bytes: tables.reduce((sum, [, bytes]) => sum + bytes, 0), tables, cpuMs, peak, calm };
}

/** Places orders that the simulator pays at once, and waits until each was notified. */
async function payMany(
  { url, token }: Caller,
  receiver: Receiver,
  orders: number,
  payWays: readonly string[] = ['alipay', 'wechat', 'paypal'],
): Promise<void> {
  const told = receiver.told() + orders;
  let left = orders;
  const work = async (): Promise<void> => {
    for (; left > 0;) {
      const payWay = payWays[(left -= 1) % payWays.length];
      const body = { subject: 'Two coffees', amount: 0.01, payWay, currency: payWay === 'paypal' ? 'USD' : 'CNY' };
      if (!(await post(`${url}/api/v2/payment/pay`, body, token).then(() => true, unlessUndecided))) left += 1;
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  while (receiver.told() < told) await sleep(50);
}

/**
 * Returns false if another order must be placed: a busy machine refused this one, or its payment or time-out was faster than
 * the create response. Whether the latter is reported is unknown; one order more or less does not change the figures.
 */
function unlessUndecided(error: Error): false {
  if (/: 50[34] /.test(error.message)) return false;
  throw error;
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
