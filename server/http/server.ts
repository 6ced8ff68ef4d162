// The HTTP server: starts to listen, drains, and stops without breaking off requests.
import type Koa from 'koa';
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import {
  type ConnectionLimits,
  connectionLimits,
  guardConnections,
  isFramedOddly,
  isWellFormed,
  refuseNonsense,
  refuseRequest,
} from './before-koa.ts';
import type { Edge } from './edge.ts';

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
export async function stop(server: Server, drained: Promise<void>, shutdownSeconds: number): Promise<void> {
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
