import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Processor seconds, user and system, of a test file's process by what it did, and those of the processes that it started and saw end. */
export interface FileCost {
  file: string;
  /** Other files in the same process: the figures are those of all. */
  beside: readonly string[];
  /** Until AVA was ready to load the file. */
  start: number;
  /** Until the first line of the first file ran. */
  loading: number;
  tests: number;
  children: number;
  /** Seconds of the clock. */
  lasted: number;
}

/** A word for a test file in the names of its databases. */
export function databaseTag(file: string): string {
  return createHash('sha256').update(file).digest('hex').slice(0, 8);
}

/** Processor seconds of this process. */
export function ownSeconds(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1e6;
}

const TICKS = 100;

/** Processor seconds of a process, those of its children that have ended, and when it began; nothing where there is no /proc. */
export function secondsOf(pid: number | 'self'): { own: number; ended: number; begun: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Its name may contain anything, brackets too; fields are counted from what follows.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15);
    return { own: (user! + system!) / TICKS, ended: (endedUser! + endedSystem!) / TICKS, begun: fields[19]! };
  } catch {
    return { own: 0, ended: 0, begun: 0 };
  }
}

/** Measures the process of a test file and leaves the figures in the folder when it ends. */
export function measureFile(file: string, beside: readonly string[], folder: string): void {
  const start = ownSeconds();
  // A run inside a test is a child of it.
  delete process.env.PAY_TEST_COST;
  let loaded: number | undefined;
  process.once('pay-test-loaded', () => (loaded = ownSeconds()));
  const urls = new Set([file, ...beside].map((path) => pathToFileURL(path).href));
  registerHooks({
    load(asked, context, next) {
      const found = next(asked, context);
      if (!urls.has(asked) || !found.source) return found;
      // Imports are evaluated before the first statement, wherever they stand.
      return {
        ...found,
        source: `process.emit('pay-test-loaded');${Buffer.from(found.source as Uint8Array).toString()}`,
      };
    },
  });
  process.on('exit', () => {
    const all = ownSeconds();
    const until = loaded ?? all;
    const cost: FileCost = {
      file,
      beside,
      start,
      loading: until - start,
      tests: all - until,
      children: secondsOf('self').ended,
      lasted: process.uptime(),
    };
    writeFileSync(join(folder, `${process.pid}-${process.hrtime.bigint()}.json`), JSON.stringify(cost));
  });
}
