import test from 'ava';
import { sourcesIn } from './sources.ts';

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type) (?:\{|(\w+))/;

/** The exports of a file without a JSDoc sentence; overloads, and a type with its `typeof` value, share one. */
function undocumented(text: string): string[] {
  const lines = text.split('\n');
  const documented = new Set<string>();
  return lines.flatMap((line, index) => {
    const name = declaration.exec(line)?.[1];
    if (name === undefined || documented.has(name)) return [];
    const origin = /^export type .*\btypeof (\w+)/.exec(line)?.[1];
    if (origin !== undefined && documented.has(origin)) return [];
    if (!hasSentence(lines.slice(0, index))) return [name];
    documented.add(name);
    return [];
  });
}

function hasSentence(above: readonly string[]): boolean {
  if (!above.at(-1)?.trimEnd().endsWith('*/')) return false;
  const start = above.findLastIndex((line) => line.startsWith('/**'));
  const words = above
    .slice(start)
    .join(' ')
    .replaceAll(/\/\*\*|\*\/|^\s*\*/gm, '')
    .trim();
  return start >= 0 && /\w+ .*\w/.test(words) && /[.:!?)`]$/.test(words.split(/\s@\w+/)[0]?.trim() ?? '');
}

test('every export has a JSDoc sentence', (t) => {
  const found = sourcesIn('server', 'cli', 'config')
    .filter(({ path }) => !path.startsWith('server/db/migrations/'))
    .flatMap(({ path, text }) => undocumented(text).map((name) => `${path}: ${name}`));
  t.deepEqual(found, []);
});

test('the check finds exports without a JSDoc sentence', (t) => {
  t.deepEqual(undocumented('export const a = 1;'), ['a']);
  t.deepEqual(undocumented('/** The first letter. */\nexport const a = 1;'), []);
  t.deepEqual(undocumented('/** a */\nexport function a() {}'), ['a']);
  t.deepEqual(undocumented('// The first letter.\nexport async function a() {}'), ['a']);
  t.deepEqual(undocumented('/**\n * The first\n * letter.\n */\nexport interface A {}'), []);
  t.deepEqual(undocumented('/** The letters. */\nexport const all = [1];\nexport type All = (typeof all)[0];'), []);
  t.deepEqual(undocumented('/** The first letter. */\n\nexport type A = 1;'), ['A']);
});
