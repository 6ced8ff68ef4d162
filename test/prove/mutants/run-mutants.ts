import { startPostgres } from '../../support/postgres.ts';
import { copyCheckout, type Copy, planting } from './copy.ts';
import { commandOf, runKiller, type Verdict } from './killers.ts';
import type { Killer, Mutant } from './mutant.ts';

/** The result of a mutant. */
export interface Fate {
  readonly mutant: Mutant;
  readonly isKilled: boolean;
  readonly verdict: Verdict;
}

/** Whether the result matches the record: killed, or a listed gap. */
export function isAsListed({ mutant, isKilled, verdict }: Fate): boolean {
  return mutant.gap === undefined ? isKilled : verdict.found === 'nothing';
}

/** Each copy holds one mutant at a time. */
const AT_ONCE = 2;

/** Plants the mutants one at a time in copies of the checkout and runs the killer of each; `emit` receives each result. */
export async function runMutants(
  mutants: readonly Mutant[],
  emit: (fate: Fate) => void,
  stop: AbortSignal,
): Promise<Fate[]> {
  for (const mutant of mutants) planting(mutant);
  const needsDatabase = mutants.some(({ killedBy }) => killedBy.layer === 3) && !process.env.PAY_TEST_POSTGRES;
  const database = needsDatabase ? await startPostgres() : undefined;
  const env = { ...process.env, ...(database ? { PAY_TEST_POSTGRES: database.url } : {}) };
  const copies: Copy[] = [];
  try {
    for (let at = 0; at < Math.min(AT_ONCE, mutants.length); at += 1) copies.push(copyCheckout());
    return await inCopies(mutants, copies, (killer, dir) => runKiller(killer, dir, env, stop), { emit, stop });
  } finally {
    for (const copy of copies) copy.remove();
    await database?.stop();
  }
}

async function inCopies(
  mutants: readonly Mutant[],
  copies: readonly Copy[],
  run: (killer: Killer, dir: string) => Promise<Verdict>,
  { emit, stop }: { emit: (fate: Fate) => void; stop: AbortSignal },
): Promise<Fate[]> {
  const waiting = [...mutants.entries()];
  const fates: Fate[] = [];
  const originals = new Map<string, Promise<Verdict>>();
  const lane = async ({ dir, plant }: Copy) => {
    for (let next = waiting.shift(); next && !stop.aborted; next = waiting.shift()) {
      const [place, mutant] = next;
      const { killedBy } = mutant;
      const fate = await fateOf(mutant, await original(killedBy, dir), () => {
        const takeOut = plant(mutant);
        return run(killedBy, dir).finally(takeOut);
      });
      fates[place] = fate;
      emit(fate);
    }
  };
  /** Each killer checks the original once: a fault that it reports there is no evidence about a mutant. */
  const original = (killer: Killer, dir: string) => {
    const key = commandOf(killer).join(' ');
    if (!originals.has(key)) originals.set(key, run(killer, dir));
    return originals.get(key)!;
  };
  await Promise.all(copies.map(lane));
  return fates.filter(Boolean);
}

async function fateOf(mutant: Mutant, original: Verdict, look: () => Promise<Verdict>): Promise<Fate> {
  if (original.found !== 'nothing') {
    const words = `the original does not pass: ${original.words}`;
    return { mutant, isKilled: false, verdict: { ...original, found: 'no verdict', words } };
  }
  const verdict = await look();
  return { mutant, isKilled: verdict.found === 'a fault', verdict };
}
