import { type DatabaseName, planWithout, prepareWorlds, type Worlds } from './prepare.ts';
import type { SeedOutcome } from './run-seed.ts';
import { shrink, type Shrunk } from './shrink.ts';
import { PLANTED, type PlantedName } from './planted.ts';

/** What a thread is to run. */
export interface WorkOrder {
  readonly on: DatabaseName;
  /** One after the other. */
  readonly seeds: readonly number[];
  readonly orders: number;
  /** What is left out of the plan, and which fates do not strike, by name. */
  readonly without?: readonly string[];
  readonly isTold?: boolean;
  /** A seed that finds something is made short. */
  readonly isShrunk?: boolean;
  /** A fault of the service's that is put in, to see whether it is found. */
  readonly planted?: PlantedName;
}

/** What came of a seed, as it goes from thread to thread. */
export interface SeedResult extends Omit<SeedOutcome, 'struck'> {
  readonly struck: readonly (readonly [string, string])[];
  readonly shrunk?: Shrunk;
}

/** To make one short takes many runs; when many seeds find something, they find the same. */
const MOST_SHORT = 2;

/** Runs seeds in this thread, and tells each as soon as it is done. */
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
