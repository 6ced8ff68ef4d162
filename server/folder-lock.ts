import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LocalError } from './errors.ts';

/** Who has a folder; the number counts in the holder's own process namespace, which the host tells apart. */
export interface FolderHolder {
  pid: number;
  host: string;
  /** When the folder was taken, ISO 8601. */
  since: string;
}

/** How a refusal of a folder is worded. */
interface FolderLockWords {
  /** Where the folder is configured. */
  key: string;
  /** The refusal when another process has the folder; the holder is not known while it has not written its name yet. */
  refuse(holder: Partial<FolderHolder>): Error;
}

/** Names of the files of a lock, in the folder that it is for; they start with this. */
export const LOCK_FILE = '.service.lock';

/** What would be collected would be unlocked. */
const held = new Set<DatabaseSync>();
/** SQLite's SQLITE_BUSY: somebody else has the lock. */
const BUSY = 5;

/**
 * Takes a folder for this process and returns its release. The lock is one of the operating system on a file in the folder:
 * it holds whatever path, mount or process namespace the folder is reached by, and dies with the process, so a `kill -9`
 * never blocks the next start.
 */
export function lockFolder(folder: string, { key, refuse }: FolderLockWords): () => void {
  makeFolder(folder, key);
  const note = join(folder, `${LOCK_FILE}.json`);
  const lock = open(folder, () => refuse(readHolder(note)));
  const release = () => {
    rmSync(note, { force: true });
    held.delete(lock);
    lock.close();
  };
  try {
    held.add(lock);
    const mine: FolderHolder = { pid: process.pid, host: hostname(), since: new Date().toISOString() };
    writeFileSync(note, JSON.stringify(mine), { mode: 0o600 });
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/** Makes a folder that is not there, for its own user only; throws `folder_unusable` with the key that names it. */
export function makeFolder(folder: string, key: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file is in its place' : code;
    throw new LocalError('folder_unusable', 503, `The folder ${folder} cannot be made: ${why}.`, {
      cause: error,
      hint: `Check the path and its permissions, or change ${key}.`,
    });
  }
}

/** What a holder is called in a refusal: `process 42 on host a since …`. */
export function nameHolder({ pid, host, since }: Partial<FolderHolder>): string {
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  return [who, host && `on host ${host}`, since && `since ${since}`].filter(Boolean).join(' ');
}

/**
 * SQLite takes the lock of the operating system; nothing is ever written to the file. Nothing else in this process may open
 * it: closing it again would give the lock free.
 */
function open(folder: string, refusal: () => Error): DatabaseSync {
  const file = join(folder, LOCK_FILE);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const { errcode, message } = error as Error & { errcode?: number };
    if (errcode === BUSY) throw refusal();
    throw new LocalError('folder_unusable', 503, `The file ${file} cannot be locked: ${message}.`, {
      cause: error,
      hint: 'Check the owner and the permissions of the folder, and that its file system knows locks.',
    });
  }
}

function readHolder(file: string): Partial<FolderHolder> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as FolderHolder;
  } catch {
    return {};
  }
}
