import type { ExecutionContext } from 'ava';
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { countFor } from './cost-of-file.ts';

/** How many files of a folder share a process. Starting one and loading the service takes longer than most files run. */
const SHARED: readonly (readonly [RegExp, number])[] = [
  [/^test\/unit\//, 16],
  [/^test\/http\//, 10],
  [/^test\/races\//, 7],
  [/^test\/(?:cli|house)\//, 6],
  [/^test\/oracles\/packages\//, 6],
];

/** Code with effects on other files in the process, or that uses AVA features with one instance per process. */
const ALONE =
  /\bmock\.|\bregisterHooks\b|\bprocess\.(?:env|title|exitCode|chdir)\b|\.context\b|\.(?:before|after)Each\b|\.snapshot\(/;

/** The files that share a process, by the file that is passed to AVA. */
type Shared = Record<string, string[]>;

/** Gives every file its own process. */
export function eachAlone(files: readonly string[]): Shared {
  return Object.fromEntries(files.map((file) => [file, []]));
}

/** Groups files of a folder into shared processes. */
export function shareProcesses(files: readonly string[], folders = SHARED): Shared {
  const shared: Shared = {};
  const open = new Map<number, string>();
  for (const file of files) {
    const kind = folders.findIndex(([folder]) => folder.test(file.split(sep).join('/')));
    const first = open.get(kind);
    if (kind < 0 || ALONE.test(readFileSync(file, 'utf8'))) shared[file] = [];
    else if (first !== undefined && shared[first]!.length + 1 < folders[kind]![1]) shared[first]!.push(file);
    else {
      shared[file] = [];
      open.set(kind, file);
    }
  }
  return shared;
}

/** Prefix of the title of a test whose file shares its process; the name of the file follows. */
const MARK = '¶';

/** The name that AVA prints before the tests of a file. */
function nameOf(file: string): string {
  return relative('test', file)
    .replace(/\.test\.m?[jt]s$/, '')
    .split(sep)
    .join(' › ');
}

/** Returns the files in shared processes whose tests are missing in the report; for a file with its own process AVA reports that. */
export function unheard(shared: Shared, report: readonly string[]): string[] {
  const files = Object.entries(shared).flatMap(([told, beside]) => (beside.length > 0 ? [told, ...beside] : []));
  return files.filter((file) => !report.some((line) => line.includes(`${nameOf(file)} › `)));
}

/** Adds the file to a line of AVA's report; removes the duration, which may include waiting for the turn. */
export function withItsFile(line: string): string {
  const [, head, title] =
    new RegExp(`^( *(?:[^\\w\\s]+ )?(?:\\[[^\\]]+\\]: )?)(?:[^${MARK}]* › )?${MARK}(.*)`).exec(line) ?? [];
  return title === undefined ? line : head + title.replace(/ \((?:\d+(?:\.\d+)?(?:ms|s|m) ?)+\)$/, '');
}

type Implementation = (...given: unknown[]) => unknown;

const running = new AsyncLocalStorage<string>();

/** The file that AVA loads; the other files of the process are loaded beside it. */
let loadedByAva: string | undefined;

/** The file of a shared process that is running or loading; undefined in a process with one file. */
export function currentFile(): string | undefined {
  return running.getStore() ?? loadedByAva;
}

/** Most concurrent tests of a file: AVA starts hundreds, which would starve each other on a slow machine. */
const AT_ONCE = 12;

/** Makes the concurrent tests of a file wait until those of the file before have ended. */
class Turn {
  #left = 0;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #end!: () => void;
  readonly #ended = new Promise<void>((resolve) => (this.#end = resolve));
  readonly #before: Turn | undefined;
  readonly #file: string;

  constructor(file: string, before: Turn | undefined) {
    this.#file = file;
    this.#before = before;
  }

  take(implementation: Implementation): Implementation {
    this.#left++;
    return async (...given) => {
      await this.#before?.over();
      if (this.#running === AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else this.#running++;
      try {
        return await implementation(...given);
      } finally {
        const next = this.#waiting.shift();
        if (next) next();
        else this.#running--;
        if (--this.#left === 0) {
          countFor(this.#file);
          this.#end();
        }
      }
    };
  }

  async over(): Promise<void> {
    await this.#before?.over();
    if (this.#left > 0) await this.#ended;
  }
}

/** AVA starts the declared tests at the end of the turn with the first declaration, so tests of files that await during loading are held back. */
class Declared {
  #kept: (() => void)[] | undefined = [];

  add(file: string, last: string, declare: () => void): void {
    if (file !== last && this.#kept) return void this.#kept.push(declare);
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const each of [...kept, declare]) each();
  }
}

/** Loads further test files in the process of the one that AVA is about to load. */
export async function loadBeside(last: string, files: readonly string[]): Promise<void> {
  const { default: test } = await import('ava');
  loadedByAva = last;
  const declared = new Declared();
  const tests = new Map<string, unknown>();
  let before: Turn | undefined;
  for (const file of [...files, last]) {
    before = new Turn(file, before);
    tests.set(pathToFileURL(file).href, inTurn(test, before, file, last, declared));
  }
  // A module that declares tests for several files declares them for the file that is loading.
  const ofCurrent = () => tests.get(pathToFileURL(currentFile()!).href) as Implementation;
  const ofAny = new Proxy(test as unknown as Implementation, {
    get: (_, key) => Reflect.get(ofCurrent(), key),
    apply: (_, self, given) => Reflect.apply(ofCurrent(), self, given),
  });
  Object.assign(globalThis, { [MARK]: { get: (of: string) => tests.get(of) ?? ofAny } });
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== 'ava' || context.parentURL?.endsWith('?ava')) return next(specifier, context);
      return { url: `${context.parentURL}?ava`, format: 'module', shortCircuit: true };
    },
    load(url, context, next) {
      const [of = '', asked] = url.split('?');
      if (asked !== 'ava') return next(url, context);
      const source = `export * from 'ava';\nexport default globalThis['${MARK}'].get(${JSON.stringify(of)});`;
      return { format: 'module', source, shortCircuit: true };
    },
  });
  for (const file of files) await running.run(file, () => import(pathToFileURL(file).href));
}

/** Serial tests and hooks run alone, before the concurrent tests: their cost belongs to their file. */
function counted(file: string, implementation: Implementation): Implementation {
  return async (...given) => {
    try {
      return await implementation(...given);
    } finally {
      countFor(file);
    }
  };
}

/** AVA's `test` for a file in a shared process; `path` is the chain of properties so far: `test.serial.before` … */
function inTurn<Of extends object>(
  chain: Of,
  turn: Turn,
  file: string,
  last: string,
  declared: Declared,
  path: readonly string[] = [],
): Of {
  const start = `${MARK}${nameOf(file)} › `;
  const isAtOnce = path.every((word) => word === 'failing' || word === 'only');
  const isAboutEach = path.some((word) => word.endsWith('Each'));
  const own = (implementation: Implementation): Implementation => {
    const inFile: Implementation = (...given) => running.run(file, () => implementation(...given));
    if (isAtOnce) return turn.take(inFile);
    if (!isAboutEach) return counted(file, inFile);
    return (...given) => ((given[0] as ExecutionContext).title.includes(start) ? inFile(...given) : undefined);
  };
  return new Proxy(chain, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? inTurn(value, turn, file, last, declared, [...path, String(key)]) : value;
    },
    apply: (target, self, given: unknown[]) => {
      const named = given.map((each) => (typeof each === 'function' ? own(each as Implementation) : each));
      if (typeof named[0] === 'string') named[0] = start + named[0];
      declared.add(file, last, () => Reflect.apply(target as Implementation, self, named));
    },
  });
}
