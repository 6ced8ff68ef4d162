/** The median of some figures. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** One line of the report: name, the service's figure, the baseline's, and the comparison. */
export interface Line {
  what: string;
  ours: string;
  baseline: string;
  result: string;
  aim: string;
  reached: boolean | undefined;
}

/** The report as aligned text. */
export function table(lines: readonly Line[]): string {
  const rows = [
    ['', 'service', 'baseline', 'result', 'aim', ''],
    ...lines.map(({ what, ours, baseline, result, aim, reached }) => [
      what,
      ours,
      baseline,
      result,
      aim,
      reached === undefined ? '' : reached ? 'reached' : 'MISSED',
    ]),
  ];
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
