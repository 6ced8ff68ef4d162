import { type Chance, createChance } from '../chance.ts';

const OFFSET = 2_166_136_261;
const PRIME = 16_777_619;

/** Whatever has a fate. Its letters are summed up once; in words it is told when somebody wants to read it. */
export interface Named {
  readonly sum: number;
  toString(): string;
}

/** One of several things that are fated of the same name. */
export type Aspect = Named;

/** An aspect in words, such as `pace of `. */
export function aspectOf(words: string): Aspect {
  return { sum: spelt(OFFSET, words), toString: () => words };
}

const PLAIN = aspectOf('');

/** What becomes of every step of a world: of the same name always the same, whatever else happens. */
export interface Fates {
  /** Chance of its own for something with a name. */
  of(name: string | Named, aspect?: Aspect): Chance;
  /** The first number of that chance, from 0 to below 1. */
  luck(name: string | Named, aspect?: Aspect): number;
  /** One of the fates by its weight, for something with a name; the first, which is the ordinary one, in calm weather or when it was left out. */
  draw<Fate extends string>(name: string | Named, weights: readonly (readonly [Fate, number])[], aspect?: Aspect): Fate;
  /** What went otherwise than it should, by name. */
  readonly struck: ReadonlyMap<string, string>;
  /** From now on nothing goes wrong any more. */
  calm(): void;
}

/** The fates of a seed. `spared`: names of which everything goes as it should. */
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

/** As it is drawn when nothing is said of the aspect; in words it is the name alone. */
const FATE: Aspect = { sum: aspectOf('fate of ').sum, toString: () => '' };

function inWords(name: string | Named, aspect: Aspect): string {
  return `${String(aspect)}${String(name)}`;
}

/** The sum of a name's letters. */
export function sumOf(letters: string): number {
  return spelt(OFFSET, letters);
}

/** The sum of a name that goes on with a number. */
export function sumWith(sum: number, number: number): number {
  return Math.imul(sum ^ number, PRIME);
}

/** The sum of letters after those before (FNV-1a). */
function spelt(sum: number, letters: string): number {
  let after = sum;
  for (let at = 0; at < letters.length; at += 1) after = Math.imul(after ^ letters.charCodeAt(at), PRIME);
  return after;
}

/** A seed by such a sum (the finish of MurmurHash 3). */
function mixed(spelled: number): number {
  let sum = Math.imul(spelled ^ (spelled >>> 16), 0x85eb_ca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2_ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}
