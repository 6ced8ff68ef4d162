import test from 'ava';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root, sourcesIn } from './sources.ts';

// The tests in this folder contain the forbidden words.
const sources = sourcesIn('server', 'cli', 'config', 'bin', 'test').filter(
  ({ path }) => !path.startsWith('test/house/'),
);
const running = sources.filter(({ path }) => !path.startsWith('test/'));

function matches(list: typeof sources, pattern: RegExp): string[] {
  return list.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? `${path}:${index + 1}: ${line.trim()}` : [])),
  );
}

test('no source contains marks of unfinished work', (t) => {
  t.deepEqual(matches(sources, /\b(TODO|FIXME|HACK)\b|\bXXX:/), []);
});

test('no test is skipped, exclusive or expected to fail', (t) => {
  const tests = sources.filter(({ path }) => path.startsWith('test/'));
  t.deepEqual(matches(tests, /\b(test|serial)\.(only|skip|todo|failing)\b|\.skip\(/), []);
});

test('suppressions give their reason on the line, and running code does not use the type any', (t) => {
  t.deepEqual(matches(sources, /@ts-(ignore|nocheck)|@ts-expect-error(?!:? \w+ \w+)/), []);
  t.deepEqual(matches(sources, /(oxlint|eslint)-disable(?!.* -- \w+ )/), []);
  t.deepEqual(matches(running, /(:|\bas|<)\s*any\b(?!['`])[^\w]*[;,)>\]{=]/), []);
});

test('no folder or file is named utils or misc', (t) => {
  const catchAll = /(^|\/)(utils?|misc)(\/|\.ts$)/;
  t.deepEqual(
    sources.filter(({ path }) => catchAll.test(path)).map(({ path }) => path),
    [],
  );
});

test('files are named in kebab-case', (t) => {
  const name = /^[a-z0-9]+(-[a-z0-9]+)*((\.[a-z-]+)?\.test|\.d)?\.(ts|mjs)$/;
  t.deepEqual(
    sources.filter(({ path }) => !name.test(basename(path))).map(({ path }) => path),
    [],
  );
});

test('no name has Manager, Utils or an I prefix, and no enum or default export is used', (t) => {
  t.deepEqual(
    matches(running, /^\s*(export )?(abstract )?(class|interface|type|function|const) \w+(Manager|Utils?)\b/),
    [],
  );
  t.deepEqual(matches(running, /\binterface I[A-Z][a-z]/), []);
  t.deepEqual(matches(running, /^\s*(export )?(const )?enum /), []);
  t.deepEqual(matches(running, /^export default\b/), []);
});

/** Running code without comments, except the comments that form the API document. */
function spoken({ path, text }: { path: string; text: string }) {
  const kept = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, (comment) =>
    comment.includes('@openapi') ? comment : comment.replaceAll(/[^\n]/g, ''),
  );
  return { path, text: kept };
}

const spokenSources = running.map((source) => ({ ...source, ...spoken(source) }));

test('no internal rule codes in help, errors, API descriptions and pages', (t) => {
  t.true(spokenSources.length > 300);
  t.deepEqual(matches(spokenSources, /\b[OCRG]\d{1,2}\b/), []);
});

const RIDDLES: readonly RegExp[] = [
  /neither here nor there/,
  /used up its requests/,
  /that should not\b/,
  /look but not change/,
  /wants its (name|\$)/,
  /is not open to your/,
  /cannot be like this/,
  /no terminal to ask/,
  /\b[Pp]rov(e|ing) the books/,
  /\bmade[- ]up\b/,
  /\b(is|are) dead\b|\bdie at once\b/,
  /\bmust look\b|\bneeds a person\b/,
  /\bsay its public\b/,
  /\bis a lie\b/,
  /There is no such\b/,
  /goes? on by (it|them)sel(f|ves)/,
  /it flips\b/,
];

test('messages and descriptions are in plain English of the field', (t) => {
  for (const riddle of RIDDLES) t.deepEqual(matches(spokenSources, riddle), []);
});

test('identifiers are plain English', (t) => {
  t.deepEqual(matches(running, /\b(Lie|liesOf|takeBench|Bench|deaf|[uU]nheard\w*)\b/), []);
});

test('README headings use the usual terms', (t) => {
  const files = globSync('{*.md,{cli,config,test}/*.md,server/**/*.md}', { cwd: root });
  t.true(files.length >= 7);
  const headings = files.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .filter((line) => /^#+ /.test(line)),
  );
  t.deepEqual(
    headings.filter((line) => /What is where|Watching|The map\b|When something is wrong|followed through/.test(line)),
    [],
  );
});
