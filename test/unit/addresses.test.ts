import test from 'ava';
import { addressBlock, addressNetwork, areWithin, isWithin, readNetwork } from '../../server/addresses.ts';
import { createLoginLimits } from '../../server/identity/login-limits.ts';

test('an IPv4 address counts as itself and an IPv6 address as its /64, in every spelling', (t) => {
  for (const same of ['192.0.2.1', '', 'unknown', 'fe80::1%eth0']) t.is(addressBlock(same), same);
  for (const address of ['2001:db8:1:2::', '2001:db8:1:2::1', '2001:0DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2:a::b'])
    t.is(addressBlock(address), '2001:db8:1:2::/64', address);
  t.is(addressBlock('2001:db8:1:3::1'), '2001:db8:1:3::/64');
  t.is(addressBlock('2001:db8::1'), '2001:db8:0:0::/64');
  t.is(addressBlock('::1'), '0:0:0:0::/64');
  t.is(addressBlock('1:0:0:2:3:4:5:6'), '1:0:0:2::/64');
});

test('the network of an address is its /24 or its /48', (t) => {
  for (const same of ['', 'unknown', 'fe80::1%eth0']) t.is(addressNetwork(same), same);
  for (const address of ['192.0.2.1', '192.0.2.255']) t.is(addressNetwork(address), '192.0.2.0/24');
  t.is(addressNetwork('192.0.3.1'), '192.0.3.0/24');
  for (const address of ['2001:db8:1::', '2001:0DB8:1:ffff:ffff:ffff:ffff:ffff', '2001:db8:1:2:a::b'])
    t.is(addressNetwork(address), '2001:db8:1::/48', address);
  t.is(addressNetwork('2001:db8::1'), '2001:db8:0::/48');
});

test('guesses from several addresses of one /64 are counted together', async (t) => {
  const uses = new Map<string, number>();
  const counts = {
    async consume(key: string, limit: number, windowSeconds: number) {
      uses.set(key, (uses.get(key) ?? 0) + 1);
      return { allowed: (uses.get(key) ?? 0) <= limit, limit, remaining: 0, resetSeconds: windowSeconds };
    },
    async peek(limits: readonly { key: string; limit: number }[]) {
      return { allowed: limits.every(({ key, limit }) => (uses.get(key) ?? 0) < limit), resetSeconds: 1 };
    },
  };
  const limits = createLoginLimits(counts, { loginFailures: 3, badCredentialsPerMinute: 100 }, (name) => name);
  const from = (ip: string) => ({ username: 'alice', ip, known: false });
  for (const end of ['1', '2', '3']) await limits.failed(from(`2001:db8::${end}`));
  await t.throwsAsync(limits.check(from('2001:db8::4')), { message: /Too many/ });
  await t.notThrowsAsync(limits.check(from('2001:db8:0:1::4')));
  await t.notThrowsAsync(limits.check(from('192.0.2.1')));
});

test('addresses and ranges are parsed, and any other text is rejected', (t) => {
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

test('an address is matched against ranges of either family, and an empty list allows every address', (t) => {
  const ranges = ['10.0.0.0/8', '2001:db8::/32'];
  for (const inside of ['10.255.0.1', '::ffff:10.0.0.1', '2001:db8::1']) t.true(isWithin(ranges, inside), inside);
  for (const outside of ['11.0.0.1', '::ffff:11.0.0.1', '2001:db9::1', '', 'x'])
    t.false(isWithin(ranges, outside), outside);
  t.true(isWithin([], 'x'));
});

test('a range is contained only in ranges of its own family, since an IPv6 range may cover all of IPv4', (t) => {
  const office = ['10.0.0.0/8', '2001:db8::/32'];
  for (const inside of ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3/32', '2001:db8:1::/48'])
    t.true(areWithin(office, [inside]), inside);
  for (const mapped of ['::ffff:10.0.0.0/96', '::ffff:10.0.0.0/9', '::/0']) {
    t.true(isWithin([mapped], '198.51.100.1'), `${mapped} holds IPv4`);
    t.false(areWithin(office, [mapped]), mapped);
    t.false(areWithin(office, ['10.1.0.0/16', mapped]), mapped);
  }
  for (const outside of ['10.0.0.0/7', '0.0.0.0/0', '2001:db8::/31']) t.false(areWithin(office, [outside]), outside);
  t.false(areWithin(office, []));
  t.true(areWithin([], ['::/0']));
});
