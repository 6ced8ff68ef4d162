import type { ExecutionContext } from 'ava';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, Server as HttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file for each port that a test process has: between looking whether it is free and listening, another one could take it. */
const claims = process.env.PAY_TEST_PORTS ?? join(tmpdir(), 'pay-test-ports');
/** Of a process that was killed. */
const STALE_MS = 6 * 3_600_000;
const own: string[] = [];
process.once('exit', () => {
  for (const file of own) rmSync(file, { force: true });
  try {
    rmdirSync(claims);
  } catch {
    // Others still have claims in it, or took it with them already.
  }
});

/** A port that nobody listens on, below the range from which the system takes its own, and never the same twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    if (claim(port) && (await isFree(port))) return port;
  }
}

/**
 * Lets a server listen on a port of its own. The system would give the port of a server that was closed to the next one
 * that asks: whoever is told that nobody listens there any more would then reach a stranger.
 */
export async function listenOnFreePort(server: Server): Promise<number> {
  const port = await freePort();
  // A connection that is kept is not ended by the server: on a slow machine the next request would meet that.
  if (server instanceof HttpServer) server.keepAliveTimeout = 0;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return port;
}

function claim(port: number): boolean {
  const file = join(claims, String(port));
  mkdirSync(claims, { recursive: true, mode: 0o777 });
  try {
    writeFileSync(file, '', { flag: 'wx' });
    own.push(file);
    return true;
  } catch {
    const { mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (mtimeMs < Date.now() - STALE_MS) rmSync(file, { force: true });
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  // `once` rejects when an error comes instead.
  const free = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}

/** A server on this machine that ends with the test, as an upstream or a channel of its own; its address, without a path. */
export async function serve(t: Pick<ExecutionContext, 'teardown'>, listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener);
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
