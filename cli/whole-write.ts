import { fstatSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

type Output = Writable & { fd?: unknown; isTTY?: boolean };

const FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
  EFBIG: 'file too large',
  EIO: 'input/output error',
};

/** Describes why a write failed; undefined if the error is not a failed write. */
export function writeFault(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
}

/** A failed write to stdout. */
export class OutputLost extends Error {
  constructor(cause: unknown) {
    const why = writeFault(cause) ?? (cause instanceof Error ? cause.message : String(cause));
    super(`Cannot write to stdout: ${why}.`, { cause });
    this.name = 'OutputLost';
  }
}

/** The descriptor of a stream; undefined for a terminal. */
export function descriptorOf({ fd, isTTY }: Output): number | undefined {
  return typeof fd === 'number' && fd >= 0 && isTTY !== true ? fd : undefined;
}

/**
 * Writes all bytes, from `position` or from the current position of the descriptor. Throws if only a part was written.
 */
export function writeAll(fd: number, bytes: Uint8Array, position: number | null = null): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(fd, bytes, done, bytes.length - done, position === null ? null : position + done);
}

/**
 * Writes to a stream and resolves after the write. Regular files are written directly, because Node.js drops the rest
 * of a partial write without an error.
 */
export async function writeWhole(stream: Output, text: string | Uint8Array): Promise<void> {
  const fd = descriptorOf(stream);
  if (fd !== undefined && fstatSync(fd).isFile())
    return writeAll(fd, typeof text === 'string' ? Buffer.from(text) : text);
  await new Promise<void>((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
