import test from 'ava';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { filesOf, root } from './sources.ts';

const ourselves = `test/house/${basename(import.meta.filename)}`;

const texts = filesOf('*.md', '.github/*.md', '{server,cli,config,bin,test}/**/*.{ts,mjs,md,toml}')
  .filter((path) => path !== ourselves && !path.startsWith('test/fixtures/'))
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

/** A document path relative to the naming file or the root, optionally with a section heading. */
const reference = /(?<![\w/.:-])([\w./-]*\w\.md)\b`?(?:, "([^"]+)")?/g;
/** Section numbers of a standard named directly before them. */
const ofStandard = /\b(?:RFC \d+|WHATWG HTML) §[\d.]*\d(?:(?:, | and )§[\d.]*\d)*/g;

/** References in a text to missing documents or sections. */
function dangling({ path, text }: { path: string; text: string }): string[] {
  const lost = [...text.matchAll(reference)].flatMap(([, name = '', heading]) => {
    const found = [posix.join(posix.dirname(path), name), name].find((place) => existsSync(join(root, place)));
    if (found === undefined) return [`${path}: ${name}`];
    if (heading === undefined || headingsOf(found).has(heading)) return [];
    return [`${path}: ${name}, "${heading}"`];
  });
  const numbers = text.replaceAll(ofStandard, '').match(/[^\n]{0,30}§[^\n]{0,10}/g) ?? [];
  return [...lost, ...numbers.map((words) => `${path}: ${words.trim()}`)];
}

function headingsOf(path: string): Set<string> {
  const text = readFileSync(join(root, path), 'utf8');
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading));
}

test('every referenced document and section exists', (t) => {
  t.true(texts.length > 500);
  t.true(texts.some(({ text }) => [...text.matchAll(reference)].some(([, , heading]) => heading !== undefined)));
  t.deepEqual(texts.flatMap(dangling), []);
});

test('the check finds references to missing documents and sections', (t) => {
  const lost = (text: string) => dangling({ path: 'server/x.ts', text }).length;
  t.is(lost('/** As server/README.md says (README.md, "Orders"). */'), 0);
  t.is(lost('/** RFC 8725 §3.1, §3.11; RFC 9068 §4, WHATWG HTML §9.2. See https://example.com/a.md. */'), 0);
  t.is(lost('/** As lost.md says. */'), 1);
  t.is(lost('/** As lost.md §2 says. */'), 2);
  t.is(lost('/** As server/README.md, "Lost" says. */'), 1);
  t.is(lost('/** As server/README.md §2 says. */'), 1);
});
