import test from 'ava';
import { sourcesIn } from './sources.ts';

const declaration = /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class) (\w+)/;

/** The exported functions and classes of a file without a JSDoc sentence; overloads share one. */
function undocumented(text: string): string[] {
  const lines = text.split('\n');
  const documented = new Set<string>();
  return lines.flatMap((line, index) => {
    const name = declaration.exec(line)?.[1];
    if (name === undefined || documented.has(name)) return [];
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

// Types and constants need a comment only if their name and their lines do not say enough.
test('every exported function and class has a JSDoc sentence', (t) => {
  const found = sourcesIn('server', 'cli', 'config')
    .filter(({ path }) => !path.startsWith('server/db/migrations/'))
    .flatMap(({ path, text }) => undocumented(text).map((name) => `${path}: ${name}`));
  t.deepEqual(found, []);
});

test('the check finds exported functions and classes without a JSDoc sentence', (t) => {
  t.deepEqual(undocumented('export function a() {}'), ['a']);
  t.deepEqual(undocumented('/** The first letter. */\nexport function a() {}'), []);
  t.deepEqual(undocumented('/** a */\nexport function a() {}'), ['a']);
  t.deepEqual(undocumented('// The first letter.\nexport async function a() {}'), ['a']);
  t.deepEqual(undocumented('/**\n * The first\n * letter.\n */\nexport class A {}'), []);
  t.deepEqual(undocumented('/** A. It is a letter. */\nexport function a(b: 1): 1;\nexport function a(b: 2) {}'), []);
  t.deepEqual(undocumented('/** The first letter. */\n\nexport class A {}'), ['A']);
  t.deepEqual(undocumented('export interface A {}\nexport const a = 1;'), []);
});
