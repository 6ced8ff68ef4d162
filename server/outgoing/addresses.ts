import { BlockList, isIP } from 'node:net';

/** Ranges that an address given by somebody else must not lead to: this machine, private, shared, test and multicast ones. */
const REFUSED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  '64:ff9b::/96',
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
] as const;

const refused = listOf(REFUSED);

/** Says whether an address may be reached; `allowed` are ranges that are open all the same (Webhook.AllowedNetworks). */
export function addressGuard(allowed: readonly string[]): (address: string) => boolean {
  const open = listOf(allowed);
  return (address) => {
    const plain = unmapped(address);
    const family = isIP(plain);
    if (family === 0 || plain.includes('%')) return false;
    const kind = family === 6 ? 'ipv6' : 'ipv4';
    return open.check(plain, kind) || !refused.check(plain, kind);
  };
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

/** The IPv4 address within `::ffff:a.b.c.d` (or the deprecated `::a.b.c.d`), however it is written. */
function unmapped(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address;
  const [, high = '', low = ''] = /^\[::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(canonical(address)) ?? [];
  if (high === '') return address;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}

function canonical(address: string): string {
  return new URL(`http://[${address}]/`).hostname;
}
