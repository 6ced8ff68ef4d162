import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { root } from '../house/sources.ts';

/** By start and end offset, or `any` for built code: 1 if the function ran, otherwise 0. */
export type Functions = Record<string, number>;

/** For each module that a test file and its child processes loaded: its git blob and its functions. */
export type Recorded = Record<string, [blob: string, functions: Functions]>;

/** For each module of a run: its git blob, and the start and end offsets of executed ranges in turn. */
export type Covered = Record<string, [blob: string, executed: number[]]>;

/** The record of one process. `ended` is missing when the process ended before it could be written. */
interface Told {
  test: string;
  ended?: 'passed' | 'failed' | 'child';
  modules: { path: string; functions: Functions; executed: number[] }[];
}

const folder = join(root, 'node_modules/.cache/pay-test');
const fileOf = (test: string) => join(folder, 'tests', `${encodeURIComponent(test)}.gz`);

export function readGzip<T>(path: string): T {
  return JSON.parse(gunzipSync(readFileSync(path)).toString()) as T;
}

const writeGzip = (path: string, what: unknown) => writeFileSync(path, gzipSync(JSON.stringify(what)));

function git(args: string[], input = ''): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28, input, stdio: 'pipe' });
}

/** The git blob of each file in the work tree, untracked files included; git keeps the texts for a while. */
export function blobsNow(): Map<string, string> {
  const listed = git(['ls-files', '-z', '--cached', '--others', '--exclude-standard']).split('\0');
  const paths = [...new Set(listed)].filter((path) => path !== '' && existsSync(join(root, path)));
  const names = git(['hash-object', '-w', '--stdin-paths'], paths.join('\n')).split('\n');
  return new Map(paths.map((path, at) => [path, names[at]!]));
}

export function blobsAt(commit: string): Map<string, string> {
  const entries = git(['ls-tree', '-r', '-z', '--full-tree', commit]).matchAll(/blob (\w+)\t([^\0]+)\0/g);
  return new Map([...entries].map(([, blob, path]) => [path!, blob!]));
}

/** Returns the text of a blob; undefined when git has deleted it. */
export function textOf(blob: string): string | undefined {
  const { status, stdout } = spawnSync('git', ['cat-file', 'blob', blob], { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

/** Returns the ranges of lines that differ between two texts: first index and count, in both. */
export function differences(
  a: string,
  b: string,
): [from: number, count: number, otherFrom: number, otherCount: number][] {
  const blobs = [a, b].map((text) => git(['hash-object', '-w', '--stdin'], text).trim());
  const said = git(['diff', '--no-ext-diff', '--no-color', '--text', '-U0', ...blobs]);
  return [...said.matchAll(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm)].map((found) => {
    const [from = 0, count = 1, otherFrom = 0, otherCount = 1] = found.slice(1).map((each) => each && Number(each));
    // For an empty range, git gives the line before it.
    return [+from - (count ? 1 : 0), +count, +otherFrom - (otherCount ? 1 : 0), +otherCount];
  });
}

export function readRecord(test: string): Recorded | undefined {
  return existsSync(fileOf(test)) ? readGzip<Recorded>(fileOf(test)) : undefined;
}

/** Returns the start and end of each run of ones. */
function turnsOf(marks: Uint8Array): number[] {
  const found: number[] = [];
  for (let at = marks.indexOf(1); at >= 0; at = marks.indexOf((found.length + 1) % 2, at)) found.push(at);
  return found;
}

/** Runs test files and records the code that each process executes; each process creates the otherwise shared files itself. */
export async function recordRun<T>(
  files: readonly string[],
  told: string,
  run: (environment: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  mkdirSync(told);
  const before = blobsNow();
  const heard = await run({
    PAY_TEST_RECORD: told,
    NODE_OPTIONS: `--import=${new URL('record.mjs', import.meta.url).href}`,
    // Coverage of cached code does not distinguish functions.
    NODE_DISABLE_COMPILE_CACHE: '1',
    PAY_TEST_KEPT: undefined,
  });
  const recorded = keepRecord(told, before, files);
  console.log(`# ${recorded.length} of ${files.length} files are recorded`);
  const others = files.filter((file) => !recorded.includes(file));
  if (others.length > 0) console.log(`# a test failed, or a process ended without a word: ${others.join(', ')}`);
  return heard;
}

/** Stores the records of these test files; returns the files with a complete record. */
function keepRecord(told: string, before: ReadonlyMap<string, string>, files: readonly string[]): string[] {
  const after = blobsNow();
  const ran = new Map<string, Uint8Array>();
  const tests = new Map(files.map((file) => [file, { isWhole: true, recorded: {} as Recorded }]));
  for (const name of readdirSync(told).filter((each) => !each.endsWith('.part'))) {
    const one = readGzip<Told>(join(told, name));
    const test = tests.get(one.test);
    if (!test) continue;
    if (one.ended === undefined || one.ended === 'failed') test.isWhole = false;
    // Git ignores it, or it changed while the tests ran.
    const isKnown = (path: string) => after.has(path) && after.get(path) === before.get(path);
    for (const { path, functions, executed } of one.modules) {
      if (!isKnown(path)) test.isWhole &&= !before.has(path);
      if (!isKnown(path)) continue;
      const marks = ran.get(path) ?? new Uint8Array(statSync(join(root, path)).size + 1);
      for (let at = 0; at < executed.length; at += 2) marks.fill(1, executed[at], executed[at + 1]);
      ran.set(path, marks);
      const [, known] = (test.recorded[path] ??= [after.get(path)!, {}]);
      for (const [place, count] of Object.entries(functions)) known[place] = Math.max(known[place] ?? 0, count);
    }
  }
  mkdirSync(join(folder, 'tests'), { recursive: true });
  const covered: Covered = Object.fromEntries(
    [...ran].map(([path, marks]) => [path, [after.get(path)!, turnsOf(marks)]]),
  );
  writeGzip(join(folder, 'covered.json.gz'), covered);
  return files.filter((file) => {
    const { isWhole, recorded } = tests.get(file)!;
    rmSync(fileOf(file), { force: true });
    if (!isWhole || !recorded[file]) return false;
    writeGzip(fileOf(file), recorded);
    return true;
  });
}
