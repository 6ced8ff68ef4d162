import { crc32 } from 'node:zlib';
import yauzl from 'yauzl';
import { BillMalformed } from '../../payments/channel.ts';
import { MOST_BYTES, refuseBomb, unpackingFault } from '../bill-bytes.ts';

/** The detail file has payments and refunds. The summary file has sums by shop; a zip may lack it. */
interface BillArchive {
  details: () => AsyncIterable<Uint8Array>;
  summary: (() => AsyncIterable<Uint8Array>) | undefined;
  close: () => void;
}

/** The maximum number of files in a zip. Alipay packs two. */
const MOST_ENTRIES = 16;
const UTF8_NAME = 0x800;

/** Opens the zip of a bill, without writing to disk. Throws BillMalformed unless it has exactly one detail file. */
export async function openBillArchive(file: string): Promise<BillArchive> {
  const options = { autoClose: false, lazyEntries: true, decodeStrings: false, validateEntrySizes: true };
  const zip = await yauzl.openPromise(file, options).catch((error: unknown) => {
    throw zipFault(error);
  });
  try {
    const entries = await entriesOf(zip);
    const details = entries.filter(({ name }) => name.includes('明细') && !name.includes('汇总'));
    const summaries = entries.filter(({ name }) => name.includes('汇总'));
    const [detail] = details;
    if (!detail || details.length > 1 || summaries.length > 1)
      throw new BillMalformed(
        'not_a_bill',
        `The zip has ${details.length} detail files (明细) instead of one, or several summary files (汇总).`,
      );
    const [summary] = summaries;
    return {
      details: () => unpacked(zip, detail.entry),
      summary: summary && (() => unpacked(zip, summary.entry)),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}

async function entriesOf(zip: yauzl.ZipFile): Promise<{ name: string; entry: yauzl.Entry }[]> {
  if (zip.entryCount > MOST_ENTRIES)
    throw new BillMalformed('too_large', `The zip has ${zip.entryCount} files; the limit is ${MOST_ENTRIES}.`);
  const entries: { name: string; entry: yauzl.Entry }[] = [];
  let size = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      const name = nameOf(entry);
      size += entry.uncompressedSize;
      if (size > MOST_BYTES) throw new BillMalformed('too_large', `The zip unpacks to more than ${MOST_BYTES} bytes.`);
      refuseBomb(entry.uncompressedSize, entry.compressedSize);
      if (entry.isEncrypted()) throw new BillMalformed('not_a_bill', 'The zip is encrypted; use an unencrypted zip.');
      entries.push({ name, entry });
    }
  } catch (error) {
    throw zipFault(error);
  }
  return entries;
}

/** A name is UTF-8 if its entry has the UTF-8 flag, otherwise GBK. A path is rejected, because Alipay writes none. */
function nameOf({ fileNameRaw, generalPurposeBitFlag }: yauzl.Entry): string {
  const charset = (generalPurposeBitFlag & UTF8_NAME) === 0 ? 'gb18030' : 'utf-8';
  let name: string;
  try {
    name = new TextDecoder(charset, { fatal: true }).decode(fileNameRaw);
  } catch {
    throw new BillMalformed('wrong_charset', 'The name of a file in the zip is neither GBK nor UTF-8.');
  }
  if (/[\\/\p{Cc}]|^\.\.?$/u.test(name))
    throw new BillMalformed('not_a_bill', 'The name of a file in the zip contains a path.');
  return name;
}

/** Reads the bytes of one file in the zip. Throws if its size or checksum differs from its header. */
async function* unpacked(zip: yauzl.ZipFile, entry: yauzl.Entry): AsyncGenerator<Uint8Array> {
  let checksum = 0;
  try {
    const stream = (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>;
    for await (const piece of stream) {
      checksum = crc32(piece, checksum);
      yield piece;
    }
  } catch (error) {
    throw zipFault(error);
  }
  if (checksum !== entry.crc32) throw new BillMalformed('wrong_hash', 'A file in the zip does not match its checksum.');
}

/** Error messages of yauzl: `CUT` for a truncated file, `LONG` for a file that is larger than its header states. */
const CUT = /End of central directory|overflows file bounds|not enough bytes|unexpected EOF/;
const LONG = /too many bytes/;

function zipFault(error: unknown): unknown {
  const fault = unpackingFault(error);
  if (fault instanceof BillMalformed || !(fault instanceof Error) || isOfSystem(fault)) return fault;
  if (LONG.test(fault.message))
    return new BillMalformed('too_large', `A file in the zip is larger than its header states.`);
  const why = CUT.test(fault.message) ? 'cut_short' : 'not_a_bill';
  return new BillMalformed(why, `The zip cannot be read: ${fault.message.slice(0, 200)}`);
}

/** An error of the operating system, for example a disk fault, is not a fault of the bill. */
function isOfSystem(error: Error): boolean {
  return 'syscall' in error;
}
