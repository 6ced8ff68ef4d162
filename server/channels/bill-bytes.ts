import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import { BillMalformed } from '../payments/channel.ts';

/** Most bytes of a bill, as it comes or unpacked: some 2.5 million lines of 400 bytes. */
export const MOST_BYTES = 1024 ** 3;

/** Tables of digits, tabs and names shrink to a tenth or a thirtieth; only what was made to be large shrinks like this. */
const MOST_RATIO = 200;
/** Below this size nobody minds how well something shrinks. */
const HARMLESS = 16 * 1024 * 1024;

/** Refuses what unpacks to more than a bill has, or than such a file could hold; `packed` is how much of it was read. */
export function refuseBomb(unpacked: number, packed: number): void {
  if (unpacked > MOST_BYTES) throw tooLarge();
  if (unpacked > HARMLESS && unpacked > packed * MOST_RATIO)
    throw new BillMalformed('too_large', `The bill unpacks to more than ${MOST_RATIO} times its size.`);
}

/** The same bytes, refused when there are more than a bill has. */
export async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.byteLength;
    if (size > MOST_BYTES) throw tooLarge();
    yield piece;
  }
}

/** The first bytes of a file, by which its kind is known. */
export async function firstBytes(file: string, length: number): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whether bytes begin as GZIP does. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** The bytes of a file, in pieces of 128 KB. */
export function fileBytes(file: string): AsyncIterable<Uint8Array> {
  return bounded(createReadStream(file, { highWaterMark: PIECE }));
}

/** The bytes of a file in GZIP, unpacked. */
export async function* gunzippedFile(file: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: PIECE });
  // What goes wrong ends the iteration with its error.
  const plain = pipeline(createReadStream(file, { highWaterMark: PIECE }), gunzip, () => undefined);
  let size = 0;
  try {
    for await (const piece of plain as AsyncIterable<Buffer>) {
      size += piece.byteLength;
      // Not what was read of the file, which is ahead of it.
      refuseBomb(size, gunzip.bytesWritten);
      yield piece;
    }
  } catch (error) {
    throw unpackingFault(error);
  }
}

/**
 * The same bytes, while `tell` hears them unpacked; what is not packed it hears as it is. Throws BillMalformed for what
 * cannot be unpacked.
 */
export async function* unpackedBeside(
  bytes: AsyncIterable<Uint8Array>,
  tell: (plain: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: PIECE });
  let packed = 0;
  let unpacked = 0;
  let isPacked: boolean | undefined;
  let first: Uint8Array = Buffer.alloc(0);
  gunzip.on('data', (piece: Buffer) => {
    unpacked += piece.byteLength;
    tell(piece);
  });
  const ended = finished(gunzip);
  ended.catch(() => undefined);
  try {
    for await (const next of bytes) {
      // Two bytes say whether it is packed; a piece may have fewer.
      const piece: Uint8Array = isPacked === undefined ? (first = Buffer.concat([first, next])) : next;
      if (piece.byteLength < 2 && isPacked === undefined) continue;
      isPacked ??= isGzip(piece);
      packed += piece.byteLength;
      if (isPacked) await Promise.race([ended, written(gunzip, piece)]);
      else tell(piece);
      refuseBomb(unpacked, packed);
      yield piece;
    }
    if (isPacked === undefined && first.byteLength > 0) {
      tell(first);
      yield first;
    }
    if (isPacked) {
      gunzip.end();
      await ended;
    }
  } catch (error) {
    throw unpackingFault(gunzip.errored ?? error);
  } finally {
    gunzip.destroy();
  }
}

/** Waits until a piece was unpacked, so that no more than one piece waits. */
function written(gunzip: Gunzip, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    gunzip.write(piece, (error) => (error ? reject(error) : resolve()));
  });
}

const PIECE = 128 * 1024;

/** What an error of zlib says about a bill; others stay as they are. */
export function unpackingFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof BillMalformed || !('code' in error)) return error;
  if (error.code === 'Z_BUF_ERROR') return new BillMalformed('cut_short', 'The packed bill ends early.');
  if (error.code !== 'Z_DATA_ERROR') return error;
  return error.message.startsWith('incorrect')
    ? new BillMalformed('wrong_hash', 'The unpacked bill does not match its checksum.')
    : new BillMalformed('not_a_bill', `The bill cannot be unpacked: ${error.message}.`);
}

function tooLarge(): BillMalformed {
  return new BillMalformed('too_large', `The bill is larger than ${MOST_BYTES} bytes.`);
}
