import { stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';
import { type Source, sourcesIn } from '../house/sources.ts';
import { blobsAt, blobsNow, differences, type Functions, type Recorded, readRecord, textOf } from './recorded.ts';

/** A change of these files concerns every test. The files that choose are among them: they cannot choose for themselves. */
const CONCERNS_ALL =
  /^(package(-lock)?\.json|tsconfig[^/]*\.json|bin\/.*|test\/runner\/(run|worker|record|recorded|changed|together)\.\w+)$/;
const MODULE = /^(server(?!\/pages\/guides\/)|cli|config|bin|test)\/.*\.(ts|mjs)$/;
/** Rules about the source read all of it. */
const RULES = /^test\/house\/(?!(install|pack|build|sbom|run|changed)\.)[^/]*\.test\.ts$/;
/**
 * They take long. It depends on which files there are what is built, and on those that are no modules; what a module does is not changed by
 * that. `sbom` has to do with bin/ and the lock alone, which concern every test, and `run` and `changed` with what they run, as any other test.
 */
const BUILDS = /^test\/house\/(install|pack|build)\.test\.ts$/;
const BUILT = /^(server|cli|config)\//;
/** A run has one template of databases: one test file makes it for all. */
const FOR_OTHERS = /^server\/db\/migrat/;

/** A place in a text that a test was recorded with, as offsets, and what stands there now. */
interface Spot {
  from: number;
  to: number;
  line: number;
  /** Types, comments and imports are \0. */
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

/** The code of a text without types: comments and imports are hidden, and each character keeps its place. */
function running(code: string): string {
  return code
    .replaceAll(/^[ \0]*(?:\/\*[^]*?\*\/|\/\/.*$)/gm, (found: string, at: number) =>
      // An odd number of backticks before it: a line of a template.
      code.slice(0, at).split('`').length % 2 === 0 ? found : hide(found),
    )
    .replaceAll(/^(?:import\s|export (?:\{|\*))[^;'"]*(?:\sfrom\s*'[^']*')?;/gm, hide);
}

/** From where a module has each name. */
function bindings(code: string): Map<string, string> {
  const found = code.matchAll(/^(?:import|export)\s+([^;'"]*?)\s*\bfrom\s*'([^']+)'/gm);
  return new Map(
    [...found].flatMap(([, names = '', from = '']) =>
      (names.match(/[\w$]+|\*/g) ?? []).map((name): [string, string] => [name === '*' ? `* ${from}` : name, from]),
    ),
  );
}

/** Where one text differs from another one in what runs. */
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

/** Where two texts of a path, by git's names of them, differ in what runs; a document, or one that is not there, differs as a whole. */
function spotsOf(path: string, blob: string | undefined, other: string | undefined): Spot[] {
  if (!MODULE.test(path) || FOR_OTHERS.test(path)) return [WHOLE];
  const [old, text] = [blob && textOf(blob), other && textOf(other)];
  try {
    return old && text ? spotsBetween(old, text) : [WHOLE];
  } catch {
    // One of them is no TypeScript.
    return [WHOLE];
  }
}

type Called = [from: number, to: number, ran: boolean];

/** Whether something outside of functions is another one than it was. */
function changesTop({ from, text, now }: Spot, inside: readonly Called[]): boolean {
  // New functions, classes and constants have no users but lines that are new, too.
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

/** Whether one who ran these functions of a module, and all that is outside of functions, has to do with a spot of it. */
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

/** Why a place of a module makes who runs it affected. */
type Cause = [reason: string, spot: Spot];

/** Places in modules that name a document, or the folder of one that may be read with all that is in it. */
function namesOf(documents: readonly string[], sources: readonly Source[]): Map<string, Cause[]> {
  const named = new Map<string, Cause[]>();
  for (const document of documents) {
    const parts = document.split('/');
    const last = parts.pop()!;
    const name = last.includes('.') ? last : [...parts.slice(-1), last].join('/');
    // Two letters are a language.
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

/** All that reach one of these paths by imports, with its reason. */
function reachedFrom(reasons: Map<string, string>, sources: readonly Source[]): Map<string, string> {
  const users = new Map<string, string[]>();
  for (const { path, text, imports } of sources) {
    // Programs of processes and threads, too.
    const programs = [...text.matchAll(/\bnew URL\(\s*['"`]([^'"`$\n]+)/g)];
    const targets = programs.map(([, target = '']) => posix.join(posix.dirname(path), target));
    for (const target of [...targets, ...imports.flatMap((each) => (each.typeOnly ? [] : each.target))])
      users.set(target, [...(users.get(target) ?? []), path]);
  }
  for (const [path, reason] of reasons)
    for (const user of users.get(path) ?? []) if (!reasons.has(user)) reasons.set(user, reason);
  return reasons;
}

/** Chooses among test files those that what changed since a commit can affect, and says why. */
export function chooseChanged(tests: readonly string[], commit: string): string[] {
  const files = reasonsOf(tests, commit);
  console.log(`# ${files.length} of ${tests.length} files for what changed since ${commit}`);
  const coarse = files.filter(({ byImports }) => byImports).length;
  if (coarse > 0) console.log(`# ${coarse} of them by imports, for want of a record: npm test -- --record is finer`);
  for (const { test, reason } of files) console.log(`#   ${test} (${reason})`);
  return files.map(({ test }) => test);
}

function reasonsOf(tests: readonly string[], commit: string): { test: string; reason: string; byImports: boolean }[] {
  // Node says each time that taking types away is an experiment.
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

  /** Where a recorded text is not what is there at the commit, or now. */
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
    // A change that is older than the commit counts too, but a change since the commit is the better reason.
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
