import { crc32, createDeflateRaw } from 'node:zlib';
import { packedBy } from './packing.ts';

/** A file of a zip. `name` is written as it is: nothing says in which charset (flag bit 11 is not set). */
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

/** A zip in pieces, sizes and checksums behind each file (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.9 and 4.3.12). */
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

/** Deflates what comes; the sums grow on the way. */
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

/** Date and time as MS-DOS has them, of Beijing: the time first, as they stand in a header. */
function dosTime(at: number): number {
  const day = new Date(at + 8 * 3_600_000);
  const time = (day.getUTCHours() << 11) | (day.getUTCMinutes() << 5) | (day.getUTCSeconds() >> 1);
  const date = ((day.getUTCFullYear() - 1980) << 9) | ((day.getUTCMonth() + 1) << 5) | day.getUTCDate();
  return ((date << 16) | time) >>> 0;
}
