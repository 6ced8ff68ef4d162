/** A seeded random source that repeats its numbers. */
export interface Chance {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number;
  /** Returns true with this probability. */
  happens(probability: number): boolean;
  pick<T>(all: readonly T[]): T;
  /** One of the names, by its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name;
  /** A separate source, so that draws from one do not change the other. */
  fork(): Chance;
}

/** The generator mulberry32: 32 bits of state, the same on every machine. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    whole,
    happens: (probability) => next() < probability,
    pick: (all) => all[whole(0, all.length - 1)]!,
    weighted<Name extends string>(weights: Readonly<Record<Name, number>>) {
      const all = Object.entries<number>(weights);
      let left = next() * all.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of all) if ((left -= weight) < 0) return name as Name;
      return all[0]![0] as Name;
    },
    fork: () => createChance(Math.floor(next() * 2 ** 32)),
  };
}
