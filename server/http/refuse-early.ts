import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorCodes, type PublishedError } from '../error-codes/error-codes.ts';

/** Why a request never reaches Koa, by the status of its answer. */
const refusals = {
  400: ['invalid_request', 'This is not a request that can be read.'],
  408: ['request_timeout', 'The request was not received in time.'],
  417: ['invalid_request', 'Of Expect only 100-continue is supported.'],
  431: ['invalid_request', 'The headers of the request are too large.'],
} as const;

type Status = keyof typeof refusals;

/** How long the sender may take to fetch a refusal before its connection is cut. */
const LINGER_MS = 2_000;
/** RFC 9110 §7.2: a name or an address, and a port. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;

/** Whether a request has the form that everything behind it relies on: HTTP/1.0 or 1.1, and one Host that is one. */
export function isWellFormed({ httpVersion, rawHeaders, headers }: IncomingMessage): boolean {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return false;
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length;
  // Only HTTP/1.0 may do without, as the health checks of balancers do.
  if (hosts === 0) return httpVersion === '1.0';
  return hosts === 1 && HOST.test(headers.host ?? '');
}

/** Answers a request that Node has read and Koa is not to see; the connection is closed after it. */
export function refuseRequest(req: IncomingMessage, res: ServerResponse, status: Status): void {
  const { headers, body } = refusal(status);
  res.writeHead(status, headers).end(body);
  res.once('finish', () => cutLater(req.socket));
}

/** What is not HTTP, is too large or too slow never reaches Koa, but its sender gets an answer of the same kind. */
export function refuseNonsense(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  else refuseOnSocket(socket, statusOf(error.code));
}

/** Answers on a connection on which nothing was answered yet, and closes it. */
export function refuseOnSocket(socket: Duplex, status: Status): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { headers, body } = refusal(status);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  cutLater(socket);
}

function statusOf(code: string | undefined): Status {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}

/** Who neither takes its answer nor closes would keep the connection. */
function cutLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

function refusal(status: Status): { headers: Record<string, string>; body: string } {
  const [code, detail] = refusals[status];
  const { title, retryable }: PublishedError = errorCodes[code];
  const requestId = randomUUID();
  const body = JSON.stringify({
    type: `/docs/errors/${code}`,
    title,
    status,
    detail,
    code,
    requestId,
    retryable: retryable ?? false,
  });
  const headers = {
    Connection: 'close',
    'Content-Type': 'application/problem+json; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'",
    'X-Request-Id': requestId,
    'Content-Length': String(Buffer.byteLength(body)),
  };
  return { headers, body };
}
