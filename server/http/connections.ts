import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What one connection may cost. */
export interface ConnectionLimits {
  /** How long nothing may move while the caller's turn it is: no request, or an answer that is not taken (ms). */
  quietMs: number;
  /** How long it may take to fetch an answer that is complete (ms). */
  takeMs: number;
  /** Bytes of answers that may wait for one connection. */
  waitingBytes: number;
}

/** Bounds of every connection. */
export const connectionLimits: ConnectionLimits = { quietMs: 20_000, takeMs: 60_000, waitingBytes: 8 * 1024 * 1024 };

interface UnderWay {
  socket: Socket;
  res: ServerResponse;
  endedAt?: number;
}

/**
 * Cuts connections off that keep memory or a place without moving: Node itself waits for ever for one that does not take
 * its answer. Who waits for us is left alone. Returns what has to see every request.
 */
export function guardConnections(
  server: Server,
  { quietMs, takeMs, waitingBytes }: ConnectionLimits,
): (req: IncomingMessage, res: ServerResponse) => void {
  const underWay = new Set<UnderWay>();
  const busy = new Map<Socket, number>();
  server.setTimeout(quietMs, (socket: Socket) => {
    // Silence is ours while a request is worked on and nothing waits to be taken.
    if (busy.has(socket) && socket.writableLength === 0) socket.setTimeout(quietMs);
    else socket.destroy();
  });
  const sweep = setInterval(() => {
    const now = performance.now();
    for (const one of underWay) {
      if (one.res.writableEnded) one.endedAt ??= now;
      const isLate = one.endedAt !== undefined && now - one.endedAt > takeMs;
      if (isLate || one.res.writableLength > waitingBytes) one.socket.destroy();
    }
  }, 1000).unref();
  server.once('close', () => clearInterval(sweep));

  return ({ socket }, res) => {
    const one: UnderWay = { socket, res };
    underWay.add(one);
    busy.set(socket, (busy.get(socket) ?? 0) + 1);
    res.once('close', () => {
      underWay.delete(one);
      const left = (busy.get(socket) ?? 1) - 1;
      if (left > 0) busy.set(socket, left);
      else busy.delete(socket);
    });
  };
}
