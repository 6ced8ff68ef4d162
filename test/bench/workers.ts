import { type Line } from './figures.ts';
import { compare, type Effort, type Scenario } from './load.ts';
import { childrenOf, limitProcessor } from './quota.ts';
import { type Ask, query, token } from './scenarios.ts';
import type { Caller, Stage } from './stage.ts';

/** The minimum gain of a second worker where the database is not the limit. */
const AIM = 1.7;
/** The processor share of each process of the service: two processors are enough for two workers, the database and the load. */
const SHARE = 0.25;

/**
 * Measures two workers beside one, each over its own database on the same server. Each process may use a quarter of a processor, so
 * that neither the database nor the load generator is the limit; where no quota can be set, they share the processors with all other
 * processes.
 */
export async function measureWorkers({ onCopy, processes }: Stage, effort: Effort): Promise<Line[]> {
  const one = await onCopy('one_worker');
  const two = await onCopy('two_workers', { PAY_SERVER_WORKERS: '2' });
  const limits = [one.pid, ...childrenOf(two.pid)].map((pid) => limitProcessor(pid, SHARE));
  const isLimited = limits.every((limit) => limit !== undefined);
  const scenario = (name: string, shot: (caller: Caller) => Ask): Scenario => ({
    name: `${name}, two workers${isLimited ? ` of ${SHARE} processors each` : ''}`,
    of: 'one worker',
    ...(isLimited && { aim: AIM }),
    ours: { ...shot(two), pid: two.pid },
    baseline: { ...shot(one), pid: one.pid },
    putOff: async () => {},
  });
  const lines: Line[] = [];
  for (const each of [scenario('token', token), scenario('query', (caller) => query(caller, caller.closedOrder))])
    lines.push(await compare(each, effort));
  for (const end of limits) end?.();
  for (const { child } of [one, two]) await processes.end(child);
  return lines;
}
