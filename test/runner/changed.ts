import { stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';
import { type Source, sourcesIn } from '../house/sources.ts';
import { blobsAt, blobsNow, differences, type Functions, type Recorded, readRecord, textOf } from './recorded.ts';

/** A change of these files affects every test. The choosing code is among them, because it cannot check itself. */
const CONCERNS_ALL =
  /^((test\/oracles\/)?package(-lock)?\.json|tsconfig[^/]*\.json|bin\/.*|test\/runner\/(run|worker|record|recorded|changed|together)\.\w+)$/;
const MODULE = /^(server(?!\/pages\/guides\/)|cli|config|bin|test)\/.*\.(ts|mjs)$/;
/** Rules that read the whole source. */
const RULES = /^test\/house\/(?!(install|pack|build|sbom|run|changed)\.)[^/]*\.test\.ts$/;
/**
 * Slow tests of builds. A build depends on the list of files and on files that are not modules, not on the contents of modules.
 * `sbom` only depends on bin/ and the lock file, which affect every test; `run` and `changed` depend on the modules that they run.
 */
const BUILDS = /^test\/house\/(install|pack|build)\.test\.ts$/;
const BUILT = /^(server|cli|config)\//;
/** Migrations affect all tests, because one test file creates the run's database template. */
const FOR_OTHERS = /^server\/db\/migrat/;

/** A changed place in a recorded text, as offsets, with its present text. */
interface Spot {
  from: number;
  to: number;
  line: number;
  /** Types, comments and imports are replaced by \0. */
  text: string;
  now: string;
}

/** The module as a whole. */
const WHOLE: Spot = { from: -1, to: Infinity, line: 1, text: '', now: 'it' };

const hide = (text: string) => text.replaceAll(/[^\n]/g, '\0');
const shown = (text: string) => text.replaceAll('\0', '');
const literally = (text: string) => text.replaceAll(/[^\w\s]/g, String.raw`\$&`);

function typeless(text: string): string {
  const stripped = stripTypeScriptTypes(text);
  const kept = Array.from({ length: text.length }, (_, at) => (text[at] === stripped[at] ? text[at] : '\0')).join('');
  return kept.replaceAll(/\s*\0[\s\0]*/g, hide);
}

/** Replaces comments and imports of a typeless text by \0, so that each character keeps its place. */
function running(code: string): string {
  return code
    .replaceAll(/^[ \0]*(?:\/\*[^]*?\*\/|\/\/.*$)/gm, (found: string, at: number) =>
      // After an odd number of backticks the line belongs to a template.
      code.slice(0, at).split('`').length % 2 === 0 ? found : hide(found),
    )
    .replaceAll(/^(?:import\s|export (?:\{|\*))[^;'"]*(?:\sfrom\s*'[^']*')?;/gm, hide);
}

/** Maps each imported or re-exported name of a module to its source. */
function bindings(code: string): Map<string, string> {
  const found = code.matchAll(/^(?:import|export)\s+([^;'"]*?)\s*\bfrom\s*'([^']+)'/gm);
  return new Map(
    [...found].flatMap(([, names = '', from = '']) =>
      (names.match(/[\w$]+|\*/g) ?? []).map((name): [string, string] => [name === '*' ? `* ${from}` : name, from]),
    ),
  );
}

/** Returns the differences between two texts in running code. */
function spotsBetween(old: string, other: string): Spot[] {
  const [typelessOld, typelessOther] = [typeless(old), typeless(other)];
  const [a, b] = [running(typelessOld), running(typelessOther)];
  const names = bindings(typelessOther);
  for (const [name, from] of bindings(typelessOld)) {
    const isUsed = names.has(name) || new RegExp(`(?<![\\w$])${literally(name)}(?![\\w$])`).test(b);
    if (name !== 'as' && names.get(name) !== from && (isUsed || name.startsWith('*'))) return [WHOLE];
  }
  const starts = [0, ...[...a.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const otherLines = shown(b).split('\n');
  return differences(shown(a), shown(b)).flatMap(([line, count, otherLine, otherCount]) => {
    const begin = starts[line] ?? a.length;
    const whole = a.slice(begin, starts[line + count] ?? a.length);
    const text = whole.replaceAll(/^[\s\0]+|[\s\0]+$/g, '');
    const from = begin + (text === '' ? 0 : whole.indexOf(text));
    const now = otherLines
      .slice(otherLine, otherLine + otherCount)
      .join('\n')
      .trimEnd();
    return text === '' && now === '' ? [] : [{ from, to: from + text.length, line: line + 1, text, now }];
  });
}

/** Returns the differences between two git blobs of a path; a document or a missing blob differs as a whole. */
function spotsOf(path: string, blob: string | undefined, other: string | undefined): Spot[] {
  if (!MODULE.test(path) || FOR_OTHERS.test(path)) return [WHOLE];
  const [old, text] = [blob && textOf(blob), other && textOf(other)];
  try {
    return old && text ? spotsBetween(old, text) : [WHOLE];
  } catch {
    // One of the texts is not TypeScript.
    return [WHOLE];
  }
}

type Called = [from: number, to: number, ran: boolean];

/** Whether a difference changes code outside of functions. */
function changesTop({ from, text, now }: Spot, inside: readonly Called[]): boolean {
  // New functions, classes and constants are only used by new lines.
  const declares = /^(export |async )*(function|class|const)\b/;
  const lines = now.split('\n').filter((line) => line.trim() !== '');
  if (lines.some((line) => /^[^\s})\]]/.test(line) && !declares.test(line) && !text.includes(line))) return true;
  if (text === '') return !declares.test(lines[0] ?? '');
  const outside = text.split('');
  for (const [begin, end] of inside) outside.fill('\uFFFF', Math.max(begin - from, 0), Math.max(end - from, 0));
  const plain = (part: string) => shown(part).replaceAll(/\b(export|default|async|static)\b */g, '');
  const pattern = outside
    .join('')
    .split(/\uFFFF+/)
    .map((part) => literally(plain(part)))
    .join('[^]*');
  return !new RegExp(`^${pattern}$`).test(plain(now).trim());
}

/** Whether a difference affects a test that ran these functions of a module and its code outside of functions. */
function affects(spot: Spot, functions: Functions): boolean {
  const all = Object.entries(functions).map(([place, ran]): Called => {
    const [from = 0, to = 0] = place.split(',').map(Number);
    return [from, to, ran > 0];
  });
  const touched = all.filter(([from, to]) => from < spot.to && to > spot.from);
  const around = touched.filter(([from, to]) => from <= spot.from && to >= spot.to);
  const innermost = around.toSorted(([a, b], [c, d]) => b - a - (d - c))[0];
  if (spot === WHOLE || functions.any || (!innermost && changesTop(spot, touched))) return true;
  return touched.some((each) => each[2] && (each === innermost || !around.includes(each)));
}

/** A difference and the reason to report for it. */
type Cause = [reason: string, spot: Spot];

/** Finds the places in modules that name a document, or a folder whose documents may all be read. */
function namesOf(documents: readonly string[], sources: readonly Source[]): Map<string, Cause[]> {
  const named = new Map<string, Cause[]>();
  for (const document of documents) {
    const parts = document.split('/');
    const last = parts.pop()!;
    const name = last.includes('.') ? last : [...parts.slice(-1), last].join('/');
    // A folder name of two letters is a language.
    const folder = /\b(README|CHANGELOG)\.md$/.test(document) ? undefined : parts.findLast((part) => part.length > 2);
    const inFolder = folder && `(?<=['"\`/])${literally(folder)}(?=/?['"\`]|/\\$\\{)`;
    const words = new RegExp(`[\\w./-]*${literally(name)}(?![\\w-])${inFolder ? `|${inFolder}` : ''}`, 'g');
    for (const { path, text } of sources)
      for (const { 0: found, index } of text.search(words) < 0 ? [] : running(text).matchAll(words)) {
        const word = found.replace(/^[./]+/, '');
        if (found !== folder && !document.endsWith(word) && !word.endsWith(parts.length > 0 ? document : '/')) continue;
        const spot = { from: index, to: index + 1, line: 0, text: 'a', now: 'b' };
        named.set(path, [...(named.get(path) ?? []), [document, spot]]);
      }
  }
  return named;
}

/** Adds all modules that import one of these paths, directly or indirectly, with its reason. */
function reachedFrom(reasons: Map<string, string>, sources: readonly Source[]): Map<string, string> {
  const users = new Map<string, string[]>();
  for (const { path, text, imports } of sources) {
    // Programs of processes and threads count as imports.
    const programs = [...text.matchAll(/\bnew URL\(\s*['"`]([^'"`$\n]+)/g)];
    const targets = programs.map(([, target = '']) => posix.join(posix.dirname(path), target));
    for (const target of [...targets, ...imports.flatMap((each) => (each.typeOnly ? [] : each.target))])
      users.set(target, [...(users.get(target) ?? []), path]);
  }
  for (const [path, reason] of reasons)
    for (const user of users.get(path) ?? []) if (!reasons.has(user)) reasons.set(user, reason);
  return reasons;
}

/** Chooses the test files that the changes since a commit can affect, and prints the reasons. */
export function chooseChanged(tests: readonly string[], commit: string): string[] {
  const files = reasonsOf(tests, commit);
  console.log(`# ${files.length} of ${tests.length} files for what changed since ${commit}`);
  const coarse = files.filter(({ byImports }) => byImports).length;
  if (coarse > 0) console.log(`# ${coarse} of them by imports, for want of a record: npm test -- --record is finer`);
  for (const { test, reason } of files) console.log(`#   ${test} (${reason})`);
  return files.map(({ test }) => test);
}

function reasonsOf(tests: readonly string[], commit: string): { test: string; reason: string; byImports: boolean }[] {
  // Node warns each time that type stripping is experimental.
  process.removeAllListeners('warning');
  const [then, now] = [blobsAt(commit), blobsNow()];
  const differs = [...new Set([...then.keys(), ...now.keys()])].filter((path) => then.get(path) !== now.get(path));
  const changed = differs.filter((path) => spotsOf(path, then.get(path), now.get(path)).length > 0);
  const forAll = changed.find((path) => CONCERNS_ALL.test(path));
  if (forAll) return tests.map((test) => ({ test, reason: forAll, byImports: false }));
  const sources = sourcesIn('server', 'cli', 'config', 'bin', 'test');
  const documents = changed.filter((path) => !MODULE.test(path));
  const named = namesOf(documents, sources);
  const concerned = new Map(changed.map((path) => [path, path]));
  for (const [path, [first]] of named) concerned.set(path, concerned.get(path) ?? first![0]);
  const reached = reachedFrom(new Map(concerned), sources);
  const isOther = (path: string) => !then.has(path) || !now.has(path) || !MODULE.test(path);
  const built = changed.find((path) => BUILT.test(path) && isOther(path));

  /** Returns the differences of a recorded text from the commit's and the present one. */
  const findCauses = (path: string, blob: string): Cause[] => {
    const others = [...new Set([then.get(path), now.get(path)])].filter((other) => other !== blob);
    const spots = others.flatMap((other) => spotsOf(path, blob, other));
    const since = concerned.has(path) ? '' : ', since it was recorded';
    return [
      ...spots.map((spot): Cause => [`${path}:${spot.line}${since}`, spot]),
      ...(named.get(path) ?? []).map(([reason, spot]): Cause => [reason, others.length > 0 ? WHOLE : spot]),
    ];
  };
  const known = new Map<string, Cause[]>();
  const reasonByRecord = (test: string, record: Recorded): string | undefined => {
    if (!reached.has(test) && !Object.keys(record).some((path) => concerned.has(path))) return undefined;
    // A change before the commit counts too, but one since the commit is the better reason.
    const ordered = Object.entries(record).toSorted(([a], [b]) => Number(concerned.has(b)) - Number(concerned.has(a)));
    for (const [path, [blob, functions]] of ordered) {
      const causes = known.get(`${path} ${blob}`) ?? findCauses(path, blob);
      known.set(`${path} ${blob}`, causes);
      const found = causes.find(([, spot]) => affects(spot, functions));
      if (found) return found[0];
    }
    return undefined;
  };

  return tests.flatMap((test) => {
    const own = differs.find((path) => path === test || path.replace('/snapshots/', '/').startsWith(`${test}.`));
    const sure = own ?? (RULES.test(test) ? differs[0] : BUILDS.test(test) ? built : undefined);
    const record = sure === undefined ? readRecord(test) : undefined;
    const reason = sure ?? (record ? reasonByRecord(test, record) : reached.get(test));
    return reason === undefined ? [] : [{ test, reason, byImports: !sure && !record }];
  });
}
