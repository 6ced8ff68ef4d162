import { paintedParts } from '../escapes.ts';
import { visible } from '../values.ts';
import { graphemes, graphemeWidth } from '../width.ts';

/** One column of a line: a character with its looks, or the second half of a wide one, which has no text. */
export interface Cell {
  text: string;
  /** What is in force where it is drawn, as the parameters of a control sequence: `1;31`, or nothing. */
  look: string;
}

const BLANK: Cell = { text: ' ', look: '' };

/** A painted line as exactly so many cells; what is wider is cut, and a wide character never in its middle. */
export function cellsOf(line: string, columns: number): Cell[] {
  const cells: Cell[] = [];
  const looks = new Map<string, string>();
  for (const { sequence, text } of paintedParts(line)) {
    note(looks, sequence);
    const look = [...looks.values()].join(';');
    for (const character of graphemes(visible(text))) {
      const width = graphemeWidth(character);
      if (width === 0) join(cells, character);
      else if (cells.length + width > columns) return filled(cells, columns);
      else cells.push({ text: character, look }, ...(width === 2 ? [{ text: '', look }] : []));
    }
  }
  return filled(cells, columns);
}

/** A painted text at a place of its line. */
export interface Placed {
  column: number;
  text: string;
}

/** A line of the screen: a painted text, or several side by side, from left to right. */
export type Line = string | readonly Placed[];

/** A line as exactly so many cells; what stands on the left is cut where the next begins. */
export function rowOf(line: Line, columns: number): Cell[] {
  if (typeof line === 'string') return cellsOf(line, columns);
  const cells: Cell[] = [];
  for (const [at, { column, text }] of line.entries()) {
    filled(cells, Math.min(column, columns));
    const end = Math.min(line[at + 1]?.column ?? columns, columns);
    cells.push(...cellsOf(text, Math.max(0, end - cells.length)));
  }
  return filled(cells, columns);
}

function filled(cells: Cell[], columns: number): Cell[] {
  while (cells.length < columns) cells.push(BLANK);
  return cells;
}

/** A mark without a width of its own belongs to the character before it. */
function join(cells: Cell[], mark: string): void {
  const at = cells.findLastIndex(({ text }) => text !== '');
  const before = cells[at];
  if (before) cells[at] = { ...before, text: before.text + mark };
}

/** Which look each parameter ends (SGR, ECMA-48): weight, colour, background, inversion. */
const ENDS: Readonly<Record<string, string>> = { 22: 'weight', 39: 'colour', 49: 'background', 27: 'inverse' };

function note(looks: Map<string, string>, sequence: string): void {
  if (!sequence.endsWith('m')) return;
  for (const parameter of sequence.slice(1, -1).split(';')) {
    if (parameter === '' || parameter === '0') looks.clear();
    else if (ENDS[parameter]) looks.delete(ENDS[parameter]);
    else looks.set(kindOf(Number(parameter)), parameter);
  }
}

function kindOf(parameter: number): string {
  if (parameter <= 2) return 'weight';
  if (parameter === 7) return 'inverse';
  return parameter >= 40 && parameter < 90 ? 'background' : 'colour';
}
