import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import {
  type BillAnswer,
  type BillFault,
  type BillLine,
  BillMalformed,
  type BillPart,
  type BillTotals,
  type Download,
  type WireRequest,
} from '../../../server/payments/channel.ts';

/** The collected output of a reader. */
export interface ReadBill {
  lines: BillLine[];
  totals: readonly BillTotals[] | undefined;
  /** The largest number of lines in one part. */
  most: number;
}

/** Reads all parts of a bill. */
export async function collect(parts: AsyncIterable<BillPart>): Promise<ReadBill> {
  const read: ReadBill = { lines: [], totals: undefined, most: 0 };
  for await (const part of parts) {
    if (part.kind === 'totals') read.totals = part.totals;
    else {
      read.most = Math.max(read.most, part.lines.length);
      read.lines.push(...part.lines);
    }
  }
  return read;
}

/** Writes a temporary file that is removed after the test. */
export async function billFile(t: ExecutionContext, bytes: Uint8Array | string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bill-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'bill');
  await writeFile(file, bytes);
  return file;
}

/** Asserts that a bill is refused with this fault at this place. */
export async function refused(
  t: ExecutionContext,
  parts: AsyncIterable<BillPart>,
  fault: BillFault,
  at: { line?: number; column?: number } = {},
): Promise<void> {
  const error = await t.throwsAsync(collect(parts), { instanceOf: BillMalformed }, fault);
  t.deepEqual([error?.fault, error?.line, error?.column], [fault, at.line, at.column], error?.message);
}

/** A download of these pieces with this status; records its requests and whether the reader stopped early. */
export function fakeDownload(pieces: Iterable<Uint8Array>, status = 200) {
  const asked: WireRequest[] = [];
  const state = { left: false };
  const download: Download = async (request) => {
    asked.push(request);
    const given = pieces[Symbol.iterator]();
    const iterator: AsyncIterator<Uint8Array> = {
      next: async () => given.next() as IteratorResult<Uint8Array>,
      async return() {
        state.left = true;
        return { done: true, value: undefined };
      },
    };
    return { status, headers: {}, bytes: { [Symbol.asyncIterator]: () => iterator } };
  };
  return { download, asked, state };
}

/** Returns all bytes of a bill response. */
export async function bytesOf(answer: BillAnswer | undefined): Promise<Buffer> {
  if (answer?.kind !== 'bill') throw new Error(`Not a bill: ${JSON.stringify(answer)}`);
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}
