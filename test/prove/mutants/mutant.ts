/** A place in the source: text that occurs there exactly once, and what is planted instead. */
export interface Planted {
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

/** What has to find a mutant: the cheapest layer that does. */
export type Killer =
  /** Every state of a scope, up to so many. */
  | { readonly layer: 1; readonly scope: string; readonly states: number }
  /** The seeded simulation. */
  | { readonly layer: 2; readonly seeds: string }
  /** Witnesses: a recorded history in its test, or a test on PostgreSQL; the tests of a file with this title, or all of them. */
  | { readonly layer: 3; readonly file: string; readonly title?: string };

/** A small fault that somebody could make, or made; planted in a copy of the checkout. */
export interface Mutant extends Planted {
  /** What is wrong then, in plain words. */
  readonly name: string;
  /** Whose fault it was; `plain` = anybody's. */
  readonly from: 'early build' | 'peers' | 'found by layer 1' | 'plain';
  /** More places, when one is not enough. */
  readonly also?: readonly Planted[];
  readonly killedBy: Killer;
  /** Why it lives, if it does: a gap that is known, and listed. */
  readonly gap?: string;
  /** Whether the small form runs it, too. */
  readonly isQuick?: true;
}

/** Layer 1 as a killer. */
export function explored(scope: string, states = 20_000): Killer {
  return { layer: 1, scope, states };
}

/** Layer 3 as a killer. */
export function witnessed(file: string, title?: string): Killer {
  return { layer: 3, file, ...(title === undefined ? {} : { title }) };
}

/** Every place of a mutant. */
export function placesOf({ file, find, put, also = [] }: Mutant): Planted[] {
  return [{ file, find, put }, ...also];
}

/** The source with a fault planted; throws when its place is not there exactly once. */
export function plantIn(source: string, { file, find, put }: Planted): string {
  const times = source.split(find).length - 1;
  if (times !== 1) throw new Error(`${file} has ${times} times: ${find.split('\n')[0]}`);
  return source.replace(find, () => put);
}
