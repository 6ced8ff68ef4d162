import { fstatSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

/** A stream that may stand for a descriptor, as those of the process do. */
type Output = Writable & { fd?: unknown; isTTY?: boolean };

/** The operating system's reason for a failed write, in words. */
const FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
  EFBIG: 'file too large',
  EIO: 'input/output error',
};

/** Why something could not be written, in words; undefined when it was not the place that refused it. */
export function writeFault(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
}

/** Output to stdout did not arrive. */
export class OutputLost extends Error {
  constructor(cause: unknown) {
    const why = writeFault(cause) ?? (cause instanceof Error ? cause.message : String(cause));
    super(`Cannot write to stdout: ${why}.`, { cause });
    this.name = 'OutputLost';
  }
}

/** The descriptor behind a stream of the process; undefined for a terminal and for a stream without one. */
export function descriptorOf({ fd, isTTY }: Output): number | undefined {
  return typeof fd === 'number' && fd >= 0 && isTTY !== true ? fd : undefined;
}

/** Writes all of it, at a position or where the descriptor stands; throws when not all of it has a place. */
export function writeAll(fd: number, bytes: Uint8Array, position: number | null = null): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(fd, bytes, done, bytes.length - done, position === null ? null : position + done);
}

/**
 * Writes to a stream and resolves when the text has arrived. To a regular file it is written here: of what does not fit, Node.js
 * writes the beginning and says nothing of the rest.
 */
export async function writeWhole(stream: Output, text: string | Uint8Array): Promise<void> {
  const fd = descriptorOf(stream);
  if (fd !== undefined && fstatSync(fd).isFile())
    return writeAll(fd, typeof text === 'string' ? Buffer.from(text) : text);
  await new Promise<void>((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
