import { readFileSync } from 'node:fs';
import type { Line, Violation } from './check-history.ts';

/** The events of a file. */
export function readLines(file: string): Line[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** The number of events shown in full for a violation. */
const TOLD = 6;

/** A summary of the history, and every violation with the events that show it. */
export function describeVerdict(lines: readonly Line[], violations: readonly Violation[]): string {
  const count = (type: string) => lines.filter((one) => one.type === type && typeof one.process === 'number').length;
  const byIndex = new Map(lines.map((line) => [line.index, line]));
  const words = violations.flatMap(({ rule, words: what, events }) => [
    `  ${rule}: ${what} (events ${events.join(', ')})`,
    ...events.slice(0, TOLD).map((index) => `    ${JSON.stringify(byIndex.get(index))}`),
  ]);
  const ends = ['ok', 'fail', 'info'].map((end) => `${count(end)} ${end}`).join(', ');
  return [...words, `${count('invoke')} operations: ${ends}; ${violations.length} violations`].join('\n');
}
