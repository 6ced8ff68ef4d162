import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LocalError } from './errors.ts';

/** The process that has locked a folder. `pid` is valid only on `host`, in the process namespace of this host. */
export interface FolderHolder {
  pid: number;
  host: string;
  /** When the folder was locked, ISO 8601. */
  since: string;
}

interface FolderLockWords {
  /** The name of the setting that contains the folder's path. */
  key: string;
  /** The error for a locked folder. Fields of `holder` are missing until that process has written its lock file. */
  refuse(holder: Partial<FolderHolder>): Error;
}

/** Prefix of the lock's file names in the locked folder. */
export const LOCK_FILE = '.service.lock';

/** Without this reference, the file handle could be garbage-collected, which would release the lock. */
const held = new Set<DatabaseSync>();
/** SQLITE_BUSY: another process has the lock. */
const BUSY = 5;

/**
 * Locks a folder and returns the function that releases the lock. The operating system locks a file in the folder, so
 * the lock is visible through other paths, mounts and process namespaces. It ends with the process, so a `kill -9`
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

/** Creates a missing folder with mode 0700; throws `folder_unusable` with its configuration key. */
export function makeFolder(folder: string, key: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file is in its place' : code;
    throw new LocalError('folder_unusable', 503, `The folder ${folder} cannot be created: ${why}.`, {
      cause: error,
      hint: `Check the path and its permissions, or change ${key}.`,
    });
  }
}

/** Describes the process that has locked a folder, for an error text: `process 42 on host a since …`. */
export function nameHolder({ pid, host, since }: Partial<FolderHolder>): string {
  const name = pid === undefined ? 'another process' : `process ${pid}`;
  return [name, host && `on host ${host}`, since && `since ${since}`].filter(Boolean).join(' ');
}

/** SQLite's lock writes nothing. No other code of this process may open the file: closing it would release the lock. */
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
      hint: 'Check the owner and the permissions of the folder, and that its file system supports locks.',
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
