import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BillMalformed } from './bill.ts';

/** Largest file that is taken. */
const MOST_BYTES = 2 * 1024 ** 3;

/** A bill as a file of its own, with what tells whether it is another one. */
export interface Spooled {
  file: string;
  bytes: bigint;
  sha256: string;
}

/**
 * Keeps what comes in a temporary file while `work` reads it: a link to a bill lives for half a minute, and a hash is known at the
 * end only. Throws BillMalformed `too_large`, and what the source throws.
 */
export async function spooled<Result>(
  source: AsyncIterable<Uint8Array>,
  work: (spool: Spooled) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'payment-bill-'));
  try {
    return await work(await write(source, join(folder, randomUUID())));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function write(source: AsyncIterable<Uint8Array>, file: string): Promise<Spooled> {
  const hash = createHash('sha256');
  let bytes = 0n;
  const handle = await open(file, 'wx', 0o600);
  try {
    for await (const piece of source) {
      bytes += BigInt(piece.byteLength);
      if (bytes > MOST_BYTES) throw new BillMalformed('too_large', `The file has more than ${MOST_BYTES} bytes.`);
      hash.update(piece);
      await handle.write(piece);
    }
  } finally {
    await handle.close();
  }
  return { file, bytes, sha256: hash.digest('hex') };
}

/** The bytes of a file, piece by piece. */
export function bytesOf(file: string): AsyncIterable<Uint8Array> {
  return createReadStream(file, { highWaterMark: 1024 * 1024 });
}
