import { readFileSync } from 'node:fs';
import test from 'ava';
import { PALETTE, STYLESHEET } from '../../../server/pages/document.ts';
import { CONSOLE_STYLE } from '../../../server/simulator/console.ts';

type Colours = Readonly<Record<string, string>>;

/** Returns the colours of a part of the palette by name. */
function coloursOf(css: string): Colours {
  return Object.fromEntries(
    [...css.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', colour = '']) => [name, colour]),
  );
}

const [daylight = '', night = ''] = PALETTE.split('@media (prefers-color-scheme: dark)');
const schemes: Readonly<Record<string, Colours>> = { light: coloursOf(daylight), dark: coloursOf(night) };

/** WCAG 2.2, "relative luminance". */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** WCAG 2.2, "contrast ratio". */
function contrast(one: string, other: string): number {
  const [bright = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (bright + 0.05) / (dark + 0.05);
}

const SURFACES = ['paper', 'back', 'code'] as const;

test('the contrast ratio follows the standard', (t) => {
  t.is(contrast('#000000', '#ffffff'), 21);
  t.is(contrast('#777777', '#777777'), 1);
  t.is(contrast('#767676', '#ffffff').toFixed(2), '4.54');
});

for (const [scheme, colours] of Object.entries(schemes)) {
  const at = (name: string): string => colours[name] ?? '';

  test(`text is readable on every surface (${scheme})`, (t) => {
    t.deepEqual(Object.keys(colours).toSorted(), Object.keys(schemes['light']!).toSorted());
    for (const surface of SURFACES)
      for (const text of ['ink', 'soft', 'go', 'good', 'bad'])
        t.true(contrast(at(text), at(surface)) >= 4.5, `${text} on ${surface}`);
    t.true(contrast(at('go-ink'), at('go')) >= 4.5, 'a button');
    t.true(contrast(at('paper'), at('ink')) >= 4.5, 'the letter of a merchant');
  });

  test(`borders, focus and marks are visible on every surface (${scheme})`, (t) => {
    const dots = [...STYLESHEET.matchAll(/\.(?:alipay|wechat|paypal)::before \{\s+background: (#\w+);/g)].map(
      ([, dot = '']) => dot,
    );
    t.is(dots.length, 3);
    for (const surface of SURFACES)
      for (const border of ['edge', 'go', 'good', 'bad'])
        t.true(contrast(at(border), at(surface)) >= 3, `${border} on ${surface}`);
    // The dot next to the channel name.
    for (const dot of dots) t.true(contrast(dot, at('paper')) >= 3, dot);
  });
}

test('colours come from the palette, and controls have a visible border', (t) => {
  const parts = ['card', 'guide'].map((name) =>
    readFileSync(new URL(`../../../server/pages/style/${name}.css`, import.meta.url), 'utf8'),
  );
  const [card = '', guide = ''] = parts;
  const print = guide.indexOf('@media print');
  for (const css of [card, guide.slice(0, print), CONSOLE_STYLE])
    t.deepEqual(
      [...css.matchAll(/#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(/gi)]
        .map(([colour]) => colour)
        .filter((colour) => !/^#(1677ff|06994a|2770c9)$/.test(colour)),
      [],
    );
  // Row lines only separate rows that are distinct anyway; payer pages have none.
  t.notRegex(card, /var\(--line\)/);
  const operated = [...CONSOLE_STYLE.matchAll(/(?:input|select|\.small)[^{}]*\{([^}]*)\}/g)].map(
    ([, rule = '']) => rule,
  );
  for (const rule of operated) t.notRegex(rule, /border[^;]*var\(--line\)/);
  t.regex(STYLESHEET, /:focus-visible \{\s+outline: 3px solid var\(--go\);/);
});
