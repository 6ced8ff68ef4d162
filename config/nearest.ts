/** The error text for an unknown name, with the nearest known name as a hint. */
export function notKnown(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === undefined ? 'is not known here' : `is not known here; did you mean ${meant}?`;
}

/** The candidate nearest to `name`; undefined if no candidate is similar enough. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > 100) return undefined;
  const wanted = plain(name);
  const ranked = candidates
    .map((candidate) => ({ candidate, steps: distance(wanted, plain(candidate)) }))
    .toSorted((a, b) => a.steps - b.steps);
  const best = ranked[0];
  return best !== undefined && best.steps <= (wanted.length < 5 ? 1 : Math.max(2, wanted.length / 4))
    ? best.candidate
    : undefined;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Levenshtein distance: the number of letters to insert, delete or change. */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (let column = 0; column < to.length; column++) {
      const changed = (above[column] ?? 0) + (letter === to[column] ? 0 : 1);
      current.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    above = current;
  }
  return above[to.length] ?? from.length;
}
