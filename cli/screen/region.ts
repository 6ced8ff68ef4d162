import { ownSequence } from '../escapes.ts';
import type { Sink } from '../terminal.ts';

/** Some lines below the prompt that are drawn again in their place; what stood above stays. */
export interface Region {
  /** Shows these lines instead of those before, as many as the screen has room for. */
  show(lines: readonly string[]): Promise<void>;
}

// Lines do not run over, so that each takes one row.
const ONE_ROW = ownSequence('[?7l');
const RUNNING_OVER = ownSequence('[?7h');
// Before a line is written: after its last column the cursor would still be on it.
const TO_END_OF_LINE = ownSequence('[K');
const TO_END_OF_SCREEN = ownSequence('[J');

/** A region of a terminal that shows nothing yet. */
export function createRegion(out: Sink): Region {
  let shown: readonly string[] = [];
  let width = out.columns;
  return {
    async show(lines) {
      const fitting = lines.slice(0, Math.max(1, out.rows - 1));
      // What was drawn for another width is broken into other rows by now: it is left where it is.
      if (out.columns !== width) shown = [];
      width = out.columns;
      await out.write(redrawn(shown, fitting));
      shown = fitting;
    },
  };
}

/** What must be written below some lines to have others in their place, with the cursor below them again. */
export function redrawn(before: readonly string[], after: readonly string[]): string {
  const up = before.length > 0 ? ownSequence(`[${before.length}A`) : '';
  const rows = after.map((line, at) => (line === before[at] ? '\n' : `${TO_END_OF_LINE}${line}\n`));
  const rest = before.length > after.length ? TO_END_OF_SCREEN : '';
  return `${ONE_ROW}${up}${rows.join('')}${rest}${RUNNING_OVER}`;
}
