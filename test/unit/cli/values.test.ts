import test from 'ava';
import { durationText, human, money, plain, relativeTime, valueOf, visible } from '../../../cli/values.ts';

const now = new Date('2026-11-21T06:00:00.000Z');

const times: [string, string][] = [
  ['2026-11-21T06:00:00.200Z', 'now'],
  ['2026-11-21T05:59:48.000Z', '12s ago'],
  ['2026-11-21T05:55:00.000Z', '5m ago'],
  ['2026-11-21T08:00:00.000Z', 'in 2h'],
  ['2026-11-19T05:00:00.000Z', '2d ago'],
  ['2026-08-01T00:00:00.000Z', '2026-08-01'],
  ['not a time', 'not a time'],
];

for (const [at, words] of times) test(`${at} is shown as ${words}`, (t) => t.is(relativeTime(at, now), words));

test('money has the decimals of its currency', (t) => {
  t.is(money(12.3, 'CNY'), '12.30 CNY');
  t.is(money(1200, 'JPY'), '1200 JPY');
  t.is(money('40', 'CNY'), '40 CNY');
});

test('control characters in data are escaped', (t) => {
  t.is(visible('a\u001b[31mred\u0007'), 'a\\u001b[31mred\\u0007');
  t.is(visible('one\ntwo\tthree'), 'one\\ntwo\\tthree');
  t.is(visible('abc\u202Etxt'), 'abc\\u202etxt');
  t.is(visible('pay\u200Bpal\uFEFF\u2060\u00AD'), 'pay\\u200bpal\\ufeff\\u2060\\u00ad', 'what is not seen');
  t.is(visible('می\u200Cخواهم 👩\u200D🍳'), 'می\u200Cخواهم 👩\u200D🍳', 'joiners belong to words and to emoji');
  t.is(human({ subject: '\u001b]0;x\u0007' }, { field: 'subject' }, now), '\\u001b]0;x\\u0007');
});

test('field paths read nested objects, but not the prototype', (t) => {
  t.is(valueOf({ failure: { code: 'x' } }, 'failure.code'), 'x');
  t.is(valueOf({ 'a.b': 1 }, 'a.b'), 1);
  t.is(valueOf({}, 'constructor'), undefined);
  t.is(valueOf({ failure: null }, 'failure.code'), undefined);
});

test('programs receive plain values', (t) => {
  t.is(plain(null), '');
  t.is(plain(['a', 'b']), 'a,b');
  t.is(plain({ a: 1 }), '{"a":1}');
  t.is(plain(0.1), '0.1');
});

test('a duration is shown in a convenient unit', (t) => {
  const shown = [45, 90, 900, 3600, 5400, 86_400, 129_600, 172_800, 604_800].map(durationText);
  t.deepEqual(shown, ['45 s', '90 s', '15 min', '1 h', '90 min', '24 h', '36 h', '2 d', '7 d']);
});
