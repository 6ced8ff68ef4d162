import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';

/** Where to listen, and how long requests in flight may take after `close`. */
export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  shutdownSeconds?: number;
}

/** A server that accepts requests. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Stops accepting, lets requests in flight finish, breaks off what takes longer; safe to call twice. */
  close(): Promise<void>;
}

/** Starts to accept requests; resolves when the port is open, rejects when it is taken. Slow senders are cut off. */
export async function listen(koa: Koa, { host, port, shutdownSeconds = 10 }: ListenOptions): Promise<Listening> {
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1000, keepAliveTimeout: 65_000 },
    koa.callback(),
  );
  server.on('clientError', refuseNonsense);
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    koa.context.draining = true;
    closing ??= drain(server, shutdownSeconds);
    return closing;
  };
  return { host: address.address, port: address.port, close };
}

/** What is not HTTP never reaches Koa, but its sender gets an answer of the same kind. */
function refuseNonsense(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = statusOf(error.code);
  const requestId = randomUUID();
  const body = JSON.stringify({
    type: '/docs/errors/invalid_request',
    title: STATUS_CODES[status],
    status,
    detail: 'This is not a request that can be read.',
    code: 'invalid_request',
    requestId,
    retryable: false,
  });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/problem+json; charset=utf-8\r\n` +
      `X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'\r\nX-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function statusOf(code: string | undefined): 400 | 408 | 431 {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}

async function drain(server: Server, seconds: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // A connection becomes idle when its last answer is sent, which may be long before the caller closes it.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const deadline = setTimeout(() => server.closeAllConnections(), seconds * 1000);
  await closed;
  clearInterval(sweep);
  clearTimeout(deadline);
}
