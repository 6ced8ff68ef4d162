import { LocalError } from '../errors.ts';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Takes a folder for this process; the returned function gives it back. Throws when a living process has it. */
export function lockFolder(dir: string): () => void {
  const file = join(dir, 'lock');
  for (;;) {
    try {
      writeFileSync(file, ownMark(), { flag: 'wx', mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const holder = readHolder(file);
      if (holder !== undefined && isAlive(holder))
        throw new LocalError(
          'simulator_in_use',
          409,
          `The folder ${dir} of the simulator is in use by process ${holder.pid}.`,
          {
            hint: 'Stop that one, or set Simulator.Url to use it.',
          },
        );
      rmSync(file, { force: true });
    }
  }
}

interface Holder {
  pid: number;
  started: string;
}

function ownMark(): string {
  return JSON.stringify({ pid: process.pid, started: startOf(process.pid) });
}

function readHolder(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

/** A number can be given to another process after a kill, so the start time must be the same too. */
function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startOf(pid) === started;
}

/** When a process started, in the kernel's ticks; empty where the system does not tell. */
function startOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
