import { isIP } from 'node:net';

/**
 * What an address counts as where failures are counted: itself, or for IPv6 the /64 that it is in. A single caller has a
 * whole /64 (RFC 6177), so counting its addresses one by one would be no limit at all.
 */
export function addressBlock(address: string): string {
  return isWide(address) ? `${groups(address, 4)}::/64` : address;
}

/** The network that an address is counted with: the /24 of IPv4, the /48 of IPv6, which one customer gets (RFC 6177). */
export function addressNetwork(address: string): string {
  if (isWide(address)) return `${groups(address, 3)}::/48`;
  return isIP(address) === 4 ? address.replace(/\d+$/, '0/24') : address;
}

function isWide(address: string): boolean {
  return isIP(address) === 6 && !address.includes('%');
}

/** The first groups of an IPv6 address, however it is written. */
function groups(address: string, count: number): string {
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, count).join(':');
}
