import net from 'node:net';
import type { ExecutionContext } from 'ava';

/** A connection to a service that breaks off within its responses. */
interface Cutter {
  url: string;
  /** The number of responses broken off so far. */
  cuts(): number;
}

/**
 * Opens a proxy in front of a service. `bytesOf` returns for each connection how many response bytes pass before it breaks;
 * undefined passes all. A connection carries one request.
 */
export async function openCutter(
  t: Pick<ExecutionContext, 'teardown'>,
  target: string,
  bytesOf: () => number | undefined,
): Promise<Cutter> {
  const { hostname, port } = new URL(target);
  let cut = 0;
  const server = net.createServer((client) => {
    const upstream = net.connect({ host: hostname, port: Number(port) });
    let left = bytesOf() ?? Infinity;
    for (const one of [client, upstream]) one.on('error', () => {});
    client.on('data', (chunk) => upstream.write(closing(chunk)));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.end());
    upstream.on('data', (chunk) => {
      if (chunk.length < left) {
        left -= chunk.length;
        client.write(chunk);
        return;
      }
      cut += 1;
      client.write(chunk.subarray(0, left), () => client.resetAndDestroy());
      left = 0;
      upstream.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`, cuts: () => cut };
}

/** Disables connection reuse, so that each response has its own connection. */
function closing(chunk: Buffer): string {
  return chunk.toString('latin1').replace(/\r\nconnection: keep-alive\r\n/i, '\r\nconnection: close\r\n');
}
