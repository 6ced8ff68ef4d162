import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Processor seconds (user and system) of a test file, and of the child processes that ended during it. */
export interface FileCost {
  file: string;
  /** Until AVA was ready to load the file; 0 (like `loading`) for files in another file's process. */
  start: number;
  /** Until the first line of the file ran. */
  loading: number;
  tests: number;
  children: number;
  /** Elapsed seconds. */
  lasted: number;
}

/** The tag of a test file in the names of its databases. */
export function databaseTag(file: string): string {
  return createHash('sha256').update(file).digest('hex').slice(0, 8);
}

/** Processor seconds of this process. */
export function ownSeconds(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1e6;
}

const TICKS = 100;

/** Processor seconds of a process and of its ended children, and its start time; zeros without /proc. */
export function secondsOf(pid: number | 'self'): { own: number; ended: number; begun: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The process name may contain anything, even brackets; fields are counted from its end.
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

let give = (_file: string): void => {};

/** Adds the process's costs since the last call to this file. */
export function countFor(file: string): void {
  give(file);
}

/** Measures the process of test files and writes the figures into the folder when it ends. */
export function measureFiles(file: string, beside: readonly string[], folder: string): void {
  const start = ownSeconds();
  // A run inside a test counts as a child of the test.
  delete process.env.PAY_TEST_COST;
  const now = () => ({ tests: ownSeconds(), children: secondsOf('self').ended, lasted: process.uptime() });
  type Figures = ReturnType<typeof now>;
  const spent = new Map<string, Figures>();
  let loaded: number | undefined;
  let since: Figures = { tests: 0, children: 0, lasted: 0 };
  give = (to) => {
    const [known, until] = [spent.get(to), now()];
    const add = (name: keyof Figures) => (known?.[name] ?? 0) + until[name] - since[name];
    spent.set(to, { tests: add('tests'), children: add('children'), lasted: add('lasted') });
    since = until;
  };
  process.once('pay-test-loaded', () => {
    since = now();
    loaded = since.tests;
  });
  const urls = new Set([file, ...beside].map((path) => pathToFileURL(path).href));
  registerHooks({
    load(asked, context, next) {
      const found = next(asked, context);
      if (!urls.has(asked) || !found.source) return found;
      // Imports are evaluated before the first statement, in any order of lines.
      return {
        ...found,
        source: `process.emit('pay-test-loaded');${Buffer.from(found.source as Uint8Array).toString()}`,
      };
    },
  });
  process.on('exit', () => {
    loaded ??= ownSeconds();
    give(file);
    const own = { start, loading: loaded - start };
    const costs = [...spent].map(([of, figures]): FileCost => {
      return { file: of, ...(of === file ? own : { start: 0, loading: 0 }), ...figures };
    });
    writeFileSync(join(folder, `${process.pid}-${process.hrtime.bigint()}.json`), JSON.stringify(costs));
  });
}
