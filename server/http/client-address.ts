import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

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

/** A list of CIDR networks or single addresses; undefined when it is empty, which means all. */
export function networkList(networks: readonly string[]): BlockList | undefined {
  if (networks.length === 0) return undefined;
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Whether the address is on the list. */
export function isListed(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
