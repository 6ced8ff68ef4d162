import { BlockList, isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

/**
 * Returns the key for limits per client address (failed logins, slow requests, key downloads): the IPv4 address itself,
 * or the /64 network of an IPv6 address. A single caller has a whole /64 (RFC 6177), so a limit per IPv6 address would
 * have no effect.
 */
export function addressBlock(address: string): string {
  return isWide(address) ? `${groups(address, 4)}::/64` : address;
}

/**
 * Returns the larger network in which failed attempts (for example failed logins) of all addresses are counted
 * together: the /24 network of an IPv4 address, or the /48 network of an IPv6 address. One customer may have a whole
 * /48 (RFC 6177).
 */
export function addressNetwork(address: string): string {
  if (isWide(address)) return `${groups(address, 3)}::/48`;
  return isIP(address) === 4 ? address.replace(/\d+$/, '0/24') : address;
}

function isWide(address: string): boolean {
  return isIP(address) === 6 && !address.includes('%');
}

/** Returns the first `count` groups of an IPv6 address, which may be written in any notation. */
function groups(address: string, count: number): string {
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, count).join(':');
}

/** Converts an address or CIDR range to `address/bits`; undefined when it is neither. */
export function readNetwork(text: string): string | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest.length > 0) return undefined;
  const bits = family === 4 ? 32 : 128;
  if (prefix === undefined) return `${address}/${bits}`;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits ? `${address}/${Number(prefix)}` : undefined;
}

const lists = new Map<string, BlockList>();
const maxLists = 1000;

/** Whether an address is in one of the ranges (as `readNetwork` returns them); an empty list allows every address. */
export function isWithin(ranges: readonly string[], address: string): boolean {
  if (ranges.length === 0) return true;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  const family = isIP(plain);
  return family !== 0 && listOf(ranges).check(plain, family === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Whether every address of `ranges` is in one of the `outer` ranges. An empty list means every address. An IPv6 range
 * of IPv4-mapped addresses (RFC 4291 §2.5.5.2) is never within an IPv4 range, because the two families count prefix
 * bits differently.
 */
export function areWithin(outer: readonly string[], ranges: readonly string[]): boolean {
  if (outer.length === 0) return true;
  const partsOf = (range: string) => {
    const [address = '', bits] = range.split('/');
    return { address, bits: Number(bits), family: isIP(address) };
  };
  const isIn = (range: string) => (one: string) => {
    const [inner, wider] = [partsOf(range), partsOf(one)];
    return wider.family === inner.family && wider.bits <= inner.bits && isWithin([one], inner.address);
  };
  return ranges.length > 0 && ranges.every((range) => outer.some(isIn(range)));
}

/** The cache never becomes stale, because an entry depends only on the text of the ranges. */
function listOf(ranges: readonly string[]): BlockList {
  const key = ranges.join(',');
  let list = lists.get(key);
  if (!list) {
    list = build(ranges);
    if (lists.size >= maxLists) lists.clear();
    lists.set(key, list);
  }
  return list;
}

function build(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/**
 * Returns the client's address. Without trusted proxies it is the address of the socket. With `hops` trusted proxies it
 * is the entry of X-Forwarded-For that the outermost trusted proxy wrote. Entries further left come from the caller and
 * are never used.
 */
export function clientAddress(req: IncomingMessage, hops: number): string {
  const socket = plainAddress(req.socket.remoteAddress ?? '');
  const header = req.headers['x-forwarded-for'];
  if (hops === 0 || header === undefined) return socket;
  const entries = String(header).split(',');
  const address = plainAddress(entries[Math.max(0, entries.length - hops)] ?? '');
  return isIP(address) ? address : socket;
}

/** Returns an IP address without its port, brackets, zone id (`%eth0`) and IPv4-mapped prefix (`::ffff:`). */
export function plainAddress(text: string): string {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  return bare.replace(/%.*$/, '').replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, '$1');
}
