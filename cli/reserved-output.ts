import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Terminal } from './terminal.ts';
import { OutputLost, writeAll } from './whole-write.ts';

/** Bytes to reserve on stdout. An object with a secret is shorter. */
const ROOM = 32 * 1024;

interface ReservedOutput {
  /** Writes the output to disk (fsync). */
  settle(): void;
  /** Removes the unused reserved bytes from the end of the file. */
  release(): void;
}

const NONE: ReservedOutput = { settle() {}, release() {} };

/**
 * Reserves disk space for stdout by writing spaces, which the output then overwrites. Does nothing for pipes and
 * terminals. With `shared: false`, skips a file that other processes may also write to. Throws OutputLost if the disk
 * is full.
 */
export async function reserveOutput(
  { out, err }: Pick<Terminal, 'out' | 'err'>,
  { shared = true } = {},
): Promise<ReservedOutput> {
  const { fd } = out;
  if (fd === undefined) return NONE;
  const found = fstatSync(fd);
  if (found.isCharacterDevice()) {
    await out.write('\n');
    return NONE;
  }
  if (!found.isFile()) return NONE;
  try {
    const place = placeOf(fd);
    if (!shared && (place?.appends !== false || isSame(fd, err.fd))) return NONE;
    const reserved =
      place === undefined || isSame(fd, err.fd)
        ? proven(fd, found.size)
        : place.appends
          ? appended(fd, found.size, out.via)
          : inPlace(fd, found.size, place.position);
    return { ...reserved, settle: () => sync(fd) };
  } catch (error) {
    throw new OutputLost(error);
  }
}

/** The write position of a file descriptor, and whether the descriptor appends; undefined except on Linux. */
function placeOf(fd: number): { position: number; appends: boolean } | undefined {
  try {
    const facts = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
    const position = Number(/^pos:\s*(\d+)$/m.exec(facts)?.[1]);
    const flags = Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(facts)?.[1] ?? '', 8);
    if (Number.isNaN(position) || Number.isNaN(flags)) return undefined;
    return { position, appends: (flags & constants.O_APPEND) !== 0 };
  } catch {
    return undefined;
  }
}

function isSame(fd: number, other: number | undefined): boolean {
  if (other === undefined) return false;
  const [one, two] = [fstatSync(fd), fstatSync(other)];
  return one.dev === two.dev && one.ino === two.ino;
}

type Reserved = Pick<ReservedOutput, 'release'>;

/** Only tests for free space, because stderr writes to the same file or the write position is unknown. */
function proven(fd: number, size: number): Reserved {
  fill(fd, size, size);
  cut(fd, size + ROOM, size);
  return NONE;
}

function inPlace(fd: number, size: number, position: number): Reserved {
  const begin = Math.max(size, position);
  fill(fd, begin, size);
  return {
    release() {
      const now = placeOf(fd)?.position ?? position;
      cut(fd, begin + ROOM, now === position ? size : Math.max(size, now));
    },
  };
}

/** An append-only descriptor cannot overwrite the reserved spaces, so a second descriptor writes the output. */
function appended(fd: number, size: number, via: Terminal['out']['via']): Reserved {
  let own: number;
  try {
    own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY);
  } catch {
    return proven(fd, size);
  }
  try {
    fill(fd, undefined, size);
  } catch (error) {
    closeSync(own);
    throw error;
  }
  // The end of the file is queried after the spaces were written, because other processes may append to the same file.
  const end = placeOf(fd)?.position ?? size + ROOM;
  const begin = end - ROOM;
  let written = 0;
  via((bytes) => {
    const fitting = bytes.subarray(0, Math.max(0, ROOM - written));
    writeAll(own, fitting, begin + written);
    written += bytes.length;
    if (fitting.length < bytes.length) writeAll(fd, bytes.subarray(fitting.length));
  });
  return {
    release() {
      via(undefined);
      closeSync(own);
      if (written < ROOM) cut(fd, end, begin + written);
    },
  };
}

/** Writes spaces to reserve the disk space. If the disk is full, removes the spaces again. */
function fill(fd: number, position: number | undefined, size: number): void {
  const blanks = Buffer.alloc(ROOM, ' ');
  let done = 0;
  try {
    while (done < ROOM)
      done += writeSync(fd, blanks, done, ROOM - done, position === undefined ? null : position + done);
    sync(fd);
  } catch (error) {
    cut(fd, (position ?? size) + done, size);
    throw error;
  }
}

/** Truncates the file. Does nothing if another process has appended to the file. */
function cut(fd: number, end: number, length: number): void {
  if (fstatSync(fd).size === end && length < end) ftruncateSync(fd, length);
}

/** Writes the file to disk, because some file systems report a full disk only at fsync. */
function sync(fd: number): void {
  try {
    fsyncSync(fd);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EINVAL')) throw error;
  }
}
