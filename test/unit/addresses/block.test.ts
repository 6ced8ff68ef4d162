import test from 'ava';
import { addressBlock } from '../../../server/addresses/block.ts';
import { createLoginLimits } from '../../../server/identity/login-limits.ts';

test('an IPv4 address counts as itself, an IPv6 address as its /64, however it is written', (t) => {
  for (const same of ['192.0.2.1', '', 'unknown', 'fe80::1%eth0']) t.is(addressBlock(same), same);
  for (const address of ['2001:db8:1:2::', '2001:db8:1:2::1', '2001:0DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2:a::b'])
    t.is(addressBlock(address), '2001:db8:1:2::/64', address);
  t.is(addressBlock('2001:db8:1:3::1'), '2001:db8:1:3::/64');
  t.is(addressBlock('2001:db8::1'), '2001:db8:0:0::/64');
  t.is(addressBlock('::1'), '0:0:0:0::/64');
  t.is(addressBlock('1:0:0:2:3:4:5:6'), '1:0:0:2::/64');
});

test('guesses from many addresses of one /64 are counted together', async (t) => {
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
  const limits = createLoginLimits(counts, { loginFailures: 3, badCredentialsPerMinute: 100 }, new Uint8Array(32));
  for (const end of ['1', '2', '3']) await limits.failed('alice', `2001:db8::${end}`);
  await t.throwsAsync(limits.check('alice', '2001:db8::4'), { message: /Too many/ });
  await t.notThrowsAsync(limits.check('alice', '2001:db8:0:1::4'));
  await t.notThrowsAsync(limits.check('alice', '192.0.2.1'));
});
