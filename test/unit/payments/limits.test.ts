import test from 'ava';
import { spanAt } from '../../../server/payments/limits.ts';

const spans = (text: string) =>
  (['hour', 'day', 'month', 'refunds'] as const).map((span) => {
    const { beginsAt, endsAt } = spanAt(span, new Date(text));
    return [beginsAt, endsAt].map((at) => at.toISOString().replace(':00:00.000Z', '')).join(' ');
  });

test('days and months are those of Asia/Shanghai, and hours begin at the full hour', (t) => {
  t.deepEqual(spans('2026-12-31T15:59:59.999Z'), [
    '2026-12-31T15 2026-12-31T16',
    '2026-12-30T16 2026-12-31T16',
    '2026-11-30T16 2026-12-31T16',
    '2026-12-30T16 2026-12-31T16',
  ]);
  t.deepEqual(spans('2026-12-31T16:00:00Z'), [
    '2026-12-31T16 2026-12-31T17',
    '2026-12-31T16 2027-01-01T16',
    '2026-12-31T16 2027-01-31T16',
    '2026-12-31T16 2027-01-01T16',
  ]);
  t.is(spans('2028-02-29T12:00:00Z')[2], '2028-01-31T16 2028-02-29T16');
});
