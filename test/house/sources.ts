import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository root, with package.json. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** One import, export-from or `import()`: `target` is a path from the root, or the name of a package. */
export interface Import {
  target: string;
  ours: boolean;
  typeOnly: boolean;
  dynamic: boolean;
  names: readonly string[];
}

/** One source file; its path is relative to the root with forward slashes. */
export interface Source {
  path: string;
  text: string;
  lines: number;
  imports: readonly Import[];
}

/** The files of the checkout that match the patterns, with forward slashes, without those of packages (`node_modules`). */
export function filesOf(...patterns: string[]): string[] {
  return globSync(patterns, { cwd: root, exclude: (path) => /(^|[\\/])node_modules$/.test(path) }).map((path) =>
    path.split('\\').join('/'),
  );
}

/** Reads every TypeScript and JavaScript file in the folders, except the guide samples, which are for merchants' programs. */
export function sourcesIn(...folders: string[]): Source[] {
  return filesOf(...folders.map((folder) => `${folder}/**/*.{ts,mjs}`))
    .filter((path) => !path.startsWith('server/pages/guides/'))
    .toSorted()
    .map((path) => readSource(path, readFileSync(join(root, path), 'utf8')));
}

/** Parses a file; separate from reading so that the parser can be tested. */
export function readSource(path: string, text: string): Source {
  const code = text.replaceAll(/^\s*\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
  return { path, text, lines: text.trimEnd().split('\n').length, imports: [...imports(path, code)] };
}

const statement = /^\s*(?:import|export)\s+(type\s+)?(?:([\w*{][^;'"`=]*?)\s*from\s*)?['"]([^'"\n]+)['"]/gm;
const expression = /\bimport\s*\(\s*['"`]([^'"`\n]+)['"`]/g;
const typeQuery = /\btypeof\s+import\s*\(\s*['"`]([^'"`\n]+)['"`]/g;

function* imports(path: string, code: string): Iterable<Import> {
  for (const [, type, names = '', specifier = ''] of code.matchAll(statement)) {
    const listed = names.match(/[\w$]+(?=\s*(?:,|\}|$|\s+as\b))/g) ?? [];
    const values = names.replaceAll(/\btype\s+[\w$]+(\s+as\s+[\w$]+)?/g, '').match(/[\w$]+|\*/g) ?? [];
    const typeOnly = type !== undefined;
    yield { ...resolve(path, specifier), typeOnly, dynamic: false, names: typeOnly ? listed : values };
  }
  for (const [, specifier = ''] of code.replaceAll(typeQuery, '').matchAll(expression)) {
    yield { ...resolve(path, specifier), typeOnly: false, dynamic: true, names: [] };
  }
}

function resolve(path: string, specifier: string): Pick<Import, 'target' | 'ours'> {
  if (specifier.startsWith('.')) return { target: posix.join(dirname(path), specifier), ours: true };
  const parts = specifier.split('/');
  return { target: parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/'), ours: false };
}

/** The files and packages loaded with `start` through static value imports. */
export function loadedWith(start: string, sources: readonly Source[]): { files: Set<string>; packages: Set<string> } {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    for (const { target, ours, typeOnly, dynamic } of byPath.get(path)?.imports ?? []) {
      if (typeOnly || dynamic) continue;
      if (ours) visit(target);
      else packages.add(target);
    }
  };
  visit(start);
  return { files, packages };
}

/** Import cycles (strongly connected files), each sorted; type imports and `import()` count. */
export function circlesOf(sources: readonly Source[]): string[][] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): void => {
    order.set(path, order.size);
    lowest.set(path, order.get(path)!);
    open.push(path);
    for (const { target } of byPath.get(path)!.imports) {
      if (!byPath.has(target)) continue;
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lowest.set(path, Math.min(lowest.get(path)!, lowest.get(target)!));
    }
    if (lowest.get(path) !== order.get(path)) return;
    const circle = open.splice(open.indexOf(path));
    if (circle.length > 1) circles.push(circle.toSorted());
  };
  for (const { path } of sources) if (!order.has(path)) visit(path);
  return circles;
}
