import { isIP } from 'node:net';

/**
 * What an address counts as where failures are counted: itself, or for IPv6 the /64 that it is in. A single caller has a
 * whole /64 (RFC 6177), so counting its addresses one by one would be no limit at all.
 */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address;
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
