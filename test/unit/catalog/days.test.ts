import test from 'ava';
import fc from 'fast-check';
import { dateIn, daysBetween, startOf } from '../../../server/catalog/stats.ts';

test('a day in Shanghai begins at 16:00 UTC of the day before', (t) => {
  t.is(startOf('2030-01-02', 'Asia/Shanghai').toISOString(), '2030-01-01T16:00:00.000Z');
  const { days, end } = daysBetween('2030-01-01', '2030-01-03', 'Asia/Shanghai');
  t.deepEqual(
    days.map(({ date }) => date),
    ['2030-01-01', '2030-01-02', '2030-01-03'],
  );
  t.is(end.toISOString(), '2030-01-03T16:00:00.000Z');
});

test('days with 23 and 25 hours and a day without midnight begin at the right instant', (t) => {
  const hours = (date: string, tz: string) => {
    const { days, end } = daysBetween(date, date, tz);
    return (end.getTime() - (days[0]?.start.getTime() ?? 0)) / 3_600_000;
  };
  t.is(hours('2026-03-08', 'America/New_York'), 23);
  t.is(hours('2026-11-01', 'America/New_York'), 25);
  t.is(startOf('2018-11-04', 'America/Sao_Paulo').toISOString(), '2018-11-04T03:00:00.000Z');
});

test('in every zone a day begins at the first millisecond of its date', (t) => {
  const zones = [
    'UTC',
    'Asia/Shanghai',
    'Asia/Kathmandu',
    'America/New_York',
    'Pacific/Apia',
    'Europe/London',
    '+05:30',
  ];
  const day = fc
    .integer({ min: 10_957, max: 25_000 })
    .map((at) => new Date(at * 86_400_000).toISOString().slice(0, 10));
  fc.assert(
    fc.property(fc.constantFrom(...zones), day, (tz, date) => {
      if (tz === 'Pacific/Apia' && date === '2011-12-30') return;
      const start = startOf(date, tz);
      t.is(dateIn(tz, start), date);
      t.true(dateIn(tz, new Date(start.getTime() - 1)) < date);
    }),
    { numRuns: 200 },
  );
  t.pass();
});
