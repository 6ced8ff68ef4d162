import type { ExecutionContext } from 'ava';
import { createServer, type RequestListener } from 'node:http';
import { listenOnFreePort } from './free-port.ts';

/** A server on this machine that ends with the test, as an upstream or a channel of its own; its address, without a path. */
export async function serve(t: Pick<ExecutionContext, 'teardown'>, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
