import { once } from 'node:events';
import { Session } from 'node:inspector/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { ensureEmbeddedSecrets } from '../config/embedded-secrets.ts';
import { loadConfig } from '../config/load.ts';
import { buildApp, type App } from './app.ts';
import { listenForMetrics } from './http/metrics.ts';
import { createLogger, logsText } from './http/logger.ts';
import { listenAs } from './http/address.ts';
import { listen } from './http/server.ts';
import { VERSION } from './http/version.ts';
import { readyFacts, startWarnings } from './compose/http.ts';
import type { Ending, Life, ReadyFacts } from './workers/life.ts';

/** Where the configuration comes from. */
export interface ServerInput {
  config?: string;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Tells people that the service is ready, in the place of a line of the log. */
  tellReady?: (facts: ReadyFacts) => void;
}

/** How long it may take to close what is left when requests and jobs have ended. */
const CLOSING_SECONDS = 10;

/** When the start is over: the first health checks are answered before its garbage is collected. */
const SETTLED_MS = 1_000;

/** Runs the service, alone or as one of `Server.Workers`; comes back when SIGTERM or SIGINT, or SIGHUP where it is alone, has ended it gracefully. */
export async function startServer({ config: file, env, cwd, tellReady }: ServerInput): Promise<void> {
  const load = () => loadConfig({ argv: file === undefined ? {} : { config: file }, env, cwd });
  const config = await ensureEmbeddedSecrets(load());
  const tell = logsText(config) ? tellReady : undefined;
  if (config.server.workers === 1) return serve(config, alone(tell));
  const cluster = await import('./workers/worker.ts');
  if (cluster.isWorker()) return cluster.work(config, (life) => serve(config, life));
  const simulator = await openSimulator(config);
  const { supervise } = await import('./workers/supervisor.ts');
  await supervise(config, { load, simulatorUrl: simulator?.url, tell }).finally(() => simulator?.close());
}

/** One process that does everything. */
function alone(tell: ServerInput['tellReady']): Life {
  return {
    // SIGHUP is its terminal's end; there is no worker to replace.
    ends: Promise.race(['SIGTERM', 'SIGINT', 'SIGHUP'].map((name) => once(process, name))).then(() => 'stop'),
    openSimulator,
    openMetrics: (registry, { metrics: { listen: where } }) =>
      listenAs('Metrics.Listen', where, () => listenForMetrics(registry, where)),
    tells: tell !== undefined,
    ready: (facts) => tell?.(facts),
  };
}

/** Configuration, application, listeners; what was opened is closed in the opposite order, also when a later step fails. */
async function serve(config: Config, life: Life): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const simulator = await life.openSimulator(config);
  if (simulator) opened.defer(() => simulator.close());
  const ownLogger = createLogger(config);
  const logger = life.name === undefined ? ownLogger : ownLogger.child({ worker: life.name });
  const traces = await openTraces(config, logger);
  if (traces) opened.defer(() => traces.close());
  const app = await buildApp(config, {
    logger,
    worker: life.name,
    ...(simulator && { simulatorUrl: simulator.url }),
  });
  opened.defer(() => app.close());
  await app.prepare();
  const metrics = await life.openMetrics(app.metrics.registry, config);
  opened.defer(() => metrics.close());
  const where = config.server.listen;
  const server = await listenAs('Server.Listen', where, () => listen(app.koa, { ...config.server, ...where }));
  app.startJobs();
  setTimeout(() => void giveBackMemory(), SETTLED_MS).unref();
  let how: Ending = 'stop';
  opened.defer(() => (how === 'stop' ? server.close() : server.leave()));
  const facts = await readyFacts(app, config, {
    listens: server,
    metricsPort: metrics.port,
    simulatorUrl: simulator?.url,
  });
  for (const { message, facts: about } of startWarnings(config, server)) logger.warn(about, message);
  if (!life.tells) logger.info(facts, 'ready');
  life.ready(facts);
  app.tellDown().catch((error: unknown) => logger.warn({ err: error }, 'the channels could not be looked through'));
  how = await life.ends;
  app.logger.info(how === 'stop' ? 'stopping' : 'leaving to a new worker');
  endAtLast(app, config.server);
}

/** Requests and jobs have their time each; a database that never answers must not keep the process for ever. */
function endAtLast({ logger }: App, { drainSeconds, shutdownSeconds }: Config['server']): void {
  const seconds = drainSeconds + 2 * shutdownSeconds + CLOSING_SECONDS;
  const end = () => {
    logger.error({ seconds }, 'could not stop in time; what was under way is taken up again when its lease is over');
    process.exit(1);
  };
  setTimeout(end, seconds * 1000).unref();
}

/** Traces are sent only where somebody wants them, and only then is what sends them loaded. */
async function openTraces({ telemetry: { otlp: url, samplePercent: percent } }: Config, logger: Logger) {
  if (url === undefined) return undefined;
  const { sendTraces } = await import('./send-traces.ts');
  const lost = (reason: string) => logger.warn({ reason, hint: 'Telemetry.Otlp' }, 'traces could not be sent');
  return sendTraces({ url, percent, version: VERSION, lost });
}

/** In Debug the simulator runs in this process, unless another one is named. */
async function openSimulator({ debug, simulator }: Config) {
  if (!debug || simulator.url) return undefined;
  const { startSimulator } = await import('./simulator/simulator.ts');
  const { dir, listen: where } = simulator;
  return listenAs('Simulator.Listen', where, () => startSimulator({ dir, listen: where }));
}

/**
 * Collects the garbage of the start once, so that an idle service holds some 40 MB less; a running one would collect it in
 * time. Never fails: a Node without an inspector keeps its memory.
 */
async function giveBackMemory(): Promise<void> {
  try {
    const session = new Session();
    session.connect();
    await session.post('HeapProfiler.collectGarbage');
    session.disconnect();
  } catch {
    // Only memory is at stake.
  }
}
