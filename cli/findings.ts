import type { Look, Style } from './style.ts';
import { visible, widest } from './values.ts';
import { padTo, wrap } from './width.ts';

/** The result of one check, and the command that fixes it. */
export interface Finding {
  check: string;
  status: 'ok' | 'degraded' | 'failed';
  detail: string;
  fix: string | null;
}

const MARKS: Readonly<Record<Finding['status'], readonly [mark: string, look: Look]>> = {
  ok: ['ok', 'green'],
  degraded: ['warn', 'yellow'],
  failed: ['fail', 'red'],
};

/** Draws the findings for a person: a mark, what was looked at, how it is; the fix below, whole, to be copied. */
export function drawFindings(
  findings: readonly Finding[],
  { columns, style }: { columns: number; style: Style },
): string {
  const names = widest(findings.map(({ check }) => check));
  const marks = widest(Object.values(MARKS).map(([mark]) => mark));
  const indent = ' '.repeat(marks + names + 4);
  return findings
    .flatMap(({ check, status, detail, fix }) => {
      const [mark, look] = MARKS[status];
      const [first = '', ...rest] = wrap(visible(detail), Math.max(20, columns - indent.length));
      return [
        `${style(look, padTo(mark, marks))}  ${padTo(visible(check), names)}  ${first}`,
        ...rest.map((line) => indent + line),
        ...(fix === null ? [] : [`${indent}${style('cyan', visible(fix))}`]),
      ];
    })
    .map((line) => `${line}\n`)
    .join('');
}
