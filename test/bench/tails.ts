import { type Line, median } from './figures.ts';
import { type Ask, type Effort, fire } from './load.ts';
import { residentMegabytes } from './processes.ts';
import { pay, queryClosed, shotOf, type Spread } from './scenarios.ts';
import type { App, Stage } from './stage.ts';

const MANY = 32;
/** The allowed ratio of the slowest hundredth to the median. */
const MOST_TAIL = 2.5;
const MOST_MEGABYTES = 200;
const MEMORY_SECONDS = 10;

/** Measures many concurrent requests: the wait of the slowest hundredth, and the memory after ten seconds. */
export async function measureTails(stage: Stage, { rounds, seconds }: Effort, keys: Spread): Promise<Line[]> {
  const { service, bare } = stage;
  const tail = async (what: string, asks: (app: App) => Ask[]): Promise<Line> => {
    const tails = [service, bare].map((caller) => ({ shot: shotOf(caller, asks, keys), found: [] as number[] }));
    for (let round = 0; round < rounds; round += 1)
      for (const { shot, found } of tails) {
        const { p50, p99 } = await fire(shot, MANY, seconds);
        found.push(p99 / Math.max(p50, 0.5));
      }
    const [own, other] = tails.map(({ found }) => median(found)) as [number, number];
    return {
      what: `${what}: p99 / p50 (${MANY} connections)`,
      ours: own.toFixed(1),
      baseline: `${other.toFixed(1)} (bare)`,
      result: own.toFixed(1),
      aim: `≤ ${MOST_TAIL}`,
      reached: own <= MOST_TAIL,
    };
  };
  const lines = [await tail('query', queryClosed), await tail('pay', (app) => [pay(app)])];
  return [...lines, await measureMemory(stage)];
}

/** The programs are started for this, so that no earlier measurement counts. */
async function measureMemory({ onCopy, onCopyBefore, bareOnCopy, processes }: Stage): Promise<Line> {
  const found: number[] = [];
  for (const start of [onCopy, bareOnCopy, ...(onCopyBefore ? [onCopyBefore] : [])]) {
    const program = await start(`memory_${found.length}`);
    await fire(
      shotOf(program, (app) => [pay(app)], 'one'),
      MANY,
      MEMORY_SECONDS,
    );
    found.push(residentMegabytes(program.pid));
    await processes.end(program.child);
  }
  const [own, bare, before] = found.map((megabytes) => `${megabytes.toFixed(0)} MB`);
  return {
    what: `memory after ${MEMORY_SECONDS} s of payments (${MANY} connections)`,
    ours: own!,
    baseline: `${bare} (bare)${before ? `, ${before} (before)` : ''}`,
    result: own!,
    aim: `≤ ${MOST_MEGABYTES} MB`,
    reached: found[0]! <= MOST_MEGABYTES,
  };
}
