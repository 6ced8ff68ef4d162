import { graphemeWidth, graphemes, ownSequence, paintedParts } from '../terminal-text.ts';
import { visible } from '../values.ts';

/** One character position on the screen. A wide character fills two cells; the text of the second cell is empty. */
interface Cell {
  text: string;
  /** The style as SGR parameters, e.g. `1;31`; empty for the default style. */
  look: string;
}

const BLANK: Cell = { text: ' ', look: '' };

/** Converts a line, which may contain colour codes, to `columns` cells; never cuts inside a wide character. */
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

interface Placed {
  column: number;
  text: string;
}

/** One text, or several texts side by side, from left to right. A text may contain colour codes. */
export type Line = string | readonly Placed[];

/** Converts a line to cells. If it has several texts, each text is cut where the next text starts. */
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

function join(cells: Cell[], mark: string): void {
  const at = cells.findLastIndex(({ text }) => text !== '');
  const before = cells[at];
  if (before) cells[at] = { ...before, text: before.text + mark };
}

/** The SGR codes (ECMA-48) that end a style. Each value names the style that the code ends. */
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

/** The cells of the screen, in rows of equal width. */
export type Frame = readonly (readonly Cell[])[];

/** A gap of at most this many unchanged cells is written again, because moving the cursor needs more bytes. */
const SHORT_GAP = 4;

/** The output that turns one frame into another. Without `before` the whole screen is cleared and drawn. */
export function difference(before: Frame | undefined, after: Frame): string {
  const isSameSize = before?.length === after.length && before[0]?.length === after[0]?.length;
  const known = isSameSize ? before : undefined;
  const written = after.map((cells, row) => rowDifference(known?.[row], cells, row)).join('');
  return (known ? '' : ownSequence('[0m') + ownSequence('[2J')) + written;
}

function rowDifference(before: readonly Cell[] | undefined, after: readonly Cell[], row: number): string {
  let text = '';
  let look = '';
  /**
   * The column of the cursor; -1 if it is unknown. It is unknown after a character whose width differs between
   * terminals.
   */
  let cursor = -1;
  for (const [from, to] of changedRuns(before, after)) {
    for (let column = from; column < to; column++) {
      const cell = after[column]!;
      if (cell.text === '') continue;
      if (cursor !== column) text += ownSequence(`[${row + 1};${column + 1}H`);
      if (look !== cell.look) text += ownSequence(cell.look === '' ? '[0m' : `[0;${cell.look}m`);
      look = cell.look;
      text += cell.text;
      cursor = PLAIN.test(cell.text) ? column + 1 : -1;
    }
  }
  // Each row starts and ends with the default style.
  return look === '' ? text : text + ownSequence('[0m');
}

const PLAIN = /^[\x20-\x7E]$/;

/** Ranges of columns to write, `[from, to)`. On a cleared screen (no `before`) blank cells need not be written. */
function changedRuns(before: readonly Cell[] | undefined, after: readonly Cell[]): [from: number, to: number][] {
  const runs: [number, number][] = [];
  for (const [column, cell] of after.entries()) {
    if (before ? isSame(before[column]!, cell) : isBlank(cell)) continue;
    const last = runs.at(-1);
    if (last && column - last[1] <= SHORT_GAP) last[1] = column + 1;
    else runs.push([startOf(after, column), column + 1]);
  }
  return runs;
}

/** For the second half of a wide character, writing starts at the first half. */
function startOf(cells: readonly Cell[], column: number): number {
  return cells[column]!.text === '' && column > 0 ? column - 1 : column;
}

function isSame(one: Cell, other: Cell): boolean {
  return one.text === other.text && one.look === other.look;
}

function isBlank({ text, look }: Cell): boolean {
  return text === ' ' && look === '';
}
