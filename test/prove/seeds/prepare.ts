import { setImmediate as turn } from 'node:timers/promises';
import { reseed, takeOverRandom } from '../explore/seeded-random.ts';
import { takeOverKeyPairs, takeOverSignatures } from './cheap-signatures.ts';
import { Clockwork } from './clockwork.ts';
import { openPglite, type WorldDatabase } from './databases.ts';
import { createPlan, type Plan } from './plan.ts';
import { runSeed, type SeedOptions, type SeedOutcome } from './run-seed.ts';
import { type ChannelKeys, makeChannelKeys } from './simulated-channels.ts';
import { takeOverTime } from './virtual-time.ts';
import { BEGINNING } from './world.ts';

/** The databases that a world can have. */
export const DATABASES = ['memory', 'pglite'] as const;
export type DatabaseName = (typeof DATABASES)[number];

/** Runs worlds in this process, whose time, random numbers and signatures they take over. */
export interface Worlds {
  run(plan: Plan, options?: Omit<SeedOptions, 'keys' | 'database'>): Promise<SeedOutcome>;
}

/** Takes the process over. */
export async function prepareWorlds(on: DatabaseName = 'memory'): Promise<Worlds> {
  const pglite = on === 'pglite' ? await openPglite() : undefined;
  // Refusals are normal answers here, and their stack traces are not read.
  Error.stackTraceLimit = 0;
  takeOverRandom();
  takeOverKeyPairs();
  reseed('keys');
  takeOverTime(new Clockwork(BEGINNING, () => {}), () => undefined);
  const keys: ChannelKeys = await makeChannelKeys();
  takeOverSignatures();
  return {
    async run(plan, options) {
      // The event loop gets no turn within a world, and Node frees memory only there.
      await turn();
      const database: WorldDatabase | undefined = await pglite?.empty();
      return runSeed(plan, { ...options, keys, database });
    },
  };
}

/** The plan of a seed without some of its orders, acts and weather. */
export function planWithout(seed: number, orders: number, left: ReadonlySet<string>): Plan {
  const plan = createPlan(seed, orders);
  return {
    ...plan,
    orders: plan.orders
      .filter(({ id }) => !left.has(id))
      .map((order) => ({ ...order, acts: order.acts.filter(({ id }) => !left.has(id)) })),
    weather: plan.weather.filter(({ id }) => !left.has(id)),
  };
}
