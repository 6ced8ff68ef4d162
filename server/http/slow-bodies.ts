import type { IncomingMessage, ServerResponse } from 'node:http';
import { addressBlock, clientAddress } from '../addresses.ts';
import { refuseOnSocket } from './refuse-early.ts';

/** How many slow senders one address may have. */
export interface SlowBodyLimits {
  /** A body that takes longer is slow (ms). */
  slowAfterMs: number;
  /** Slow bodies of one address at a time; what is more is answered 408. */
  slowPerAddress: number;
}

/** Bounds of slow bodies. */
export const slowBodyLimits: SlowBodyLimits = { slowAfterMs: 2_000, slowPerAddress: 32 };

/** Bounds how many requests of one address send their body slowly at the same time. */
export function boundSlowBodies(
  trustedProxies: number,
  { slowAfterMs, slowPerAddress }: SlowBodyLimits,
): (req: IncomingMessage, res: ServerResponse) => void {
  const slow = new Map<string, number>();
  return (req, res) => {
    if (req.complete || !announcesBody(req)) return;
    const address = addressBlock(clientAddress(req, trustedProxies));
    let counted = false;
    const timer = setTimeout(() => {
      if (req.complete) return;
      const others = slow.get(address) ?? 0;
      if (others >= slowPerAddress) return end(req, res);
      counted = true;
      slow.set(address, others + 1);
    }, slowAfterMs);
    req.once('close', () => {
      clearTimeout(timer);
      if (!counted) return;
      const left = (slow.get(address) ?? 1) - 1;
      if (left > 0) slow.set(address, left);
      else slow.delete(address);
    });
  };
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function end({ socket }: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent) socket.destroy();
  else refuseOnSocket(socket, 408);
}
