import { type DatabaseName, planWithout, prepareWorlds, type Worlds } from './prepare.ts';
import type { SeedOutcome } from './run-seed.ts';
import { shrink, type Shrunk } from './shrink.ts';
import { PLANTED, type PlantedName } from './planted.ts';

/** The work of a thread. */
export interface WorkOrder {
  readonly on: DatabaseName;
  /** Run one after the other. */
  readonly seeds: readonly number[];
  readonly orders: number;
  /** The names left out of the plan, and of fates that do not strike. */
  readonly without?: readonly string[];
  readonly isTold?: boolean;
  /** Whether a seed with a finding is shrunk. */
  readonly isShrunk?: boolean;
  /** A fault planted in the service, which the seeds must find. */
  readonly planted?: PlantedName;
}

/** The result of a seed, as it is passed between threads. */
export interface SeedResult extends Omit<SeedOutcome, 'struck'> {
  readonly struck: readonly (readonly [string, string])[];
  readonly shrunk?: Shrunk;
}

/** Shrinking takes many runs, and many seeds with findings have the same one. */
const MOST_SHORT = 2;

/** Runs seeds in this thread, and reports each as soon as it is done. */
export async function runOrder(order: WorkOrder, emit: (result: SeedResult) => void): Promise<void> {
  const worlds: Worlds = await prepareWorlds(order.on);
  const { orders, isTold = false, isShrunk = true, planted } = order;
  const spoil = planted && PLANTED[planted];
  let short = 0;
  for (const seed of order.seeds) {
    const run = (left: ReadonlySet<string>, tellsStory: boolean) =>
      worlds.run(planWithout(seed, orders, left), { spared: left, isTold: tellsStory, ...(spoil && { spoil }) });
    const left = new Set(order.without);
    const { struck, ...outcome } = await run(left, isTold);
    const isWorthIt = outcome.wrong.length > 0 && isShrunk && (short += 1) <= MOST_SHORT;
    const shrunk = isWorthIt ? await shrink(seed, orders, left, run) : undefined;
    emit({ ...outcome, struck: [...struck], ...(shrunk && { shrunk }) });
  }
}
