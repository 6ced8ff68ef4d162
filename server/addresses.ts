import { BlockList, isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

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

/** Writes an address or CIDR range as `address/bits`; undefined when it is neither. */
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

/** Whether an address is within one of the ranges (as `readNetwork` writes them); no ranges means everyone. */
export function isWithin(ranges: readonly string[], address: string): boolean {
  if (ranges.length === 0) return true;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  const family = isIP(plain);
  return family !== 0 && listOf(ranges).check(plain, family === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Whether every address of these ranges is within one of the others; no ranges means every address. A range of IPv6 that holds IPv4
 * addresses (RFC 4291 §2.5.5.2) is never within one of IPv4: its bits count otherwise.
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

/** A list depends on nothing but its text, so keeping it can never serve an old one. */
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
 * The client's address: that of the socket, or with `hops` trusted proxies in front the entry of X-Forwarded-For that
 * the outermost of them wrote. Entries further left come from the caller and are never believed.
 */
export function clientAddress(req: IncomingMessage, hops: number): string {
  const socket = plainAddress(req.socket.remoteAddress ?? '');
  const header = req.headers['x-forwarded-for'];
  if (hops === 0 || header === undefined) return socket;
  const entries = String(header).split(',');
  const address = plainAddress(entries[Math.max(0, entries.length - hops)] ?? '');
  return isIP(address) ? address : socket;
}

/** An address without port, brackets, zone or the IPv4-mapped prefix. */
export function plainAddress(text: string): string {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  return bare.replace(/%.*$/, '').replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, '$1');
}
