import test from 'ava';
import { cutTo, displayWidth, padTo, wrap } from '../../../cli/terminal-text.ts';

const widths: [string, number][] = [
  ['', 0],
  ['abc', 3],
  ['红茶', 4],
  ['ｱ', 1],
  ['Ａ', 2],
  ['한국', 4],
  ['e\u0301', 1],
  ['👩‍👩‍👧', 2],
  ['🇨🇳', 2],
  ['é…', 2],
];

for (const [text, width] of widths) {
  test(`width of ${JSON.stringify(text)} is ${width}`, (t) => t.is(displayWidth(text), width));
}

test('a cut never exceeds the width and never splits a wide character', (t) => {
  t.is(cutTo('红茶红茶', 5), '红茶…');
  t.is(cutTo('红茶红茶', 4), '红…');
  t.is(cutTo('abc', 3), 'abc');
  t.is(cutTo('abcd', 1), '…');
  for (let width = 0; width < 9; width += 1) t.true(displayWidth(cutTo('a红b茶c', width)) <= width);
});

test('padding counts columns, not characters', (t) => {
  t.is(padTo('红', 4), '红  ');
  t.is(padTo('12', 4, 'left'), '  12');
  t.is(padTo('abcdef', 3), 'abcdef');
});

test('wrapping breaks at blanks, and within a long word only between wide characters', (t) => {
  t.deepEqual(wrap('one two three', 7), ['one two', 'three']);
  t.deepEqual(wrap('unbreakable', 3), ['unbreakable']);
  t.deepEqual(wrap('a 红茶 b', 5), ['a', '红茶', 'b']);
  t.deepEqual(wrap('a 红茶红茶 b', 5), ['a 红', '茶红', '茶 b']);
});

test('no line of Chinese text begins with a mark that ends a clause, or breaks a word of another script', (t) => {
  t.deepEqual(wrap('红茶红茶。绿茶', 8), ['红茶红', '茶。绿茶']);
  t.deepEqual(wrap('红茶（绿茶）红', 6), ['红茶', '（绿', '茶）红']);
  t.deepEqual(wrap('红茶Tea红茶', 6), ['红茶', 'Tea红', '茶']);
});
