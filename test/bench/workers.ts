import type { Line } from './figures.ts';
import { type Ask, compare, type Effort } from './load.ts';
import { childrenOf, limitProcessor } from './quota.ts';
import { queryClosed, shotOf, type Spread, token } from './scenarios.ts';
import { type App, APPS, type Stage } from './stage.ts';

/** The minimum gain of a second worker where the database is not the limit. */
const AIM = 1.7;
/** The processor share of each process of the service: two processors are enough for two workers, the database and the load. */
const SHARE = 0.25;

/**
 * Measures two workers beside one, each over its own database on the same server. Each process may use a quarter of a processor, so
 * that neither the database nor the load generator is the limit; where no quota can be set, they share the processors with all other
 * processes.
 */
export async function measureWorkers(
  { onCopy, processes }: Stage,
  effort: Effort,
  connections: readonly number[],
  keys: Spread,
): Promise<Line[]> {
  const one = await onCopy('one_worker', {}, 'channel', APPS);
  const two = await onCopy('two_workers', { PAY_SERVER_WORKERS: '2' }, 'channel', APPS);
  const limits = [one.pid, ...childrenOf(two.pid)].map((pid) => limitProcessor(pid, SHARE));
  const isLimited = limits.every((limit) => limit !== undefined);
  const lines: Line[] = [];
  const measure = async (name: string, asks: (app: App) => Ask[], efficiency: number) => {
    const beside = {
      of: 'one worker' as const,
      shot: shotOf(one, asks, keys),
      efficiency,
      ...(isLimited && { aim: AIM }),
    };
    const ours = shotOf(two, asks, keys);
    for (const many of connections)
      lines.push(...(await compare({ name, connections: many, ours, baselines: [beside] }, effort)));
  };
  const workers = `two workers${isLimited ? ` of ${SHARE} processors each` : ''}`;
  await measure(`token, ${workers}`, (app) => [token(app)], 0.92);
  await measure(`query, ${workers}`, queryClosed, 0.95);
  for (const end of limits) end?.();
  for (const { child } of [one, two]) await processes.end(child);
  return lines;
}
