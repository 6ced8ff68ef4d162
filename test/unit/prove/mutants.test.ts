import test from 'ava';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCOPES } from '../../prove/explore/bounds.ts';
import { MUTANTS } from '../../prove/mutants/all.ts';
import { CHECKOUT, copyCheckout, planting } from '../../prove/mutants/copy.ts';
import { judge } from '../../prove/mutants/killers.ts';
import { explored, type Mutant, plantIn, witnessed } from '../../prove/mutants/mutant.ts';

test('every mutant finds its place exactly once and changes it', (t) => {
  t.true(MUTANTS.length >= 40);
  t.is(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
  for (const mutant of MUTANTS)
    t.notThrows(() => {
      for (const [file, text] of planting(mutant)) t.not(text, readFileSync(join(CHECKOUT, file), 'utf8'), mutant.name);
    }, mutant.name);
});

test('every killer exists', (t) => {
  for (const { name, killedBy } of MUTANTS)
    if (killedBy.layer === 1) t.is(SCOPES.filter((scope) => scope.name.includes(killedBy.scope)).length, 1, name);
    else if (killedBy.layer === 3) {
      const titles = titlesIn(readFileSync(join(CHECKOUT, killedBy.file), 'utf8'));
      t.true(killedBy.title === undefined || titles.some((title) => meet(title, killedBy.title!)), name);
    }
  const quick = MUTANTS.filter(({ isQuick }) => isQuick);
  t.is(quick.length, 6);
  t.true(quick.every(({ killedBy }) => killedBy.layer === 1));
});

test('a killer with a wrong test title is found', (t) => {
  const titles = titlesIn(
    "test(\n  'G4: of many refunds', async (t) => {});\ntest.serial(`${payWay}: ${name} ends`, () => {});",
  );
  t.deepEqual(titles, ['G4: of many refunds', `${BLANK}: ${BLANK} ends`]);
  const finds = (pattern: string) => titles.some((title) => meet(title, pattern));
  for (const pattern of ['G4: of many*', '*refunds', 'alipay: a close ends', '*: a close*'])
    t.true(finds(pattern), pattern);
  for (const pattern of ['G4 alipay: of many refunds', 'G4', 'alipay: a close begins'])
    t.false(finds(pattern), pattern);
});

/** The test titles in a source; an expression in a title becomes `*`. */
/** The mark of a value in a title, `${…}`. */
const BLANK = '\u0000';

function titlesIn(source: string): string[] {
  const literals = source.matchAll(/\btest(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1)[^])*)\1/g);
  return [...literals].map(([, , title = '']) => title.replaceAll(/\$\{[^}]*\}/g, BLANK));
}

/**
 * Whether a title can match a pattern. `*` in the pattern matches any text. A blank of the title stands for a value of
 * at most 24 characters: if it stood for any text, one title of two blanks would match every pattern.
 */
function meet(title: string, pattern: string, room = 24): boolean {
  if (title === '') return /^\**$/.test(pattern);
  if (pattern[0] === '*') return meet(title, pattern.slice(1)) || meet(title.slice(1), pattern);
  if (title[0] !== BLANK) return title[0] === pattern[0] && meet(title.slice(1), pattern.slice(1));
  return meet(title.slice(1), pattern) || (room > 0 && pattern !== '' && meet(title, pattern.slice(1), room - 1));
}

test('a text that is missing or occurs twice is not a valid place for a mutant', (t) => {
  const place = { file: 'a.ts', find: 'b', put: '$&' };
  t.is(plantIn('abc', place), 'a$&c');
  for (const source of ['ac', 'abbc']) t.throws(() => plantIn(source, place), { message: /^a\.ts has [02] times: b$/ });
});

test('a mutant is planted only in the copy and removed again', (t) => {
  const [mutant] = MUTANTS as readonly [Mutant];
  const { file, put } = mutant;
  const copy = copyCheckout();
  t.teardown(() => copy.remove());
  const read = (dir: string) => readFileSync(join(dir, file), 'utf8');
  const before = read(CHECKOUT);
  t.is(read(copy.dir), before);
  const takeOut = copy.plant(mutant);
  t.true(read(copy.dir).includes(put));
  t.is(read(CHECKOUT), before);
  takeOut();
  t.is(read(copy.dir), before);
  copy.remove();
  t.false(existsSync(copy.dir));
});

test('a verdict counts the faults that the killer reports, and a crashed killer gives no verdict', (t) => {
  const states = explored('till', 10);
  const tests = witnessed('test/races/refunds.test.ts', 'G4*');
  t.is(judge(states, 0, 'till: 10 states').found, 'nothing');
  t.deepEqual(judge(states, 1, 'till: 10 states\n  ✘ P1 (paid): more goes back than came\n      pay'), {
    found: 'a fault',
    words: 'P1 (paid): more goes back than came',
  });
  t.deepEqual(judge(states, 1, 'SyntaxError: x\n'), { found: 'no verdict', words: 'exit 1: SyntaxError: x' });
  t.deepEqual(judge(tests, 1, '  ✔ a\n  ✘ [fail]: G4 alipay Difference'), {
    found: 'a fault',
    words: 'G4 alipay Difference',
  });
  t.is(judge(tests, 1, '  ✘ Timed out while running tests').found, 'a fault');
  t.is(judge(tests, 1, '  ✘ 1 test remaining in test/races/refunds.test.ts').found, 'a fault');
  t.is(judge(tests, 1, '  ✘ test/races/refunds.test.ts exited with a non-zero exit code: 1').found, 'no verdict');
  t.is(judge(tests, 1, '  ✘ No tests found').found, 'no verdict');
});
