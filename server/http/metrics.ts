import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  readonly requests: Histogram<'method' | 'route' | 'status'>;
}

const LAGS = ['nodejs_eventloop_lag_seconds', ...[50, 90, 99].map((share) => `nodejs_eventloop_lag_p${share}_seconds`)];

/** Gauges of Node whose names end in `_total`, a suffix that Prometheus reserves for counters. */
const SUMS = ['handles', 'requests', 'resources'].map((name) => `nodejs_active_${name}_total`);

/** Creates the registry with the metrics of the process and of HTTP. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of SUMS) registry.removeSingleMetric(name);
  // With several processes, the metric must show the highest event loop delay of all processes, not the sum.
  for (const name of LAGS) Object.assign(registry.getSingleMetric(name)!, { aggregator: 'max' });
  const requests: Metrics['requests'] = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to its response in seconds, by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return { registry, requests };
}

/** Serves `GET /metrics` on a separate address, and 404 for every other path. Resolves when the port is open. */
export async function listenForMetrics(
  registry: { contentType: string; metrics(): Promise<string> },
  { host, port }: { host: string; port: number },
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((req, res) => {
    if (req.method !== 'GET' || req.url !== '/metrics') {
      res.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => res.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => res.writeHead(500).end(),
    );
  });
  // A response that a client does not read stays in memory, so the number of connections is limited.
  server.maxConnections = 64;
  server.setTimeout(10_000);
  server.listen(port, host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  if (server.listening) await once(server, 'close');
}
