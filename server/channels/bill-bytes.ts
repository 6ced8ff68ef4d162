/** Downloads, limits, unpacks and splits the bytes of a bill (a channel's list of the transactions of a day). */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type Gunzip, createGunzip } from 'node:zlib';
import {
  type BillAnswer,
  type BillCalendar,
  BillMalformed,
  TransportFailed,
  type UnknownOutcome,
  type WireFile,
} from '../payments/channel.ts';
import { daySpan } from './bill-rows.ts';

/** The maximum number of bytes of a bill, packed or unpacked. This is about 2.5 million lines of 400 bytes. */
export const MOST_BYTES = 1024 ** 3;

/** Bills have a compression ratio of 10 to 30. A file with a much higher ratio is a decompression bomb. */
const MOST_RATIO = 200;
/** The compression ratio is checked only for bills that are larger than 16 MiB when unpacked. */
const HARMLESS = 16 * 1024 * 1024;

/** Throws if the unpacked bill is too large, or much larger than the `packed` bytes that were read so far. */
export function refuseBomb(unpacked: number, packed: number): void {
  if (unpacked > MOST_BYTES) throw tooLarge();
  if (unpacked > HARMLESS && unpacked > packed * MOST_RATIO)
    throw new BillMalformed(
      'too_large',
      `The unpacked bill is more than ${MOST_RATIO} times as large as the packed one.`,
    );
}

/** Passes bytes on unchanged. Throws if a bill is larger than `MOST_BYTES`. */
export async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.byteLength;
    if (size > MOST_BYTES) throw tooLarge();
    yield piece;
  }
}

/** Reads the first bytes of a file, which show the file type. */
export async function firstBytes(file: string, length: number): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whether the bytes begin with the magic number of GZIP. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Reads the bytes of a file in pieces of 128 KB. */
export function fileBytes(file: string): AsyncIterable<Uint8Array> {
  return bounded(createReadStream(file, { highWaterMark: PIECE }));
}

/** Reads a GZIP file and returns its unpacked bytes. */
export async function* gunzippedFile(file: string): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: PIECE });
  // The empty callback ignores errors, because the loop over `plain` throws them.
  const plain = pipeline(createReadStream(file, { highWaterMark: PIECE }), gunzip, () => undefined);
  let size = 0;
  try {
    for await (const piece of plain as AsyncIterable<Buffer>) {
      size += piece.byteLength;
      // `bytesWritten` counts the packed bytes that were unpacked. It may be less than the bytes already read from the
      // file.
      refuseBomb(size, gunzip.bytesWritten);
      yield piece;
    }
  } catch (error) {
    throw unpackingFault(error);
  }
}

/**
 * Passes the bytes on unchanged and also gives the unpacked bytes to `onPlain`. If the bytes are not packed, `onPlain`
 * gets the same bytes. Throws BillMalformed if packed bytes cannot be unpacked.
 */
export async function* unpackedBeside(
  bytes: AsyncIterable<Uint8Array>,
  onPlain: (plain: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: PIECE });
  let packed = 0;
  let unpacked = 0;
  let isPacked: boolean | undefined;
  let first: Uint8Array = Buffer.alloc(0);
  gunzip.on('data', (piece: Buffer) => {
    unpacked += piece.byteLength;
    onPlain(piece);
  });
  const ended = finished(gunzip);
  ended.catch(() => undefined);
  try {
    for await (const next of bytes) {
      // The magic number has two bytes, but the first piece may have only one.
      const piece: Uint8Array = isPacked === undefined ? (first = Buffer.concat([first, next])) : next;
      if (piece.byteLength < 2 && isPacked === undefined) continue;
      isPacked ??= isGzip(piece);
      packed += piece.byteLength;
      if (isPacked) await Promise.race([ended, written(gunzip, piece)]);
      else onPlain(piece);
      refuseBomb(unpacked, packed);
      yield piece;
    }
    if (isPacked === undefined && first.byteLength > 0) {
      onPlain(first);
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

/** Waits until a piece is unpacked, so that at most one piece is in memory. */
function written(gunzip: Gunzip, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    gunzip.write(piece, (error) => (error ? reject(error) : resolve()));
  });
}

const PIECE = 128 * 1024;

/** Converts an error of zlib to BillMalformed; returns other errors unchanged. */
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

/** Consecutive lines of a file. `from` is the line number of the first line, counted from 1. */
interface TextBlock {
  from: number;
  lines: string[];
}

/** The charset of a bill. The GB18030 decoder also reads GBK. */
type Charset = 'utf-8' | 'gb18030';

/** The number of bytes that are decoded at once. This is a few hundred lines. */
const BLOCK_BYTES = 64 * 1024;
/** The maximum number of characters in a line. */
const LONGEST_LINE = 64 * 1024;
const MOST_LINES = 20_000_000;

const LF = 0x0a;
const CR = 0x0d;

/**
 * Splits a text into lines without line ends and byte order mark. The bytes can be split at LF before decoding, because
 * in both charsets no multi-byte character contains this byte. Throws BillMalformed for a line that is too long and for
 * bytes that are invalid in the charset.
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
      throw new BillMalformed('too_large', `The bill has more lines than the limit of ${MOST_LINES}.`, { line: from });
    // The bytes after the last complete line are copied. `subarray` would not copy them, so it would keep the whole
    // block in memory.
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
  // With `ignoreBOM: false` the decoder would remove a byte order mark from every block and not only from the first.
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
      `The bill is not encoded in ${charset.toUpperCase()}.`,
      badPlace(bytes, from, charset),
    );
  }
}

/**
 * Returns the position of the first character that cannot be decoded: line and column, both counted from 1. If every
 * line can be decoded separately, the position is unknown. Then returns only the number of the first line in `bytes`.
 */
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

/** Returns the minutes since the end of a day, negative before the end. Throws for an invalid day. */
function minutesSince(day: string, calendar: BillCalendar, now: Date): number {
  return (now.getTime() - daySpan(day, calendar.utcOffsetMinutes).end.getTime()) / 60_000;
}

/** Returns the result `gone` if the channel no longer offers the bill of the day, otherwise undefined. */
export function goneDay(day: string, calendar: BillCalendar, now: Date): BillAnswer | undefined {
  const days = minutesSince(day, calendar, now) / (24 * 60);
  return days > calendar.backDays ? { kind: 'gone', code: `OLDER_THAN_${calendar.backDays}_DAYS` } : undefined;
}

/**
 * Returns the result if the channel reports that it has no bill for a day. Until `sureAfterMinutes` after the end of
 * the day the result is `not_ready`, because the bill may still appear. After that the result is `empty`.
 */
export function noBill(
  code: string,
  {
    day,
    calendar,
    now,
    sureAfterMinutes,
    payee,
  }: { day: string; calendar: BillCalendar; now: Date; sureAfterMinutes: number; payee?: string },
): BillAnswer {
  if (minutesSince(day, calendar, now) < sureAfterMinutes) return { kind: 'not_ready', code };
  return { kind: 'empty', code, ...(payee !== undefined && { payee }) };
}

/** Downloads a bill with a size limit. A transport error, or any HTTP status other than 200, gives `unknown`. */
export async function downloadBill(
  download: () => Promise<WireFile>,
): Promise<Extract<BillAnswer, { kind: 'bill' }> | UnknownOutcome> {
  try {
    const { status, bytes } = await download();
    if (status === 200) return { kind: 'bill', bytes: bounded(bytes) };
    await bytes[Symbol.asyncIterator]().return?.();
    const cause = status >= 300 && status < 400 ? 'redirected' : 'http_status';
    return { kind: 'unknown', cause, detail: `The download of the bill failed with HTTP ${status}.` };
  } catch (error) {
    if (!(error instanceof TransportFailed)) throw error;
    return { kind: 'unknown', cause: error.why, detail: error.message };
  }
}
