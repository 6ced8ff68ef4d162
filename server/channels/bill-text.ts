import { BillMalformed } from '../payments/channel.ts';

/** Some lines of a file that follow each other; `from` is the number of the first, counted from 1. */
export interface TextBlock {
  from: number;
  lines: string[];
}

/** In what a bill is written. The decoder of GB18030 reads GBK, too. */
export type Charset = 'utf-8' | 'gb18030';

/** Lines are read when there is so much of them: some hundred of a bill. */
const BLOCK_BYTES = 64 * 1024;
/** Characters of one line. */
const LONGEST_LINE = 64 * 1024;
/** Lines of one bill. */
const MOST_LINES = 20_000_000;

const LF = 0x0a;
const CR = 0x0d;

/**
 * The lines of a text, with neither the ends of lines nor a byte order mark. It is cut at the byte LF, which is part of no
 * other character in either charset. Throws BillMalformed for bytes that are not of the charset, and for lines without end.
 */
export async function* textBlocks(bytes: AsyncIterable<Uint8Array>, charset: Charset): AsyncGenerator<TextBlock> {
  const decode = lineDecoder(charset);
  let held: Uint8Array[] = [];
  let size = 0;
  let from = 1;
  for await (const piece of bytes) {
    held.push(piece);
    size += piece.byteLength;
    if (size < BLOCK_BYTES) continue;
    const block = Buffer.concat(held, size);
    const end = block.lastIndexOf(LF);
    if (end < 0) throw tooLong(from);
    const lines = decode(block.subarray(0, end), from);
    yield { from, lines };
    from += lines.length;
    if (from > MOST_LINES)
      throw new BillMalformed('too_large', `The bill has more than ${MOST_LINES} lines.`, { line: from });
    // A copy, so that the block is not kept for the sake of its end.
    const rest = Uint8Array.prototype.slice.call(block, end + 1);
    held = [rest];
    size = rest.byteLength;
  }
  const last = Buffer.concat(held, size);
  if (last.length === 0) return;
  const isEnded = last[last.length - 1] === LF;
  yield { from, lines: decode(isEnded ? last.subarray(0, -1) : last, from) };
}

function lineDecoder(charset: Charset): (bytes: Uint8Array, from: number) => string[] {
  // The mark is looked for at the beginning only: blocks begin anywhere.
  const decoder = new TextDecoder(charset, { fatal: true, ignoreBOM: true });
  return (bytes, from) => {
    const lines = decoded(decoder, bytes, from, charset).split('\n');
    for (let at = 0; at < lines.length; at += 1) {
      const line = lines[at]!;
      if (line.length > LONGEST_LINE) throw tooLong(from + at);
      if (line.charCodeAt(line.length - 1) === CR) lines[at] = line.slice(0, -1);
    }
    if (from === 1 && lines[0]?.startsWith('\ufeff')) lines[0] = lines[0].slice(1);
    return lines;
  };
}

function decoded(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array, from: number, charset: Charset): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new BillMalformed(
      'wrong_charset',
      `The bill is not ${charset.toUpperCase()}.`,
      badPlace(bytes, from, charset),
    );
  }
}

/** The line and the character that cannot be read. */
function badPlace(bytes: Uint8Array, from: number, charset: Charset): { line: number; column?: number } {
  const strict = new TextDecoder(charset, { fatal: true, ignoreBOM: true });
  const lenient = new TextDecoder(charset, { ignoreBOM: true });
  let line = from;
  for (let start = 0; start <= bytes.length; line += 1) {
    const found = bytes.indexOf(LF, start);
    const end = found < 0 ? bytes.length : found;
    const one = bytes.subarray(start, end);
    try {
      strict.decode(one);
    } catch {
      return { line, column: lenient.decode(one).indexOf('\ufffd') + 1 };
    }
    start = end + 1;
  }
  return { line: from };
}

function tooLong(line: number): BillMalformed {
  return new BillMalformed('too_large', `A line has more than ${LONGEST_LINE} characters.`, { line });
}
