// The HTTP server: starts to listen, refuses what must not reach Koa, drains, and stops without breaking off requests.
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
import { hardlyMoves, streams } from './uploads.ts';

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
function isWellFormed(req: IncomingMessage): boolean {
  const { httpVersion, headers } = req;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return false;
  const hosts = timesSent(req, 'host');
  // Only HTTP/1.0 may do without, as the health checks of balancers do.
  if (hosts === 0) return httpVersion === '1.0';
  return hosts === 1 && HOST.test(headers.host ?? '');
}

/** Whether others may see another end of the request than this server does: HTTP/1.0 has no Transfer-Encoding (RFC 9112 §6.1). */
function isFramedOddly({ httpVersion, headers }: IncomingMessage): boolean {
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
function refuseRequest(req: IncomingMessage, res: ServerResponse, status: Status, marks: HeaderPairs = []): void {
  const { headers, body } = refusal(status, marks);
  res.writeHead(status, headers).end(body);
  res.once('finish', () => cutLater(req.socket));
}

/** A request that is not HTTP, too large or too slow never reaches Koa; its sender gets an answer in the same form. */
function refuseNonsense(error: Error & { code?: string }, socket: Duplex, marks: HeaderPairs = []): void {
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

/** Cuts a connection whose client neither reads the answer nor closes. */
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

/** The limits of one connection and of one address. */
interface ConnectionLimits {
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
function guardConnections(
  server: Server,
  trustedProxies: number,
  { quietMs, takeMs, waitingBytes, slowAfterMs, slowPerAddress, requestMs }: ConnectionLimits,
  marks: HeaderPairs = [],
): (req: IncomingMessage, res: ServerResponse) => void {
  // Requests are kept in short arrays: V8 rebuilds a set every few requests, and the old tables keep requests and answers from the
  // garbage collector's quick round.
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
    // A slow body that has a place keeps it.
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

/** How long the headers of a request, and the longest body that is read as it comes, may take to arrive (ms). */
interface ArrivalLimits {
  headersMs: number;
  longestMs: number;
}

/** Where to listen, how many may come, and what happens after `close`. */
export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Open connections; more are closed at once. */
  maxConnections?: number;
  trustedProxies?: number;
  /** How long balancers have to notice that this one is about to stop. */
  drainSeconds?: number;
  /** Ends the drain in the place of its time. */
  drained?: Promise<void>;
  /** How long requests in flight may take after that. */
  shutdownSeconds?: number;
  /** Tests have shorter times. */
  limits?: Partial<ConnectionLimits & ArrivalLimits>;
}

/** A server that accepts requests. */
interface Listening {
  readonly host: string;
  readonly port: number;
  /**
   * Goes on for the drain while every answer closes its connection, then stops accepting, lets requests in flight finish and
   * breaks off what takes longer; safe to call twice.
   */
  close(): Promise<void>;
  /**
   * Stops accepting at once, because others on the same address go on: every answer closes its connection, and who has one that is
   * quiet may still use it for a moment. Balancers are told nothing.
   */
  leave(): Promise<void>;
}

/** Checked once a second; bodies have a limit of their own (`connectionLimits.requestMs`), which Node has for all or for none. */
const arrivalLimits: ArrivalLimits = { headersMs: 10_000, longestMs: 3_600_000 };
/** Balancers close first: nginx keeps an idle connection for 60 seconds. */
const KEEP_ALIVE_MS = 65_000;
/** Whoever sends requests regularly has sent one by then, and was told to connect anew. */
const LEAVE_MS = 3_000;

/** Starts to accept requests; resolves when the port is open, rejects when it is taken. Slow senders and takers are cut off. */
export async function listen(koa: Koa, options: ListenOptions): Promise<Listening> {
  const { host, port, maxConnections = 5_000, trustedProxies = 0, drainSeconds = 0, shutdownSeconds = 10 } = options;
  const limits = { ...connectionLimits, ...arrivalLimits, ...options.limits };
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.longestMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node would answer without a document.
    requireHostHeader: false,
  });
  server.maxConnections = maxConnections;
  server.on('drop', tellOfDrops(koa, maxConnections));
  const marks = edgeOf(koa)?.marks ?? [];
  const watch = guardConnections(server, trustedProxies, limits, marks);
  const handle = koa.callback();
  const ending = new WeakSet<Socket>();
  server.on('request', (req, res) => {
    // It may be part of the body before it, in the eyes of a proxy; the connection is closed behind that answer.
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
  server.on('clientError', (error, socket) => refuseNonsense(error, socket, marks));
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

/** Once a minute is enough to be noticed. */
function tellOfDrops(koa: Koa, maxConnections: number): () => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - toldAt < 60_000) return;
    toldAt = performance.now();
    edgeOf(koa)?.logger.warn({ maxConnections }, 'new connections are closed: too many are open');
  };
}

function edgeOf({ context }: Koa): Edge | undefined {
  return (context as { edge?: Edge }).edge;
}

/** A turn of the loop that takes longer (ms) may have let somebody connect who is not accepted yet. */
const QUIET_TURN_MS = 0.2;
/** New connections may never stop to come. */
const LAST_CALL_MS = 1000;

/** Closes the port once the drain is over, lets requests in flight finish, and breaks off what takes longer. */
async function stop(server: Server, drained: Promise<void>, shutdownSeconds: number): Promise<void> {
  await drained;
  await acceptAllWaiting(server);
  const closed = once(server, 'close');
  server.close();
  await untilClosed(server, closed, shutdownSeconds);
}

/** Gives the port up to the other processes that have it; connections may be used for a while before quiet ones are closed. */
async function leaveOthers(server: Server, quietMs: number, shutdownSeconds: number): Promise<void> {
  const closed = once(server, 'close');
  // That of HTTP would close the quiet connections at once, one of which may be about to carry a request.
  NetServer.prototype.close.call(server);
  await Promise.race([closed, delay(quietMs)]);
  await untilClosed(server, closed, shutdownSeconds);
}

async function untilClosed(server: Server, closed: Promise<unknown>, shutdownSeconds: number): Promise<void> {
  // A connection becomes idle when its last answer is sent, which may be long before the caller closes it.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const deadline = setTimeout(() => server.closeAllConnections(), shutdownSeconds * 1000);
  await closed;
  clearInterval(sweep);
  clearTimeout(deadline);
}

/**
 * Node accepts one connection in each turn of its loop, and those that still wait when the port closes are reset by the kernel:
 * a balancer that has sent its request by then must not send it again. So the port closes right after a turn in which nobody came.
 */
async function acceptAllWaiting(server: Server): Promise<void> {
  const lastCall = performance.now() + LAST_CALL_MS;
  let someoneCame = false;
  const note = (): void => void (someoneCame = true);
  server.on('connection', note);
  // From here on a turn goes from one check phase of the loop to the next one, and polls in between; the first may end without.
  await nextTurn();
  for (let isQuiet = false; !isQuiet && performance.now() < lastCall;) {
    someoneCame = false;
    const began = performance.now();
    await nextTurn();
    isQuiet = !someoneCame && performance.now() - began < QUIET_TURN_MS;
  }
  server.off('connection', note);
}
