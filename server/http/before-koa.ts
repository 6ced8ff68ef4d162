import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { errorCodes, type PublishedError } from '../error-codes/error-codes.ts';
import { addressBlock, clientAddress } from '../addresses.ts';
import { hardlyMoves, streams } from './uploads.ts';
import type { HeaderPairs } from './edge.ts';

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
export function isWellFormed(req: IncomingMessage): boolean {
  const { httpVersion, headers } = req;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return false;
  const hosts = timesSent(req, 'host');
  // Only HTTP/1.0 may do without, as the health checks of balancers do.
  if (hosts === 0) return httpVersion === '1.0';
  return hosts === 1 && HOST.test(headers.host ?? '');
}

/** Whether others may see another end of the request than this server does: HTTP/1.0 has no Transfer-Encoding (RFC 9112 §6.1). */
export function isFramedOddly({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

/** How often a request names a header; Node keeps the first value of some and joins those of others. */
export function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]!;
    if (sent.length === name.length && sent.toLowerCase() === name) times += 1;
  }
  return times;
}

/** Answers a request that Node has read and Koa is not to see; the connection is closed after it. */
export function refuseRequest(
  req: IncomingMessage,
  res: ServerResponse,
  status: Status,
  marks: HeaderPairs = [],
): void {
  const { headers, body } = refusal(status, marks);
  res.writeHead(status, headers).end(body);
  res.once('finish', () => cutLater(req.socket));
}

/** What is not HTTP, is too large or too slow never reaches Koa, but its sender gets an answer of the same kind. */
export function refuseNonsense(error: Error & { code?: string }, socket: Duplex, marks: HeaderPairs = []): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  else refuseOnSocket(socket, statusOf(error.code), marks);
}

/** Answers on a connection on which nothing was answered yet, and closes it. */
function refuseOnSocket(socket: Duplex, status: Status, marks: HeaderPairs): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { headers, body } = refusal(status, marks);
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

function refusal(status: Status, marks: HeaderPairs): { headers: Record<string, string>; body: string } {
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
    ...Object.fromEntries(marks),
    'Content-Length': String(Buffer.byteLength(body)),
  };
  return { headers, body };
}

/** Whether a body comes with the request. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** What one connection, and one address, may cost. */
export interface ConnectionLimits {
  /** How long nothing may move while the caller's turn it is: no request, or an answer that is not taken (ms). */
  quietMs: number;
  /** How long it may take to fetch an answer that is complete (ms). */
  takeMs: number;
  /** Bytes of answers that may wait for one connection. */
  waitingBytes: number;
  /** A body that takes longer is slow (ms). */
  slowAfterMs: number;
  /** Slow bodies of one address at a time; what is more is answered 408. */
  slowPerAddress: number;
  /** How long a body may take to arrive; of one that is read as it comes, how long it may hardly move (ms). */
  requestMs: number;
}

/** Bounds of every connection. */
export const connectionLimits: ConnectionLimits = {
  quietMs: 20_000,
  takeMs: 60_000,
  waitingBytes: 8 * 1024 * 1024,
  slowAfterMs: 2_000,
  slowPerAddress: 32,
  requestMs: 14_000,
};

/** A request until its answer was taken. */
interface UnderWay {
  req: IncomingMessage;
  res: ServerResponse;
  since: number;
  endedAt?: number;
  /** Its body is slow: it has one of the places of its address, or was refused. */
  slow?: 'placed' | 'refused';
}

/**
 * Cuts off what keeps memory or a place without moving: Node itself waits for ever for a connection that does not take its
 * answer, and lets one address have every place with bodies that hardly come. Who waits for us is left alone. Returns what
 * has to see every request.
 */
export function guardConnections(
  server: Server,
  trustedProxies: number,
  { quietMs, takeMs, waitingBytes, slowAfterMs, slowPerAddress, requestMs }: ConnectionLimits,
  marks: HeaderPairs = [],
): (req: IncomingMessage, res: ServerResponse) => void {
  // What comes and goes with each request stands in short arrays: a set that it went through would be rebuilt every few
  // requests, and the old tables keep requests and answers from the garbage collector's quick round.
  const connections = new Map<Socket, UnderWay[]>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, []);
    socket.once('close', () => connections.delete(socket));
  });
  server.setTimeout(quietMs, (socket: Socket) => {
    // Silence is ours while a request is worked on and nothing waits to be taken.
    const isBusy = (connections.get(socket)?.length ?? 0) > 0;
    if (isBusy && socket.writableLength === 0) socket.setTimeout(quietMs);
    else socket.destroy();
  });
  const cutTaker = (now: number, socket: Socket, { res, endedAt }: UnderWay) => {
    const isLate = endedAt !== undefined && now - endedAt > takeMs;
    if (isLate || res.writableLength > waitingBytes) socket.destroy();
  };
  const cutSenders = (slow: readonly UnderWay[]) => {
    const places = new Map<string, number>();
    // Who has a place keeps it.
    for (const one of slow.toSorted((a, b) => Number(b.slow === 'placed') - Number(a.slow === 'placed'))) {
      const address = addressBlock(clientAddress(one.req, trustedProxies));
      const taken = places.get(address) ?? 0;
      places.set(address, taken + 1);
      one.slow = taken < slowPerAddress ? 'placed' : 'refused';
      if (one.slow === 'refused') end(one.req, one.res, marks);
    }
  };
  const sweep = setInterval(
    () => {
      const now = performance.now();
      const slow: UnderWay[] = [];
      for (const [socket, requests] of connections)
        for (const one of requests) {
          if (one.res.writableEnded) one.endedAt ??= now;
          cutTaker(now, socket, one);
          if (one.req.complete || one.slow === 'refused' || !announcesBody(one.req)) continue;
          if (isLate(one, now, requestMs)) {
            one.slow = 'refused';
            end(one.req, one.res, marks);
          } else if (now - one.since > slowAfterMs) slow.push(one);
        }
      if (slow.length > 0) cutSenders(slow);
    },
    Math.min(1000, slowAfterMs, requestMs),
  ).unref();
  server.once('close', () => clearInterval(sweep));

  return (req, res) => {
    const requests = connections.get(req.socket);
    if (!requests) return;
    const one: UnderWay = { req, res, since: performance.now() };
    requests.push(one);
    res.once('close', () => void requests.splice(requests.indexOf(one), 1));
  };
}

/** Whether a body took too long to arrive. */
function isLate({ req, since }: UnderWay, now: number, requestMs: number): boolean {
  const stream = streams.get(req);
  return stream ? hardlyMoves(req, stream, now, requestMs) : now - since > requestMs;
}

function end({ socket }: IncomingMessage, res: ServerResponse, marks: HeaderPairs): void {
  if (res.headersSent) socket.destroy();
  else refuseOnSocket(socket, 408, marks);
}
