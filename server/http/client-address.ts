import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

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
