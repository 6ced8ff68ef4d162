import test from 'ava';
import fc from 'fast-check';
import { createStyle, forTerminal } from '../../../cli/terminal-text.ts';
import { cellsOf, difference, rowOf } from '../../../cli/screen/cells.ts';
import { redrawn } from '../../../cli/watch.ts';
import { ATTACK } from '../../cli/hostile.ts';
import { screenReader } from '../../cli/screen-reader.ts';

const style = createStyle(true);
const texts = (line: string, columns: number) => cellsOf(line, columns).map(({ text }) => text);

test('a line has as many cells as the screen has columns, and a wide character takes two', (t) => {
  t.deepEqual(texts('a茶b', 5), ['a', '茶', '', 'b', ' ']);
  t.deepEqual(texts('a茶b', 2), ['a', ' '], 'a wide character is not cut in its middle');
  t.deepEqual(texts('é', 2), ['é', ' '], 'a mark belongs to its letter');
  t.deepEqual(texts('', 2), [' ', ' ']);
});

test('a cell has the styles in force at its position', (t) => {
  const line = `${style('red', 'r')}${style(['cyan', 'bold'], `c${style('inverse', 'i')}`)}n${style('dim', 'd')}`;
  t.deepEqual(
    cellsOf(line, 6).map(({ text, look }) => `${text}${look}`),
    ['r31', 'c36;1', 'i36;1;7', 'n', 'd2', ' '],
  );
});

test('foreign text is drawn as visible text of the expected width', (t) => {
  const line = cellsOf(`x${ATTACK}y\n\tz`, 300);
  const drawn = line
    .map(({ text }) => text)
    .join('')
    .trimEnd();
  t.false(/\p{Cc}/u.test(drawn));
  t.true(drawn.endsWith('y\\n\\tz'));
  t.true(line.every(({ look }) => look === ''));
});

test('parts of a line start at their columns, and a part is cut where the next one starts', (t) => {
  const row = (columns: number) =>
    rowOf(
      [
        { column: 0, text: '茶茶茶' },
        { column: 5, text: 'right' },
      ],
      columns,
    )
      .map(({ text }) => text)
      .join('');
  t.is(row(12), '茶茶 right  ');
  t.is(row(7), '茶茶 ri');
  t.is(row(3), '茶 ');
});

const word = fc.constantFrom('a', 'bc', '茶', '한국어', '☕', '…', '▸', ' ', 'é', '👩‍👩‍👧');
const painted = fc
  .tuple(fc.constantFrom('red', 'bold', 'inverse', undefined), word)
  .map(([look, text]) => (look ? style(look, text) : text));
const frame = (columns: number, rows: number) =>
  fc
    .array(fc.array(painted, { maxLength: 12 }), { minLength: rows, maxLength: rows })
    .map((lines) => lines.map((parts) => cellsOf(parts.join(''), columns)));

test('the screen shows the last frame, whatever width the terminal gives to ambiguous characters', (t) => {
  fc.assert(
    fc.property(fc.array(frame(14, 3), { minLength: 1, maxLength: 6 }), fc.constantFrom(1, 2), (frames, ambiguous) => {
      const reader = screenReader(14, 3, { ambiguous });
      for (const [at, after] of frames.entries()) reader.write(forTerminal(difference(frames[at - 1], after)));
      const shown = frames.at(-1)!;
      // Only the cell right after an ambiguous character may be hidden.
      if (ambiguous === 1)
        t.deepEqual(
          reader.rows(),
          shown.map((cells) =>
            cells
              .map(({ text }) => text)
              .join('')
              .trimEnd(),
          ),
        );
      for (const [row, cells] of shown.entries())
        for (const [column, { text }] of cells.entries())
          if (/^[a-z茶]$/.test(text) && !/^[…▸☕]/u.test(cells[column - 1]?.text || 'x'))
            t.is(reader.at(row, column), text);
      t.deepEqual(reader.strange, []);
    }),
  );
  t.pass();
});

test('only changed cells are written', (t) => {
  const lines = (count: number) =>
    Array.from({ length: 40 }, (_, row) => cellsOf(row === 7 ? `orders ${count}` : `row ${row}`, 120));
  const reader = screenReader(120, 40);
  reader.write(forTerminal(difference(undefined, lines(41))));
  const { bytes } = reader;
  reader.write(forTerminal(difference(lines(41), lines(42))));
  t.is(reader.rows()[7], 'orders 42');
  t.true(reader.bytes - bytes < 20, `${reader.bytes - bytes} bytes`);
  t.is(difference(lines(42), lines(42)), '');
});

test('a screen of another size is redrawn completely', (t) => {
  const reader = screenReader(20, 2);
  reader.write('rubbish of a shell');
  const narrow = [cellsOf('one', 10), cellsOf('two', 10)];
  const wide = [cellsOf('one', 20), cellsOf('', 20)];
  reader.write(forTerminal(difference(narrow, wide)));
  t.deepEqual(reader.rows(), ['one', '']);
});

test('a region is drawn in place, with lines as wide as the terminal and fewer lines than before', (t) => {
  const reader = screenReader(10, 6);
  reader.write('$ command\n');
  const show = (before: string[], after: string[]) => reader.write(forTerminal(redrawn(before, after)));
  const first = ['0123456789', 'two', 'three'];
  show([], first);
  t.deepEqual(reader.rows(), ['$ command', ...first, '', '']);
  show(first, ['9876543210', 'two']);
  t.deepEqual(reader.rows(), ['$ command', '9876543210', 'two', '', '', '']);
  show(['9876543210', 'two'], ['short', 'two', '茶茶茶茶茶']);
  t.deepEqual(reader.rows(), ['$ command', 'short', 'two', '茶茶茶茶茶', '', '']);
  t.true(reader.modes.has('?7'), 'lines run over again');
  reader.write('next');
  t.is(reader.rows()[4], 'next');
});
