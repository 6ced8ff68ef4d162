import { graphemes, graphemeWidth } from '../../cli/terminal-text.ts';

/** A terminal that does what is written to it, as far as payctl writes: a screen of characters, its modes, and what it did not know. */
interface ScreenReader {
  write(text: string): void;
  /** The rows of the screen, without blanks at their ends. */
  rows(): string[];
  /** The character that stands at a place; empty where it is the second half of another. */
  at(row: number, column: number): string;
  /** The looks of a row, one for each column: `1;31`, or nothing. */
  looks(row: number): string[];
  /** Modes that are on: `?1049` the other screen, `?25` the cursor, `?7` lines that run over. */
  modes: Set<string>;
  /** Characters that were drawn. */
  drawn: number;
  /** Bytes that came. */
  bytes: number;
  /** Escapes of others: everything that payctl never writes by itself. */
  strange: string[];
}

/** An empty terminal as a shell leaves it; `ambiguous` is the width of characters about which terminals differ. */
export function screenReader(columns: number, rows: number, { ambiguous = 1 } = {}): ScreenReader {
  let screen = empty();
  let [row, column] = [0, 0];
  let look = '';
  const reader: ScreenReader = {
    write,
    rows: () =>
      screen.map((cells) =>
        cells
          .map(({ text }) => text)
          .join('')
          .trimEnd(),
      ),
    at: (of, place) => screen[of]![place]!.text,
    looks: (at) => screen[at]!.map((cell) => cell.look),
    modes: new Set(['?25', '?7']),
    drawn: 0,
    bytes: 0,
    strange: [],
  };
  return reader;

  function empty() {
    return Array.from({ length: rows }, () => Array.from({ length: columns }, () => ({ text: ' ', look: '' })));
  }

  function write(text: string): void {
    reader.bytes += Buffer.byteLength(text);
    // oxlint-disable-next-line no-control-regex -- escapes are what this is about
    for (const [part, parameters, final] of text.matchAll(/\x1B\[([0-9;?]*)([A-Za-z])|[^\x1B]+|\x1B/g)) {
      if (final) obey(part, parameters ?? '', final);
      else if (part === '\u001B') reader.strange.push('ESC');
      else for (const character of graphemes(part)) put(character);
    }
  }

  function obey(sequence: string, parameters: string, final: string): void {
    if (final === 'H') [row, column] = parameters.split(';').map((part) => Number(part || 1) - 1) as [number, number];
    else if (final === 'm') look = parameters.replace(/^0;?/, '');
    else if (final === 'J' && parameters === '2') screen = empty();
    else if (final === 'A') row = Math.max(0, row - Number(parameters || 1));
    else if (final === 'K' || final === 'J') {
      // After the last column of a row the cursor is still on it.
      screen[row]?.fill({ text: ' ', look: '' }, Math.min(column, columns - 1));
      if (final === 'J') for (const cells of screen.slice(row + 1)) cells.fill({ text: ' ', look: '' });
    } else if (final === 'h') reader.modes.add(parameters);
    else if (final === 'l') reader.modes.delete(parameters);
    else reader.strange.push(JSON.stringify(sequence));
  }

  /** A new line, as a terminal that a shell left does it; the last one scrolls. */
  function feed(): void {
    column = 0;
    row += 1;
    if (row < rows) return;
    row = rows - 1;
    screen = [...screen.slice(1), Array.from({ length: columns }, () => ({ text: ' ', look: '' }))];
  }

  function put(character: string): void {
    if (/^\r?\n$/.test(character)) return feed();
    if (/\p{Cc}/u.test(character)) return void reader.strange.push(JSON.stringify(character));
    reader.drawn += 1;
    const width = isAmbiguous(character) ? ambiguous : graphemeWidth(character);
    const cells = screen[row];
    if (!cells || column >= columns) return;
    // Half of a wide character is none.
    if (cells[column]!.text === '' && column > 0) cells[column - 1] = { text: ' ', look };
    if (cells[column + width]?.text === '') cells[column + width] = { text: ' ', look };
    cells[column] = { text: character, look };
    if (width === 2 && column + 1 < columns) cells[column + 1] = { text: '', look };
    column += width;
  }
}

/** Narrow for some terminals and wide for others (East Asian Width: ambiguous). */
function isAmbiguous(character: string): boolean {
  return /^[·…▏▪▸↑↓←→±×]$/.test(character);
}
