import autocannon from 'autocannon';
import { type Line, median } from './figures.ts';
import type { Effort } from './load.ts';
import { residentMegabytes } from './processes.ts';
import { type Ask, pay, query } from './scenarios.ts';
import type { Stage } from './stage.ts';

const MANY = 32;
/** The allowed ratio of the slowest hundredth to the median. */
const MOST_TAIL = 2.5;
const MOST_MEGABYTES = 180;
const MEMORY_SECONDS = 10;

/** Measures many concurrent requests: the wait of the slowest hundredth, and the memory after ten seconds. */
export async function measureTails({ service, bare }: Stage, { rounds, seconds }: Effort): Promise<Line[]> {
  const fire = async ({ status: _status, ...ask }: Ask, duration: number) =>
    (await autocannon({ ...ask, connections: MANY, duration })).latency;
  const tail = async (what: string, ours: Ask, baseline: Ask): Promise<Line> => {
    const tails = { ours: [] as number[], baseline: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      for (const [who, ask] of [
        ['ours', ours],
        ['baseline', baseline],
      ] as const) {
        const { p50, p99 } = await fire(ask, seconds);
        tails[who].push(p99 / Math.max(p50, 0.5));
      }
    }
    const [own, other] = [median(tails.ours), median(tails.baseline)];
    return {
      what: `${what}: p99 / p50 (${MANY} connections)`,
      ours: own.toFixed(1),
      baseline: `${other.toFixed(1)} (bare)`,
      result: own.toFixed(1),
      aim: `≤ ${MOST_TAIL}`,
      reached: own <= MOST_TAIL,
    };
  };
  const lines = [
    await tail('query', query(service, service.closedOrder), query(bare, bare.closedOrder)),
    await tail('pay', pay(service), pay(bare)),
  ];
  await fire(pay(service), MEMORY_SECONDS);
  const [own, other] = [residentMegabytes(service.pid), residentMegabytes(bare.pid)];
  lines.push({
    what: `memory after ${MEMORY_SECONDS} s of payments (${MANY} connections)`,
    ours: `${own.toFixed(0)} MB`,
    baseline: `${other.toFixed(0)} MB (bare)`,
    result: `${own.toFixed(0)} MB`,
    aim: `≤ ${MOST_MEGABYTES} MB`,
    reached: own <= MOST_MEGABYTES,
  });
  return lines;
}
