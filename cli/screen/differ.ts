import { ownSequence } from '../escapes.ts';
import type { Cell } from './cells.ts';

/** What is on the screen: its rows, each as wide as the screen. */
export type Frame = readonly (readonly Cell[])[];

/** Cells that are the same are written again rather than stepped over when they are as few as this. */
const SHORT_GAP = 4;

/** What must be written to turn one frame into another; without the first one the screen may show anything. */
export function difference(before: Frame | undefined, after: Frame): string {
  const isSameSize = before?.length === after.length && before[0]?.length === after[0]?.length;
  const known = isSameSize ? before : undefined;
  const written = after.map((cells, row) => rowDifference(known?.[row], cells, row)).join('');
  return (known ? '' : ownSequence('[0m') + ownSequence('[2J')) + written;
}

function rowDifference(before: readonly Cell[] | undefined, after: readonly Cell[], row: number): string {
  let text = '';
  let look = '';
  /** Where the cursor is for certain; nobody knows after a character that terminals measure each in its own way. */
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
  // Each row begins and ends without any look.
  return look === '' ? text : text + ownSequence('[0m');
}

const PLAIN = /^[\x20-\x7E]$/;

/** Runs of columns that differ, `[from, to)`; a screen that was cleared needs no blanks. */
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

/** A wide character is written from its first half. */
function startOf(cells: readonly Cell[], column: number): number {
  return cells[column]!.text === '' && column > 0 ? column - 1 : column;
}

function isSame(one: Cell, other: Cell): boolean {
  return one.text === other.text && one.look === other.look;
}

function isBlank({ text, look }: Cell): boolean {
  return text === ' ' && look === '';
}
