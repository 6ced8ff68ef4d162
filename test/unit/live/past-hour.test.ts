import test from 'ava';
import { createPastHour } from '../../../server/live/figures.ts';

const NOW = new Date('2030-01-31T08:00:30Z');
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);
const minuteOf = (at: Date) => Math.floor(at.getTime() / 60_000);

const paid = (at: Date, minor = '100', currency: string | null = 'CNY') => ({
  type: 'order.paid',
  currency,
  minor,
  createdAt: at,
});

test('initial rows and later events add up by status and currency', (t) => {
  const row = {
    type: 'order.paid',
    currency: 'CNY',
    minute: minuteOf(ago(5)),
    count: 2,
    minor: '300',
    seen: 2,
    oldest: 0,
  };
  const hour = createPastHour([row, { ...row, type: 'refund.succeeded', count: 1, minor: '50' }], ago(60));
  hour.add(paid(ago(1)));
  hour.add(paid(NOW, '7', 'USD'));
  hour.add({ ...paid(NOW), type: 'order.paid_late' });
  hour.add({ ...paid(NOW), type: 'coin.credited' });
  hour.add({ type: 'order.closed', currency: null, minor: null, createdAt: NOW });
  const { statuses } = hour.read(NOW);
  t.deepEqual(
    statuses.map(({ status, count, minor }) => [status, count, Object.fromEntries(minor)]),
    [
      ['paid', 5, { CNY: 500n, USD: 7n }],
      ['closed', 1, {}],
      ['failed', 0, {}],
      ['refunded', 1, { CNY: 50n }],
    ],
  );
});

test('minutes expire one by one, and the hour starts where the log was first read', (t) => {
  const hour = createPastHour([], ago(10));
  hour.add(paid(ago(9)));
  hour.add(paid(NOW));
  t.deepEqual(hour.read(NOW).since, ago(10));
  const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
  t.is(hour.read(later(51)).statuses[0]!.count, 2);
  t.is(hour.read(later(52)).statuses[0]!.count, 1);
  t.deepEqual(hour.read(later(60)).since, new Date('2030-01-31T08:00:00Z'));
  t.is(hour.read(later(61)).statuses[0]!.count, 0);
});
