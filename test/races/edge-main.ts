import { startEdge } from '../support/edge.ts';
import { publicRoutes } from '../../server/routes/public.ts';

/** Runs an edge server with the explorer in its own process: reports its port, and its memory in MB after a collection on request. */
const limits = JSON.parse(process.argv[2] ?? '{}') as Record<string, number>;
const groups = [publicRoutes({ info: () => Promise.reject(new Error('unused')), pingDatabase: async () => {} })];
const { port } = await startEdge({ teardown: () => {} }, { groups, explorer: true, limits });
process.on('message', () => {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({ rss: rss / 1e6, held: (heapUsed + external) / 1e6 });
});
process.send?.({ port });
