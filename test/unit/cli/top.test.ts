import test from 'ava';
import { fold, NOTHING, rateOf } from '../../../cli/commands/top/live-feed.ts';
import { countText, grouped, sectionsOf } from '../../../cli/commands/top/sections.ts';
import { helpLines, layout, layoutPage, share } from '../../../cli/commands/top/screen.ts';
import { BEGINNING, chosenAt, filtered, press, type State } from '../../../cli/commands/top/state.ts';
import { createStyle, displayWidth, paintedParts } from '../../../cli/terminal-text.ts';
import { keyOf } from '../../../cli/screen/full-screen.ts';
import { type Line, rowOf } from '../../../cli/screen/cells.ts';
import { ATTACK, drawnByOthers } from '../../cli/hostile.ts';
import { messageOf } from '../../cli/fakes/live.ts';

const NOW = new Date('2026-11-21T06:05:00.000Z');
const dataOf = (text: string) => JSON.parse(/^data: (.*)$/m.exec(text)![1]!);
const message = (after: number, upTo: number, kind: 'snapshot' | 'change' = 'change') =>
  dataOf(messageOf(kind, after, upTo));
const board = fold(NOTHING, message(0, 40, 'snapshot'), 0);
const sections = sectionsOf(board, NOW, 100);
const style = createStyle(false);

/** The texts of lines at a screen width. */
function drawn(lines: readonly Line[], columns: number): string[] {
  return lines.map((line) =>
    rowOf(line, columns)
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  );
}

const bars = { title: 'payctl top', label: 'prod', status: '40 events', isOld: false };
const screen = (state: State, columns: number, rows: number, of = sections) =>
  drawn(layout(state, of, bars, { columns, rows, style, now: NOW }), columns);

test('messages accumulate: sections are replaced, events are counted and the newest are kept', (t) => {
  let seen = NOTHING;
  seen = fold(seen, message(0, 3, 'snapshot'), 1000);
  seen = fold(seen, message(3, 5_000), 2000);
  seen = fold(seen, { at: 'x', due: [] }, 3000);
  t.is(seen.passed, 5_000);
  t.deepEqual(seen.types, { 'order.paid': 5_000 });
  t.is(seen.rows.length, 103);
  t.is(seen.rows.at(-1)!['sequence'], 5_000);
  t.deepEqual(seen.due, []);
  t.is(seen.channels.length, 3);
  for (let at = 0; at < 50; at++) seen = fold(seen, message(5_000 + at * 100, 5_100 + at * 100), 4000);
  t.is(seen.rows.length, 1_000, 'bounded, however long it runs');
  t.is(seen.passed, 10_000);
  const again = fold(seen, { events: { passed: 0, rows: seen.rows.slice(-5) } }, 5000);
  t.is(again.rows.length, 1_000, 'what is shown once more is not there twice');
});

test('the rate covers the last ten seconds', (t) => {
  let seen = NOTHING;
  for (let second = 0; second <= 30; second++)
    seen = fold(seen, message(second * 100, (second + 1) * 100), second * 1000);
  t.true(Math.abs(rateOf(seen, 30_000) - 100) < 12, String(rateOf(seen, 30_000)));
  t.is(rateOf(seen, 60_000), 0);
  t.is(rateOf(NOTHING, 0), 0);
});

test('numbers are grouped, and a lower bound is marked', (t) => {
  t.deepEqual(['0', '999', '1000', '1234567.89 CNY', '-1000'].map(grouped), [
    '0',
    '999',
    '1,000',
    '1,234,567.89 CNY',
    '-1,000',
  ]);
  t.is(countText(10_000, true), '10,000+');
});

test('the chosen section gets its rows, each section a heading, and the rest goes to sections that can use it', (t) => {
  const sum = (shares: number[]) => shares.reduce((all, one) => all + one, 0);
  for (let rows = 0; rows < 80; rows++)
    for (const chosen of ['events', 'orders', 'exceptions'] as const) {
      const shares = share(rows, sections, chosen);
      t.true(sum(shares) <= rows);
      const at = sections.findIndex(({ name }) => name === chosen);
      if (rows >= 2) t.true(shares[at]! >= 2, `${chosen} in ${rows} rows`);
      if (rows >= 22) t.true(shares.every((one) => one >= 1));
    }
  t.deepEqual(share(22, sections, 'events'), [5, 4, 2, 2, 2, 2, 5]);
});

test('a screen fits every terminal size exactly', (t) => {
  for (const columns of [1, 20, 79, 80, 120, 150, 200])
    for (const rows of [1, 2, 3, 10, 24, 60]) {
      const lines = screen(BEGINNING, columns, rows);
      t.is(lines.length, rows);
      for (const line of lines) t.true(displayWidth(line) <= columns);
    }
});

test('80 × 24 shows every section, and 200 × 60 shows events next to the figures', (t) => {
  const small = screen(BEGINNING, 80, 24);
  for (const heading of ['ORDERS', 'CHANNELS', 'DUE WORK', 'WEBHOOKS', 'EXCEPTIONS', 'REPLICAS', 'EVENTS'])
    t.true(
      small.some((line) => line.includes(heading)),
      heading,
    );
  const large = screen(BEGINNING, 200, 60);
  t.regex(large[1]!, /ORDERS .* EVENTS +TYPE/);
  t.true(large.filter((line) => line.includes('order.paid')).length >= 40);
});

const typed = (text: string) => keyOf(text, {});
const named = (name: string, more: { ctrl?: boolean; shift?: boolean } = {}) => keyOf(undefined, { name, ...more });
const after = (state: State, ...keys: ReturnType<typeof keyOf>[]) =>
  keys.reduce((before, key) => press(before, key, filtered(sections, before.filter, NOW)).state, state);

test('keys choose sections and rows, and the chosen row stays chosen when others arrive', (t) => {
  t.is(after(BEGINNING, named('tab')).section, 'orders');
  t.is(after(BEGINNING, named('tab', { shift: true })).section, 'replicas');
  t.is(after(BEGINNING, named('left'), named('right')).section, 'events');
  const third = after(BEGINNING, named('down'), named('down'));
  const events = sections.find(({ name }) => name === 'events')!;
  t.is(chosenAt(third, events), 2);
  const later = sectionsOf(fold(board, message(40, 45), 1000), NOW, 100).find(({ name }) => name === 'events')!;
  t.is(chosenAt(third, later), 7, 'the same event');
  t.is(chosenAt(after(third, named('home')), later), 0, 'the newest stays the newest');
  t.is(chosenAt(after(BEGINNING, named('end')), events), 39);
  t.is(chosenAt(after(BEGINNING, named('up')), events), 0);
  t.is(chosenAt(third, { ...events, rows: events.rows.slice(10) }), 0, 'one that is gone');
  const line = screen(after(BEGINNING, named('end')), 80, 24).find((one) => one.includes('▸'));
  t.true(line?.includes('P202611210558000000000001'), 'the chosen row is in sight');
});

test('Enter explains the chosen order, or reports that there is none', (t) => {
  const open = press(BEGINNING, named('return'), sections);
  t.deepEqual(open.sideEffect, { kind: 'explain', orderNo: 'P202611210558000000000040' });
  t.is(open.state.page?.title, 'payctl explain P202611210558000000000040');
  const none = press({ ...BEGINNING, section: 'channels' }, named('return'), sections);
  t.is(none.sideEffect, undefined);
  t.is(none.state.notice, 'There is no order on this row.');
  t.is(press(none.state, named('down'), sections).state.notice, '');
});

test('a filter is typed, corrected, kept and cleared', (t) => {
  const typing = after(BEGINNING, typed('/'), typed('红'), typed('茶'), typed('x'), named('backspace'));
  t.deepEqual([typing.filter, typing.isTyping], ['红茶', true]);
  t.is(after(typing, typed('q')).filter, '红茶q', 'q is a letter here');
  const kept = after(typing, named('return'));
  t.deepEqual([kept.filter, kept.isTyping], ['红茶', false]);
  t.is(after(kept, named('escape')).filter, '');
  t.is(after(typing, named('escape')).filter, '');
  t.is(after(typing, named('u', { ctrl: true })).filter, '');
  const found = filtered(sections, '0000000007', NOW);
  t.is(found.find(({ name }) => name === 'events')!.rows.length, 1);
  t.is(found.find(({ name }) => name === 'channels')!.rows.length, 3);
});

test('Ctrl-C quits everywhere, q quits on the board, and q on a page closes the page', (t) => {
  const quits = (state: State, key: ReturnType<typeof keyOf>) =>
    press(state, key, sections).sideEffect?.kind === 'quit';
  const paged: State = { ...BEGINNING, page: { title: 'x', lines: ['1', '2', '3'], top: 0 } };
  for (const state of [BEGINNING, paged, { ...BEGINNING, isTyping: true }])
    t.true(quits(state, named('c', { ctrl: true })));
  t.true(quits(BEGINNING, named('q')));
  t.false(quits(paged, named('q')));
  t.is(press(paged, named('q'), sections).state.page, undefined);
  t.is(press(BEGINNING, named('z', { ctrl: true }), sections).sideEffect?.kind, 'suspend');
  t.is(press(BEGINNING, typed('?'), sections).sideEffect?.kind, 'help');
});

test('a page is scrolled within its lines, and help fits every width', (t) => {
  const lines = Array.from({ length: 50 }, (_, at) => `line ${at}`);
  let state: State = { ...BEGINNING, page: { title: 'x', lines, top: 0 } };
  const space = { columns: 40, rows: 12, style, now: NOW };
  const top = () => drawn(layoutPage(state.page!, space), 40)[1];
  for (const [key, first] of [
    [named('down'), 'line 1'],
    [named('pagedown'), 'line 11'],
    [named('up'), 'line 10'],
    [named('end'), 'line 40'],
    [named('home'), 'line 0'],
    [named('up'), 'line 0'],
  ] as const) {
    state = press(state, key, sections).state;
    t.is(top(), first);
  }
  t.is(drawn(layoutPage({ title: 'x', top: 0 }, space), 40)[1], 'Loading …');
  for (const columns of [40, 80, 200])
    for (const line of helpLines(columns)) t.true(displayWidth(line) <= columns, `${columns}: ${line}`);
});

test('control characters in text of merchants and services are shown escaped', (t) => {
  const hostile = JSON.parse(
    JSON.stringify(message(0, 5, 'snapshot'))
      .replaceAll('红茶 Tea', JSON.stringify(ATTACK).slice(1, -1))
      .replaceAll('茶馆', JSON.stringify(ATTACK).slice(1, -1)),
  );
  const lines = layout(
    BEGINNING,
    sectionsOf(fold(NOTHING, hostile, 0), NOW, 200),
    { ...bars, title: ATTACK, status: ATTACK },
    { columns: 200, rows: 40, style, now: NOW },
  );
  const text = drawn(lines, 200).join('\n');
  t.true(text.includes('owned'));
  t.is(drawnByOthers(text), undefined);
  t.deepEqual(paintedParts(text).length, 1);
});

test('a service of another version with other section members is still shown', (t) => {
  const odd = {
    at: 1,
    orders: { open: 'x' },
    channels: [{}],
    due: [{ count: 1 }],
    webhooks: [{}],
    exceptions: {},
    replicas: [{}, { loopDelayMs: null }],
    events: { rows: [{}] },
  };
  const lines = screen(BEGINNING, 100, 30, sectionsOf(fold(NOTHING, odd, 0), NOW, 100));
  t.is(lines.length, 30);
});
