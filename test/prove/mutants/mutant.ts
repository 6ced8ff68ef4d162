/** A place in the source: text that occurs there exactly once, and its replacement. */
export interface Planted {
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

/** The killer that must find a mutant: the cheapest layer that can. */
export type Killer =
  /** Every state of a scope, up to this many. */
  | { readonly layer: 1; readonly scope: string; readonly states: number }
  /** The seeded simulation. */
  | { readonly layer: 2; readonly seeds: string }
  /** A recorded history in its test, or a test on PostgreSQL; the tests of a file with this title, or all of them. */
  | { readonly layer: 3; readonly file: string; readonly title?: string };

/** A small, plausible or historical fault, planted in a copy of the checkout. */
export interface Mutant extends Planted {
  /** The fault in plain words. */
  readonly name: string;
  /** The origin of the fault; `plain` = no particular one. */
  readonly from: 'early build' | 'peers' | 'found by layer 1' | 'plain';
  /** Further places of the fault. */
  readonly also?: readonly Planted[];
  readonly killedBy: Killer;
  /** Why it survives, if it does: a known and listed gap. */
  readonly gap?: string;
  /** Whether the small form runs it too. */
  readonly isQuick?: true;
}

/** Returns a layer 1 killer. */
export function explored(scope: string, states = 20_000): Killer {
  return { layer: 1, scope, states };
}

/** Returns a layer 3 killer. */
export function witnessed(file: string, title?: string): Killer {
  return { layer: 3, file, ...(title === undefined ? {} : { title }) };
}

/** Returns every place of a mutant. */
export function placesOf({ file, find, put, also = [] }: Mutant): Planted[] {
  return [{ file, find, put }, ...also];
}

/** Returns the source with a fault planted; throws if its place is not found exactly once. */
export function plantIn(source: string, { file, find, put }: Planted): string {
  const times = source.split(find).length - 1;
  if (times !== 1) throw new Error(`${file} has ${times} times: ${find.split('\n')[0]}`);
  return source.replace(find, () => put);
}
