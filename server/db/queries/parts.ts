/** What one bounded part of a clean-up did. */
export interface Part<Place> {
  removed: number;
  /** Where the next part begins; undefined after the last. */
  next: Place | undefined;
}

/** Rows that one part looks at: well below what a statement has time for, also on a slow disk. */
export const PART_ROWS = 2_000;

/**
 * Cleans up part by part, each in a commit of its own, so that a table of any size gets done and what was done stays.
 * Returns how many rows went; `goesOn` says before each part whether there is still time.
 */
export async function inParts<Place>(
  clean: (from: Place | undefined) => Promise<Part<Place>>,
  goesOn: () => boolean = () => true,
): Promise<number> {
  let sum = 0;
  let from: Place | undefined;
  do {
    const { removed, next } = await clean(from);
    sum += removed;
    from = next;
  } while (from !== undefined && goesOn());
  return sum;
}
