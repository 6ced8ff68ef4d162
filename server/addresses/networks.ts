import { BlockList, isIP } from 'node:net';

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
