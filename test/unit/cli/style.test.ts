import test from 'ava';
import { createStyle, wantsColor } from '../../../cli/terminal-text.ts';

const cases: [string, string | undefined, Record<string, string>, boolean, boolean][] = [
  ['a terminal has colours', undefined, {}, true, true],
  ['a pipe has none', undefined, {}, false, false],
  ['NO_COLOR', undefined, { NO_COLOR: '1' }, true, false],
  ['an empty NO_COLOR has no effect', undefined, { NO_COLOR: '' }, true, true],
  ['FORCE_COLOR', undefined, { FORCE_COLOR: '1' }, false, true],
  ['FORCE_COLOR=0', undefined, { FORCE_COLOR: '0' }, true, false],
  ['NO_COLOR wins over FORCE_COLOR', undefined, { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  ['TERM=dumb', undefined, { TERM: 'dumb' }, true, false],
  ['--color always wins over NO_COLOR', 'always', { NO_COLOR: '1' }, false, true],
  ['--color never wins over FORCE_COLOR', 'never', { FORCE_COLOR: '1' }, true, false],
  ['--color auto leaves it to the rest', 'auto', {}, true, true],
];

for (const [name, flag, env, terminal, wanted] of cases) {
  test(name, (t) => t.is(wantsColor(flag, env, terminal), wanted));
}

test('text without colours is unchanged', (t) => {
  t.is(createStyle(false)('red', 'x'), 'x');
  t.not(createStyle(true)('red', 'x'), 'x');
});
