import { type Chance, createChance } from '../chance.ts';

const OFFSET = 2_166_136_261;
const PRIME = 16_777_619;

/** A named item with a fate. Its letters are hashed once; the text is built only when it is read. */
export interface Named {
  readonly sum: number;
  toString(): string;
}

/** One of several fates of the same item. */
export type Aspect = Named;

/** An aspect by name, such as `pace of `. */
export function aspectOf(words: string): Aspect {
  return { sum: spelt(OFFSET, words), toString: () => words };
}

const PLAIN = aspectOf('');

/** The fate of every step of a world: equal names have equal fates, independent of other events. */
export interface Fates {
  /** A random source of its own for a name. */
  of(name: string | Named, aspect?: Aspect): Chance;
  /** The first number of that source, from 0 to below 1. */
  luck(name: string | Named, aspect?: Aspect): number;
  /** Draws a weighted fate for a name; in calm weather or for a spared name the first one, which is the normal one. */
  draw<Fate extends string>(name: string | Named, weights: readonly (readonly [Fate, number])[], aspect?: Aspect): Fate;
  /** The faults that struck, by name. */
  readonly struck: ReadonlyMap<string, string>;
  /** Ends all faults from now on. */
  calm(): void;
}

/** The fates of a seed. `spared`: names without faults. */
export function createFates(seed: number, spared: ReadonlySet<string> = new Set()): Fates {
  const struck = new Map<string, string>();
  let isCalm = false;
  const ofSeed = mixed(OFFSET ^ seed);
  const seedOf = (name: string | Named, aspect: Aspect) =>
    mixed((typeof name === 'string' ? sumOf(name) : name.sum) ^ aspect.sum ^ ofSeed);
  return {
    of: (name, aspect = PLAIN) => createChance(seedOf(name, aspect)),
    luck: (name, aspect = PLAIN) => seedOf(name, aspect) / 2 ** 32,
    struck,
    draw(name, weights, aspect = FATE) {
      const [[ordinary]] = weights as [(typeof weights)[number]];
      if (isCalm || (spared.size > 0 && spared.has(inWords(name, aspect)))) return ordinary;
      let sum = 0;
      for (const [, weight] of weights) sum += weight;
      let left = (seedOf(name, aspect) / 2 ** 32) * sum;
      for (const [fate, weight] of weights) {
        left -= weight;
        if (left >= 0) continue;
        if (fate !== ordinary) struck.set(inWords(name, aspect), fate);
        return fate;
      }
      return ordinary;
    },
    calm: () => void (isCalm = true),
  };
}

/** The default aspect; its text is the name alone. */
const FATE: Aspect = { sum: aspectOf('fate of ').sum, toString: () => '' };

function inWords(name: string | Named, aspect: Aspect): string {
  return `${String(aspect)}${String(name)}`;
}

/** The hash of a name's letters. */
export function sumOf(letters: string): number {
  return spelt(OFFSET, letters);
}

/** Extends the hash of a name by a number. */
export function sumWith(sum: number, number: number): number {
  return Math.imul(sum ^ number, PRIME);
}

/** Extends a hash by letters (FNV-1a). */
function spelt(sum: number, letters: string): number {
  let after = sum;
  for (let at = 0; at < letters.length; at += 1) after = Math.imul(after ^ letters.charCodeAt(at), PRIME);
  return after;
}

/** Mixes a seed with such a hash (the finish of MurmurHash 3). */
function mixed(spelled: number): number {
  let sum = Math.imul(spelled ^ (spelled >>> 16), 0x85eb_ca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2_ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}
