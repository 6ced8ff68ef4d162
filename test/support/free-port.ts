import type { ExecutionContext } from 'ava';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, Server as HttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file for each port that a test process uses; otherwise another process could take it between the check and the listening. */
const claims = process.env.PAY_TEST_PORTS ?? join(tmpdir(), 'pay-test-ports');
/** An older file belongs to a process that was killed (ms). */
const STALE_MS = 6 * 3_600_000;
const own: string[] = [];
process.once('exit', () => {
  for (const file of own) rmSync(file, { force: true });
  try {
    rmdirSync(claims);
  } catch {
    // Other processes still have files in it, or have removed it already.
  }
});

/** Returns an unused port below the system's ephemeral range, never the same twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    if (claim(port) && (await isFree(port))) return port;
  }
}

/**
 * Lets a server listen on its own port. The system would give a closed server's port to the next server, and a test that expects
 * no listener there would reach a foreign one.
 */
export async function listenOnFreePort(server: Server): Promise<number> {
  const port = await freePort();
  // The server does not close idle connections: on a slow machine the next request could meet the close.
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
  // `once` rejects when the server emits an error.
  const free = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}

/** Starts a server on this machine, as an upstream or channel; it ends with the test. Returns its address without a path. */
export async function serve(t: Pick<ExecutionContext, 'teardown'>, listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener);
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
