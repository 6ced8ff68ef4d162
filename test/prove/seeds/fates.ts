import { type Chance, createChance } from '../chance.ts';

/** What becomes of every step of a world: of the same name always the same, whatever else happens. */
export interface Fates {
  /** Chance of its own for something with a name. */
  of(name: string): Chance;
  /** The first number of that chance, from 0 to below 1. */
  luck(name: string): number;
  /** One of the fates by its weight, for something with a name; the first, which is the ordinary one, in calm weather or when it was left out. */
  draw<Fate extends string>(name: string, weights: readonly (readonly [Fate, number])[]): Fate;
  /** What went otherwise than it should, by name. */
  readonly struck: ReadonlyMap<string, string>;
  /** From now on nothing goes wrong any more. */
  calm(): void;
}

/** The fates of a seed. `spared`: names of which everything goes as it should. */
export function createFates(seed: number, spared: ReadonlySet<string> = new Set()): Fates {
  const struck = new Map<string, string>();
  let isCalm = false;
  const begun = 2_166_136_261 ^ seed;
  const fated = spelt(begun, 'fate of ');
  const of = (name: string) => createChance(mixed(spelt(begun, name)));
  const luck = (name: string) => mixed(spelt(begun, name)) / 2 ** 32;
  return {
    of,
    luck,
    struck,
    draw(name, weights) {
      const [[ordinary]] = weights as [(typeof weights)[number]];
      if (isCalm || (spared.size > 0 && spared.has(name))) return ordinary;
      let sum = 0;
      for (const [, weight] of weights) sum += weight;
      let left = (mixed(spelt(fated, name)) / 2 ** 32) * sum;
      for (const [fate, weight] of weights) {
        left -= weight;
        if (left >= 0) continue;
        if (fate !== ordinary) struck.set(name, fate);
        return fate;
      }
      return ordinary;
    },
    calm: () => void (isCalm = true),
  };
}

/** The sum of letters after those before (FNV-1a). */
function spelt(sum: number, letters: string): number {
  let after = sum;
  for (let at = 0; at < letters.length; at += 1) after = Math.imul(after ^ letters.charCodeAt(at), 16_777_619);
  return after;
}

/** A seed by such a sum (the finish of MurmurHash 3). */
function mixed(spelled: number): number {
  let sum = Math.imul(spelled ^ (spelled >>> 16), 0x85eb_ca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2_ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}
