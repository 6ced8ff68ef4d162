import test from 'ava';
import { isWithin, readNetwork } from '../../../server/addresses/networks.ts';

test('addresses and ranges are read, everything else is not', (t) => {
  t.is(readNetwork('192.0.2.1'), '192.0.2.1/32');
  t.is(readNetwork('10.0.0.0/8'), '10.0.0.0/8');
  t.is(readNetwork('2001:db8::/32'), '2001:db8::/32');
  t.is(readNetwork('::1'), '::1/128');
  for (const bad of [
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '::1/129',
    'fe80::1%eth0',
    'a/8',
    '10.0.0.0/8/8',
    '1/-1',
  ])
    t.is(readNetwork(bad), undefined, bad);
});

test('an address is within its ranges in either family; no ranges are everyone', (t) => {
  const ranges = ['10.0.0.0/8', '2001:db8::/32'];
  for (const inside of ['10.255.0.1', '::ffff:10.0.0.1', '2001:db8::1']) t.true(isWithin(ranges, inside), inside);
  for (const outside of ['11.0.0.1', '::ffff:11.0.0.1', '2001:db9::1', '', 'x'])
    t.false(isWithin(ranges, outside), outside);
  t.true(isWithin([], 'x'));
});
