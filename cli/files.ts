import { link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CliError, EXIT, UsageError, codeOf } from './errors.ts';
import { writeFault } from './whole-write.ts';

/** Makes a folder that only its owner can enter. */
export async function ensurePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** Replaces a file atomically: writes and syncs a new file (0600), then renames it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = await writeBeside(path, text).catch(refusedAt(path));
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** A new file whose disk space is already reserved. The file appears at its path only after `commit`. */
export interface ReservedFile {
  commit(text: string): Promise<void>;
  discard(): Promise<void>;
}

/** Bytes to reserve for a file with a secret. No secret is longer. */
const ROOM = 16 * 1024;

/** Reserves space for a new file, so that a secret that is created later can be written. Throws if the file exists. */
export async function reserveFile(path: string): Promise<ReservedFile> {
  if (await exists(path))
    throw new UsageError(
      `${path} already exists; payctl never overwrites a file with a secret.`,
      'choose another file name',
      'file_exists',
    );
  const temporary = await writeBeside(path, ' '.repeat(ROOM))
    .catch(refusedAt(path))
    .catch((error: unknown) => {
      if (error instanceof CliError) throw error;
      throw new CliError('file_denied', EXIT.usage, `Cannot write to ${path}.`, {
        cause: error,
        hint: 'choose a directory that you can write to',
      });
    });
  return {
    async commit(text) {
      await writeInto(temporary, text);
      // `link` fails if the path exists. `rename` would overwrite the existing file.
      await link(temporary, path);
      await rm(temporary, { force: true });
    },
    discard: () => rm(temporary, { force: true }),
  };
}

/** A large new file that appears at its path only after `commit`. */
export interface ReservedStream {
  write(part: Uint8Array): Promise<void>;
  commit(): Promise<void>;
  discard(): Promise<void>;
}

/** Opens a temporary file in the folder of `path`. Throws if `path` exists. */
export async function reserveStream(path: string): Promise<ReservedStream> {
  if (await exists(path)) throw new UsageError(`${path} already exists.`, 'choose another file name', 'file_exists');
  const temporary = await writeBeside(path, '');
  const file = await open(temporary, 'r+');
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await file.close();
    isOpen = false;
  };
  return {
    write: (part) => file.writeFile(part).catch(refusedAt(path)),
    async commit() {
      await file.sync().catch(refusedAt(path));
      await close();
      await link(temporary, path);
      await rm(temporary, { force: true });
    },
    async discard() {
      await close();
      await rm(temporary, { force: true });
    },
  };
}

async function writeBeside(path: string, text: string): Promise<string> {
  const temporary = join(dirname(path), `.${crypto.randomUUID()}.tmp`);
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return temporary;
}

function refusedAt(path: string): (error: unknown) => never {
  return (error) => {
    const fault = writeFault(error);
    if (fault === undefined) throw error;
    throw new CliError('file_not_written', EXIT.failed, `Cannot write to ${path}: ${fault}.`, {
      cause: error,
      hint: 'free disk space or choose another file, then run it again',
    });
  };
}

/** Checks that this many bytes can be written beside `path`, by writing and removing a test file. */
export async function proveRoom(path: string, bytes: number): Promise<void> {
  await rm(await writeBeside(path, ' '.repeat(bytes)).catch(refusedAt(path)), { force: true });
}

/** Overwrites the blanks that reserve the disk space with the text, and truncates the file after the text. */
async function writeInto(path: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const file = await open(path, 'r+');
  try {
    await file.writeFile(bytes);
    await file.truncate(bytes.length);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Whether the path exists. */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * Decodes UTF-8 and removes a byte order mark, which would break JSON and passwords. Throws UsageError for other text.
 */
export function textFrom(bytes: Uint8Array, source: string): string {
  const isMarked = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isMarked || bytes.includes(0)) {
    const fault = isMarked ? 'is in UTF-16' : 'has zero bytes, as UTF-16 and binary files have';
    throw new UsageError(`${source} ${fault}; payctl reads UTF-8.`, 'save the text as UTF-8', 'not_utf8');
  }
  return new TextDecoder().decode(bytes);
}

/** Reads a text file. Error messages name the file as `shown`. */
export async function readTextFile(path: string, shown = path): Promise<string> {
  return textFrom(await readFile(path), shown);
}

/** Reads a PEM file of certificates. Throws UsageError if the file has no certificate. */
export async function readAuthorities(path: string): Promise<string> {
  const text = await readTextFile(path).catch((error: unknown) => {
    if (error instanceof CliError) throw error;
    throw new UsageError(`The CA file ${path} cannot be read (${codeOf(error) ?? String(error)}).`);
  });
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new UsageError(`The CA file ${path} has no certificate.`, 'use a PEM file');
  return text;
}

export const WRITABLE_BY_OTHERS = 0o022;
export const OPEN_TO_OTHERS = 0o077;

/**
 * Reads a private file; undefined if missing. Throws if another user (except root) owns the file, or if its permissions
 * contain one of `bits`.
 */
export async function readPrivate(path: string, bits: number): Promise<string | undefined> {
  const file = await open(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    refuseOpenTo(path, await file.stat(), bits);
    return textFrom(await file.readFile(), path);
  } finally {
    await file.close();
  }
}

/** Throws if other users can write to the folder, or if another user (except root) owns the folder. */
export async function refuseSharedFolder(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found) refuseOpenTo(path, found, WRITABLE_BY_OTHERS);
}

/** On Windows nothing is checked, because Windows has no such permission bits. */
function refuseOpenTo(path: string, { mode, uid }: { mode: number; uid: number }, bits: number): void {
  const own = process.geteuid?.();
  if (own === undefined) return;
  if (uid !== own && uid !== 0)
    throw new CliError('file_of_another_user', EXIT.failed, `${path} belongs to another user (uid ${uid}).`, {
      hint: `chown ${own} ${path}`,
    });
  if ((mode & bits) === 0) return;
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  throw new CliError('file_not_private', EXIT.failed, `${path} is accessible to other users (mode ${shown}).`, {
    hint: `chmod go= ${path}`,
  });
}

const LOCK_TRIES = 100;
const STALE_MS = 10_000;

/**
 * Runs `work` under a lock file, so that two payctl processes of a user never run it at the same time. A lock older
 * than 10 s is removed, because its process was probably killed.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await takeLock(path);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function takeLock(path: string): Promise<void> {
  for (let tries = 0; tries < LOCK_TRIES; tries += 1) {
    try {
      const file = await open(path, 'wx', 0o600);
      return await file.close();
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const age = await stat(path).then(
      (found) => Date.now() - found.mtimeMs,
      () => 0,
    );
    if (age > STALE_MS) await rm(path, { force: true });
    else await wait(50);
  }
  throw new CliError('locked', EXIT.tryAgain, `Another payctl process holds the lock ${path}.`, {
    hint: `retry; if no other payctl is running, delete ${path}`,
  });
}
