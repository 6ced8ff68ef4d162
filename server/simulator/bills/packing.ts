import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const BLANKS = Buffer.alloc(1024 * 1024, ' ');

/** What a packer makes of these pieces. */
export async function* packedBy(packer: Transform, pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const feeding = pipeline(Readable.from(pieces, { objectMode: false }), packer);
  // Whoever reads the packer hears of its error; this is only so that nobody else does.
  feeding.catch(() => undefined);
  for await (const piece of packer as AsyncIterable<Buffer>) yield piece;
  await feeding;
}

/** A file that is followed by a gigabyte of blanks: packed it is small. */
export async function* withGigabyte(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield* pieces;
  for (let count = 0; count < 1024; count += 1) yield BLANKS;
}
