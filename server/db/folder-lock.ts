import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalError } from '../errors.ts';

/** The embedded database is open in another process. */
export class FolderHeld extends LocalError {
  readonly pid: number;
  readonly folder: string;
  constructor(folder: string, pid: number) {
    super('database_in_use', 503, `The embedded database ${folder} is in use by process ${pid}.`, {
      retryable: true,
      extra: { pid },
      hint: 'Stop that process, rerun this command, then start it again.',
    });
    this.pid = pid;
    this.folder = folder;
  }
}

interface Holder {
  pid: number;
  started: string;
}

/**
 * Takes the lock of an embedded database's folder (a file beside it with pid and start time) and returns its release.
 * A lock whose process is gone does not count, so a `kill -9` never blocks the next start. Throws FolderHeld.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const file = `${folder}.lock`;
  const mine: Holder = { pid: process.pid, started: startOf(process.pid) ?? '' };
  for (;;) {
    if (create(file, mine)) return () => release(file, mine);
    const holder = read(file);
    if (holder && isAlive(holder)) throw new FolderHeld(folder, holder.pid);
    await removeStale(file);
  }
}

function create(file: string, holder: Holder): boolean {
  try {
    writeFileSync(file, JSON.stringify(holder), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

function release(file: string, mine: Holder): void {
  const holder = read(file);
  if (holder?.pid === mine.pid && holder.started === mine.started) unlinkSync(file);
}

/** Only one process at a time may judge a lock stale, or two could each remove the other's fresh one. */
async function removeStale(file: string): Promise<void> {
  const guard = `${file}.takeover`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (ageOf(guard) > 5_000) rmdirSync(guard);
    await delay(20);
    return;
  }
  try {
    const holder = read(file);
    const unreadable = holder === undefined && ageOf(file) > 1_000;
    if (unreadable || (holder && !isAlive(holder))) unlinkSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    rmdirSync(guard);
  }
  await delay(5);
}

function ageOf(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const now = startOf(pid);
  return now === undefined || started === '' || now === started;
}

/** Start time of a process in clock ticks since boot (Linux); undefined where the system does not say. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
