import test from 'ava';
import { basename } from 'node:path';
import { sourcesIn } from './sources.ts';

// This folder names what it forbids.
const sources = sourcesIn('server', 'cli', 'config', 'bin', 'test').filter(
  ({ path }) => !path.startsWith('test/house/'),
);
const running = sources.filter(({ path }) => !path.startsWith('test/'));

function matches(list: typeof sources, pattern: RegExp): string[] {
  return list.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? `${path}:${index + 1}: ${line.trim()}` : [])),
  );
}

test('nothing is put off: no marks of unfinished work', (t) => {
  t.deepEqual(matches(sources, /\b(TODO|FIXME|HACK)\b|\bXXX:/), []);
});

test('no test is skipped, singled out or expected to fail', (t) => {
  const tests = sources.filter(({ path }) => path.startsWith('test/'));
  t.deepEqual(matches(tests, /\b(test|serial)\.(only|skip|todo|failing)\b|\.skip\(/), []);
});

test('suppressions give their reason on the line, and types are not waved away', (t) => {
  t.deepEqual(matches(sources, /@ts-(ignore|nocheck)|@ts-expect-error(?!:? \w+ \w+)/), []);
  t.deepEqual(matches(sources, /(oxlint|eslint)-disable(?!.* -- \w+ )/), []);
  t.deepEqual(matches(running, /(:|\bas|<)\s*any\b(?!['`])[^\w]*[;,)>\]{=]/), []);
});

test('no folder and no file is a drawer for everything', (t) => {
  const drawer = /(^|\/)(utils?|helpers?|common|shared|misc)(\/|\.ts$)/;
  t.deepEqual(
    sources.filter(({ path }) => drawer.test(path)).map(({ path }) => path),
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

test('names say what a thing is: no Service, no Manager, no I prefix, no enum, no default export', (t) => {
  t.deepEqual(
    matches(
      running,
      /^\s*(export )?(abstract )?(class|interface|type|function|const) \w+(Service|Manager|Helper|Utils?)\b/,
    ),
    [],
  );
  t.deepEqual(matches(running, /\binterface I[A-Z][a-z]/), []);
  t.deepEqual(matches(running, /^\s*(export )?(const )?enum /), []);
  t.deepEqual(matches(running, /^export default\b/), []);
});
