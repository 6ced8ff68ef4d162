import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

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
export async function leaveOthers(server: Server, quietMs: number, shutdownSeconds: number): Promise<void> {
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
