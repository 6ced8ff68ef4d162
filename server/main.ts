import { once } from 'node:events';
import { ensureEmbeddedSecrets } from '../config/embedded-secrets.ts';
import { loadConfig } from '../config/load.ts';
import { buildApp, type App } from './app.ts';
import { listenForMetrics } from './http/metrics.ts';
import { listen } from './http/server.ts';
import { startSimulator } from './simulator/simulator.ts';

/** Where the configuration comes from. */
export interface ServerInput {
  config?: string;
  env: Record<string, string | undefined>;
  cwd: string;
}

/** Runs the service: configuration, application, listeners; comes back when SIGTERM or SIGINT has ended it gracefully. */
export async function startServer({ config: file, env, cwd }: ServerInput): Promise<void> {
  const config = await ensureEmbeddedSecrets(
    loadConfig({ argv: file === undefined ? {} : { config: file }, env, cwd }),
  );
  const stop = stopSignal();
  const simulator =
    config.debug && !config.simulator.url
      ? await startSimulator({ dir: config.simulator.dir, listen: config.simulator.listen })
      : undefined;
  const app = await buildApp(config, simulator ? { simulatorUrl: simulator.url } : {});
  const server = await listen(app.koa, { ...config.server.listen, shutdownSeconds: config.server.shutdownSeconds });
  const metrics = await listenForMetrics(app.metrics, config.metrics.listen);
  const jobs = app
    .startJobs()
    .catch((error: unknown) => app.logger.error({ err: error }, 'jobs did not start; the sweep goes on'));
  announce(app, config, server);
  await stop;
  app.logger.info('stopping');
  await server.close();
  await jobs;
  await app.close();
  await metrics.close();
  await simulator?.close();
  app.logger.info('stopped');
}

function announce(
  { logger, schema }: App,
  config: { database: { kind: string; folder?: string; url: string }; debug: boolean },
  at: { host: string; port: number },
): void {
  const { kind, folder, url } = config.database;
  logger.info(
    {
      address: `http://${at.host}:${at.port}`,
      database: kind === 'pglite' ? folder : new URL(url).host,
      schema: schema.version,
      debug: config.debug,
      pid: process.pid,
    },
    'ready',
  );
}

async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
}
