import test from 'ava';
import { nextAttempt } from '../../../server/events/deliver.ts';

test('a delivery is tried after 10 s, 30 s, 2 m, 5 m, 10 m, 30 m, 1 h, 2 h, 4 h, then every 6 h for 72 h', (t) => {
  const began = new Date('2030-01-01T00:00:00Z');
  const pauses: number[] = [];
  let now = began;
  for (let failed = 1; ; failed += 1) {
    const next = nextAttempt(failed, began, now);
    if (next === null) break;
    pauses.push((next.getTime() - now.getTime()) / 1000);
    now = next;
  }
  t.deepEqual(pauses.slice(0, 9), [10, 30, 120, 300, 600, 1800, 3600, 7200, 14_400]);
  t.deepEqual([...new Set(pauses.slice(9))], [21_600]);
  const last = (now.getTime() - began.getTime()) / 3_600_000;
  t.true(last > 66 && last <= 72, `${last} hours`);
});
