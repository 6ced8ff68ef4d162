import type { ExecutionContext } from 'ava';
import { createServer, request as send, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { listenOnFreePort } from './free-port.ts';

/** An answer that replaces the real one. */
interface Instead {
  status: number;
  body: unknown;
  headers?: Record<string, string> | undefined;
}

/**
 * Starts a proxy, for example between the service and the simulator: `answer` may replace an answer, and a real answer is
 * forwarded after `answered` resolves, or its connection is broken if that is `cut`.
 */
export async function startInBetween(
  t: ExecutionContext,
  target: string,
  answer: (
    method: string,
    path: string,
    headers: IncomingHttpHeaders,
  ) => Instead | undefined | Promise<Instead | undefined>,
  answered: (method: string, path: string) => unknown = () => undefined,
): Promise<{ url: string }> {
  const server = createServer(async (incoming, response) => {
    const instead = await answer(incoming.method ?? '', incoming.url ?? '', incoming.headers);
    if (instead) {
      incoming.resume();
      const headers = { 'content-type': 'application/json', ...instead.headers };
      response.writeHead(instead.status, headers).end(JSON.stringify(instead.body));
      return;
    }
    const { method, headers } = incoming;
    const onward = send(target + incoming.url, { method, headers }, async (answering: IncomingMessage) => {
      if ((await answered(method ?? '', incoming.url ?? '')) === 'cut') return response.destroy();
      response.writeHead(answering.statusCode ?? 502, answering.headers);
      answering.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}` };
}

/** A TCP proxy that can stop forwarding without either end noticing. */
export interface Cable {
  url: string;
  /** From now on nothing is forwarded, and no connection is closed or refused. */
  swallow(): void;
  /** From now on every connection is closed, as by a server that is down. */
  cut(): void;
  /** Closes the connection at the COMMIT of the next transaction that contains this text: before it arrives, or before its answer does. */
  cutCommit(when: 'before' | 'after', words: string): void;
  /** How often `cutCommit` applied. */
  readonly strikes: number;
  mend(): void;
}

/** Starts a proxy to the host and port of `to`; the rest of the address stays the same. */
export async function layCable(t: Pick<ExecutionContext, 'teardown'>, to: string): Promise<Cable> {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  let swallowing = false;
  let broken = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  let trap: { words: string; when: 'before' | 'after' } | undefined;
  let strikes = 0;
  const marked = new Set<Socket>();
  const doomed = new Set<Socket>();
  /** Whether the bytes of a client are the COMMIT to cut. */
  const isTrapped = (from: Socket, bytes: Buffer): 'before' | 'after' | undefined => {
    if (bytes.includes('start transaction')) marked.delete(from);
    if (!trap) return undefined;
    if (bytes.includes(trap.words)) marked.add(from);
    if (!marked.has(from) || !bytes.includes('commit')) return undefined;
    const { when } = trap;
    trap = undefined;
    strikes += 1;
    return when;
  };
  const pump = (from: Socket, into: Socket, fromNear: boolean): void => {
    from.on('data', (bytes: Buffer) => {
      if (doomed.has(from)) return void from.destroy();
      const trapped = fromNear ? isTrapped(from, bytes) : undefined;
      if (trapped === 'before') return void from.destroy();
      if (trapped === 'after') doomed.add(into);
      if (!swallowing) into.write(bytes);
    });
    from.on('close', () => {
      doomed.delete(from);
      if (!swallowing) into.destroy();
    });
  };
  const server = createTcpServer((near) => {
    keep(near);
    if (broken) return void near.destroy();
    if (swallowing) return;
    const far = keep(connect(Number(target.port), target.hostname));
    pump(near, far, true);
    pump(far, near, false);
  });
  const port = await listenOnFreePort(server);
  const drop = () => sockets.forEach((socket) => socket.destroy());
  t.teardown(() => {
    drop();
    server.close();
  });
  const own = new URL(to);
  own.hostname = '127.0.0.1';
  own.port = String(port);
  return {
    url: own.href,
    swallow: () => void (swallowing = true),
    cut: () => {
      broken = true;
      drop();
    },
    cutCommit: (when, words) => void (trap = { when, words }),
    get strikes() {
      return strikes;
    },
    mend: () => {
      swallowing = false;
      broken = false;
      drop();
    },
  };
}
