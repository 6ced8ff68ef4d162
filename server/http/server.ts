// The HTTP server: accepts connections, refuses malformed requests, and stops without breaking requests in progress.
import type Koa from 'koa';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, STATUS_CODES, type Server, type ServerResponse, createServer } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { addressBlock, clientAddress } from '../addresses.ts';
import { type PublishedError, errorCodes } from '../error-codes/error-codes.ts';
import type { Edge, HeaderPairs } from './edge.ts';
import { isTooSlow, streams } from './uploads.ts';

/** The error responses to requests that Koa does not receive, by HTTP status. */
const refusals = {
  400: ['invalid_request', 'The request is not valid HTTP.'],
  408: ['request_timeout', 'The request was not received in time.'],
  417: ['invalid_request', 'The only supported value of Expect is 100-continue.'],
  431: ['invalid_request', 'The headers of the request are too large.'],
} as const;

type Status = keyof typeof refusals;

/** How long the client may take to read a refusal before its connection is closed. */
const LINGER_MS = 2_000;
/** A valid Host header (RFC 9110 §7.2): a name or an address, with an optional port. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;

/** Whether a request is HTTP/1.0 or 1.1 with exactly one valid Host header; the rest of the service relies on it. */
function isWellFormed(req: IncomingMessage): boolean {
  const { httpVersion, headers } = req;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return false;
  const hosts = timesSent(req, 'host');
  // Only HTTP/1.0 may omit Host, as health checks of load balancers do.
  if (hosts === 0) return httpVersion === '1.0';
  return hosts === 1 && HOST.test(headers.host ?? '');
}

/**
 * Whether a proxy may see a different end of the request than this server. Transfer-Encoding does not exist in HTTP/1.0
 * (RFC 9112 §6.1), so a proxy may ignore the header in an HTTP/1.0 request.
 */
function isFramedOddly({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

/** How often a header was sent. `req.headers` does not show this: Node drops or joins repeated headers. */
export function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let times = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]!;
    if (sent.length === name.length && sent.toLowerCase() === name) times += 1;
  }
  return times;
}

/** Refuses a request whose headers could be parsed, without calling Koa, and closes the connection. */
function refuseRequest(req: IncomingMessage, res: ServerResponse, status: Status, marks: HeaderPairs = []): void {
  const { headers, body } = refusal(status, marks);
  res.writeHead(status, headers).end(body);
  res.once('finish', () => cutLater(req.socket));
}

/** Refuses a request that is not valid HTTP, too large or too slow. */
function refuseUnreadable(error: Error & { code?: string }, socket: Duplex, marks: HeaderPairs = []): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  else refuseOnSocket(socket, statusOf(error.code), marks);
}

/** Writes a refusal to a connection for which Node has created no response. */
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

/** Closes a connection after a while if its client neither reads the response nor closes the connection. */
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

/** Whether the request has a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Limits that protect the server against slow clients. Each limit applies to one connection or to one IP address. */
interface ConnectionLimits {
  /** Maximum time without traffic while the service waits for the client (ms). */
  quietMs: number;
  /** Maximum time in which the client must have read a complete response (ms). */
  takeMs: number;
  /** Maximum bytes of unread responses per connection. */
  waitingBytes: number;
  /** A body that takes longer than this to arrive counts as slow (ms). */
  slowAfterMs: number;
  /** Maximum concurrent slow bodies per address; further ones get 408. */
  slowPerAddress: number;
  /** Maximum time for a complete body to arrive (ms). Of a streamed body at least 64 KB must arrive in this time. */
  requestMs: number;
}

export const connectionLimits: ConnectionLimits = {
  quietMs: 20_000,
  takeMs: 60_000,
  waitingBytes: 8 * 1024 * 1024,
  slowAfterMs: 2_000,
  slowPerAddress: 32,
  requestMs: 14_000,
};

/** A request whose response the client has not read completely. */
interface UnderWay {
  req: IncomingMessage;
  res: ServerResponse;
  since: number;
  endedAt?: number;
  /**
   * Set for a slow body. `placed`: accepted within the limit `slowPerAddress`. `refused`: over this limit or too slow.
   * Absent = not slow.
   */
  slow?: 'placed' | 'refused';
}

/**
 * Closes connections that use memory or a connection slot without progress. Node itself waits without limit for a
 * client that does not read its response, and lets one address use all slots with slow bodies. Connections that wait
 * for the service stay open. Returns a function that must be called for every request.
 */
function guardConnections(
  server: Server,
  trustedProxies: number,
  { quietMs, takeMs, waitingBytes, slowAfterMs, slowPerAddress, requestMs }: ConnectionLimits,
  marks: HeaderPairs = [],
): (req: IncomingMessage, res: ServerResponse) => void {
  // Requests are kept in arrays and not in sets. V8 replaces the table of a set every few requests, and the old tables
  // keep finished requests and responses in memory for some time.
  const connections = new Map<Socket, UnderWay[]>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, []);
    socket.once('close', () => connections.delete(socket));
  });
  server.setTimeout(quietMs, (socket: Socket) => {
    // A connection stays open while the service works on its request and the client has read all data sent so far.
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
    // Slow bodies that were accepted earlier come first and stay accepted, so newer ones are refused instead.
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

function isLate({ req, since }: UnderWay, now: number, requestMs: number): boolean {
  const stream = streams.get(req);
  return stream ? isTooSlow(req, stream, now, requestMs) : now - since > requestMs;
}

function end({ socket }: IncomingMessage, res: ServerResponse, marks: HeaderPairs): void {
  if (res.headersSent) socket.destroy();
  else refuseOnSocket(socket, 408, marks);
}

/** Maximum times for the headers of a request and for the longest streamed body to arrive (ms). */
interface ArrivalLimits {
  headersMs: number;
  longestMs: number;
}

export interface ListenOptions {
  host: string;
  /** 0 = any free port. */
  port: number;
  /** Maximum open connections; further ones are closed immediately. */
  maxConnections?: number;
  trustedProxies?: number;
  /** How long the server still accepts requests after the decision to stop, so that load balancers notice it. */
  drainSeconds?: number;
  /** If present, the server stops accepting when this promise resolves, and does not use `drainSeconds`. */
  drained?: Promise<void>;
  /** Time limit for requests that are still in progress after the server stopped accepting (seconds). */
  shutdownSeconds?: number;
  /** Set only by tests; absent = the default limits. */
  limits?: Partial<ConnectionLimits & ArrivalLimits>;
}

interface Listening {
  readonly host: string;
  readonly port: number;
  /**
   * Stops the server. For `drainSeconds` the server still accepts requests, and every response closes its connection.
   * Then it waits up to `shutdownSeconds` for requests in progress. Safe to call twice.
   */
  close(): Promise<void>;
  /**
   * Stops accepting immediately, because other processes continue on the same address. Every response closes its
   * connection, idle connections stay usable for a moment, and health checks still succeed.
   */
  leave(): Promise<void>;
}

/**
 * Node checks these limits once a second. Bodies have a separate limit (`connectionLimits.requestMs`), because Node's
 * limit cannot exclude streamed bodies.
 */
const arrivalLimits: ArrivalLimits = { headersMs: 10_000, longestMs: 3_600_000 };
/** The service must not close an idle connection before the load balancer does: nginx keeps one for 60 seconds. */
const KEEP_ALIVE_MS = 65_000;
/**
 * How long idle connections stay usable after `leave` (ms). A client that sends requests regularly receives a response
 * with `Connection: close` within this time.
 */
const LEAVE_MS = 3_000;

/** Starts to accept requests; resolves when the port is open, rejects if it is in use. */
export async function listen(koa: Koa, options: ListenOptions): Promise<Listening> {
  const { host, port, maxConnections = 5_000, trustedProxies = 0, drainSeconds = 0, shutdownSeconds = 10 } = options;
  const limits = { ...connectionLimits, ...arrivalLimits, ...options.limits };
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.longestMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node's own check of the Host header is off, because its 400 response is not a problem document.
    requireHostHeader: false,
  });
  server.maxConnections = maxConnections;
  server.on('drop', logDrops(koa, maxConnections));
  const marks = edgeOf(koa)?.marks ?? [];
  const watch = guardConnections(server, trustedProxies, limits, marks);
  const handle = koa.callback();
  const ending = new WeakSet<Socket>();
  server.on('request', (req, res) => {
    // The data after an ambiguous request is ignored: a proxy may take it for a part of that request's body. The
    // connection closes after the response.
    if (ending.has(req.socket)) return;
    if (isFramedOddly(req)) {
      ending.add(req.socket);
      res.setHeader('Connection', 'close');
    }
    if (!isWellFormed(req)) return refuseRequest(req, res, 400, marks);
    watch(req, res);
    void handle(req, res);
  });
  server.on('checkExpectation', (req, res) => refuseRequest(req, res, 417, marks));
  server.on('clientError', (error, socket) => refuseUnreadable(error, socket, marks));
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    koa.context.draining = true;
    closing ??= stop(server, options.drained ?? delay(drainSeconds * 1000), shutdownSeconds);
    return closing;
  };
  const leave = (): Promise<void> => {
    koa.context.leaving = true;
    closing ??= leaveOthers(server, LEAVE_MS, shutdownSeconds);
    return closing;
  };
  return { host: address.address, port: address.port, close, leave };
}

function logDrops(koa: Koa, maxConnections: number): () => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - loggedAt < 60_000) return;
    loggedAt = performance.now();
    edgeOf(koa)?.logger.warn({ maxConnections }, 'new connections are closed: too many are open');
  };
}

function edgeOf({ context }: Koa): Edge | undefined {
  return (context as { edge?: Edge }).edge;
}

/** If a turn of the event loop takes longer (ms), a connection may have arrived that is not accepted yet. */
const QUIET_TURN_MS = 0.2;
/** Maximum time to wait for a turn of at most `QUIET_TURN_MS` (ms), because new connections may keep arriving. */
const LAST_CALL_MS = 1000;

async function stop(server: Server, drained: Promise<void>, shutdownSeconds: number): Promise<void> {
  await drained;
  await acceptAllWaiting(server);
  const closed = once(server, 'close');
  server.close();
  await untilClosed(server, closed, shutdownSeconds);
}

/** Closes the port for this process only; idle connections stay usable for `quietMs`. */
async function leaveOthers(server: Server, quietMs: number, shutdownSeconds: number): Promise<void> {
  const closed = once(server, 'close');
  // Node's own `close` would also close idle connections, on which a client may be sending a request right now.
  NetServer.prototype.close.call(server);
  await Promise.race([closed, delay(quietMs)]);
  await untilClosed(server, closed, shutdownSeconds);
}

async function untilClosed(server: Server, closed: Promise<unknown>, shutdownSeconds: number): Promise<void> {
  // Closes each connection as soon as it is idle, because its client may keep it open for long.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const deadline = setTimeout(() => server.closeAllConnections(), shutdownSeconds * 1000);
  await closed;
  clearInterval(sweep);
  clearTimeout(deadline);
}

/**
 * Accepts the connections that already wait in the kernel. Node accepts one connection per turn of its event loop, and
 * the kernel resets all connections that still wait when the port closes. A load balancer may already have sent a
 * request on such a connection, and must not send it twice. So the port closes right after a turn without a new
 * connection.
 */
async function acceptAllWaiting(server: Server): Promise<void> {
  const lastCall = performance.now() + LAST_CALL_MS;
  let hasAccepted = false;
  const note = (): void => void (hasAccepted = true);
  server.on('connection', note);
  // The first turn is not measured, because it may end before the event loop polls for connections. Every later turn
  // contains a poll.
  await nextTurn();
  for (let isQuiet = false; !isQuiet && performance.now() < lastCall;) {
    hasAccepted = false;
    const began = performance.now();
    await nextTurn();
    isQuiet = !hasAccepted && performance.now() - began < QUIET_TURN_MS;
  }
  server.off('connection', note);
}
