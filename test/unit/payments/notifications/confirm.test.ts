import test from 'ava';
import { needsConfirmation } from '../../../../server/payments/notifications/confirm.ts';

const NOW = new Date('2026-11-22T12:00:00Z');
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000);
const OLD = { certId: 'c1', since: hoursAgo(24) };

function needs(
  minor: bigint,
  currency = 'CNY',
  verifiedBy: { certId: string; since: Date | null } = OLD,
  above = 1000,
) {
  return needsConfirmation({ confirmAbove: above, now: () => NOW }, { verifiedBy }, { minor, currency });
}

test('a payment above the limit is confirmed by a query, in major units of its currency', (t) => {
  t.false(needs(100_000n));
  t.true(needs(100_001n));
  t.false(needs(1000n, 'JPY'));
  t.true(needs(1001n, 'JPY'));
  t.true(needs(1n, 'XYZ'), 'a currency whose units nobody knows');
  t.true(needs(1n, 'CNY', OLD, 0), '0 confirms every payment');
});

test('a payment signed by a key is confirmed by a query during the first day after the key was trusted', (t) => {
  const since = (at: Date | null) => needs(1n, 'CNY', { certId: 'c1', since: at });
  t.true(since(hoursAgo(0)));
  t.true(since(hoursAgo(23.99)));
  t.true(since(hoursAgo(-1)), 'trusted by a clock that is ahead');
  t.false(since(hoursAgo(24)));
  t.false(since(null), 'a key whose age says nothing');
});
