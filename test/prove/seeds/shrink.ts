import { createPlan } from './plan.ts';
import { planWithout } from './prepare.ts';
import type { SeedOutcome } from './run-seed.ts';

/** The shortest run found with the same fault. */
export interface Shrunk {
  /** The names of the orders, acts, weather and fates left out. */
  readonly without: readonly string[];
  readonly wrong: readonly string[];
  readonly story: readonly string[];
  /** The number of remaining acts. */
  readonly acts: number;
  readonly fates: readonly (readonly [string, string])[];
}

/** Runs a seed without some items. */
type Run = (left: ReadonlySet<string>, isTold: boolean) => Promise<SeedOutcome>;

/** More tries than this cost more than they shorten. */
const MOST_TRIES = 200;

/** Leaves out items while the same fault remains: first orders, then acts and weather, then fates. */
export async function shrink(seed: number, orders: number, before: ReadonlySet<string>, run: Run): Promise<Shrunk> {
  let left = before;
  let tries = 0;
  let outcome = await run(left, false);
  const wanted = kindsOf(outcome.wrong);
  const stillFails = async (more: readonly string[]): Promise<boolean> => {
    tries += 1;
    const tried = new Set([...left, ...more]);
    const result = await run(tried, false);
    if (![...kindsOf(result.wrong)].some((kind) => wanted.has(kind))) return false;
    [left, outcome] = [tried, result];
    return true;
  };
  const drop = async (candidates: readonly string[]) => {
    for (let size = Math.ceil(candidates.length / 2), rest = [...candidates]; size >= 1 && tries < MOST_TRIES;) {
      const kept: string[] = [];
      for (let at = 0; at < rest.length; at += size) {
        const some = rest.slice(at, at + size);
        if (tries >= MOST_TRIES || !(await stillFails(some))) kept.push(...some);
      }
      rest = kept;
      size = size === 1 ? 0 : Math.ceil(size / 2);
    }
  };
  const plan = createPlan(seed, orders);
  await drop(plan.orders.map(({ id }) => id));
  const small = planWithout(seed, orders, left);
  await drop([...small.orders.flatMap(({ acts }) => acts.map(({ id }) => id)), ...small.weather.map(({ id }) => id)]);
  await drop([...outcome.struck.keys()]);
  const told = await run(left, true);
  const { orders: rest } = planWithout(seed, orders, left);
  return {
    without: [...left],
    wrong: told.wrong,
    story: told.story,
    acts: rest.reduce((sum, { acts }) => sum + acts.length, 0),
    fates: [...told.struck],
  };
}

/** The kinds of faults, without the numbers that differ between runs. */
function kindsOf(wrong: readonly string[]): ReadonlySet<string> {
  return new Set(wrong.map((words) => words.replaceAll(/\b[PR]\d{14}\w{10}(_\d+)?\b|\d+|#\w+/g, '#')));
}
