import { graphemes, graphemeWidth } from '../../cli/terminal-text.ts';

/** Emulates a terminal for the escape sequences that payctl writes. */
interface ScreenReader {
  write(text: string): void;
  /** The rows of the screen without trailing blanks. */
  rows(): string[];
  /** The character in a cell; empty in the second cell of a wide character. */
  at(row: number, column: number): string;
  /** The SGR parameters of each column of a row, such as `1;31`, or an empty string. */
  looks(row: number): string[];
  /** Enabled modes: `?1049` alternate screen, `?25` cursor, `?7` line wrap. */
  modes: Set<string>;
  drawn: number;
  /** Number of bytes received. */
  bytes: number;
  /** Escape sequences and control characters that payctl itself never writes. */
  strange: string[];
}

/** An empty terminal; `ambiguous` is the width of characters whose width differs between terminals. */
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
      // After the last column the cursor stays on that column.
      screen[row]?.fill({ text: ' ', look: '' }, Math.min(column, columns - 1));
      if (final === 'J') for (const cells of screen.slice(row + 1)) cells.fill({ text: ' ', look: '' });
    } else if (final === 'h') reader.modes.add(parameters);
    else if (final === 'l') reader.modes.delete(parameters);
    else reader.strange.push(JSON.stringify(sequence));
  }

  /** Moves to the start of the next row; the last row scrolls the screen. */
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
    // Overwriting one half of a wide character clears the other half.
    if (cells[column]!.text === '' && column > 0) cells[column - 1] = { text: ' ', look };
    if (cells[column + width]?.text === '') cells[column + width] = { text: ' ', look };
    cells[column] = { text: character, look };
    if (width === 2 && column + 1 < columns) cells[column + 1] = { text: '', look };
    column += width;
  }
}

/** Whether the East Asian Width of the character is ambiguous. */
function isAmbiguous(character: string): boolean {
  return /^[·…▏▪▸↑↓←→±×]$/.test(character);
}
