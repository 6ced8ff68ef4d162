import { once } from 'node:events';
import { Session } from 'node:inspector/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { ensureEmbeddedSecrets } from '../config/embedded-secrets.ts';
import { type Installation, loadConfig } from '../config/load.ts';
import { buildApp, type App } from './app.ts';
import { keepHeapSmall } from './heap.ts';
import { listenForMetrics } from './http/metrics.ts';
import { createLogger, logsText } from './http/logger.ts';
import { listenAs } from './http/address.ts';
import { listen } from './http/server.ts';
import { VERSION } from './http/version.ts';
import { readyFacts, startWarnings } from './compose/http.ts';
import type { Ending, Life, ReadyFacts } from './workers/life.ts';

export interface ServerInput {
  config?: string;
  env: Record<string, string | undefined>;
  cwd: string;
  /** The files of a service that may be installed on this machine; see `loadConfig`. */
  installation?: Installation;
  /** Called before the start, if `onReady` will be called after it. */
  onStart?: () => void;
  /** Called when the service is ready, with facts to print. If absent, the service logs them. */
  onReady?: (facts: ReadyFacts) => void;
}

/** Time to close the database and other resources after requests and jobs have ended (seconds). */
const CLOSING_SECONDS = 10;

/** Delay of the first garbage collection after the start (ms), so that it does not delay the first health checks. */
const SETTLED_MS = 1_000;

/** Runs the service as one process or as several workers (`Server.Workers`). Returns after a graceful stop. */
export async function startServer({ config: file, onStart, onReady, ...where }: ServerInput): Promise<void> {
  const load = () => loadConfig({ argv: file === undefined ? {} : { config: file }, ...where });
  const config = await ensureEmbeddedSecrets(load());
  keepHeapSmall();
  const report = logsText(config) ? onReady : undefined;
  const starts = () => report && onStart?.();
  if (config.server.workers === 1) {
    starts();
    return serve(config, alone(report));
  }
  const cluster = await import('./workers/worker.ts');
  if (cluster.isWorker()) return cluster.work(config, (life) => serve(config, life));
  starts();
  const simulator = await openSimulator(config);
  const { supervise } = await import('./workers/supervisor.ts');
  await supervise(config, { load, simulatorUrl: simulator?.url, onReady: report }).finally(() => simulator?.close());
}

function alone(onReady: ServerInput['onReady']): Life {
  return {
    // SIGHUP means that the terminal was closed. A single process then stops.
    ends: Promise.race(['SIGTERM', 'SIGINT', 'SIGHUP'].map((name) => once(process, name))).then(() => 'stop'),
    openSimulator,
    openMetrics: (registry, { metrics: { listen: where } }) =>
      listenAs('Metrics.Listen', where, () => listenForMetrics(registry, where)),
    tells: onReady !== undefined,
    ready: (facts) => onReady?.(facts),
  };
}

/** Opens the parts of the service one after another. Closes the opened parts in reverse order, even if a step fails. */
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
  setTimeout(() => void collectGarbage(), SETTLED_MS).unref();
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
  app
    .reportUnusableChannels()
    .catch((error: unknown) => logger.warn({ err: error }, 'could not check the channel secrets'));
  how = await life.ends;
  app.logger.info(how === 'stop' ? 'stopping' : 'stopping; a new worker has taken over');
  exitAfterDeadline(app, config.server);
}

/** A database that does not respond could block the stop forever. The deadline is ten seconds after all time limits. */
function exitAfterDeadline({ logger }: App, { drainSeconds, shutdownSeconds }: Config['server']): void {
  const seconds = drainSeconds + 2 * shutdownSeconds + CLOSING_SECONDS;
  const end = () => {
    logger.error({ seconds }, 'could not stop in time; unfinished work resumes when its lease expires');
    process.exit(1);
  };
  setTimeout(end, seconds * 1000).unref();
}

async function openTraces({ telemetry: { otlp: url, samplePercent: percent } }: Config, logger: Logger) {
  if (url === undefined) return undefined;
  const { sendTraces } = await import('./send-traces.ts');
  const lost = (reason: string) => logger.warn({ reason, hint: 'Telemetry.Otlp' }, 'traces could not be sent');
  return sendTraces({ url, percent, version: VERSION, lost });
}

/** If Debug is on, starts the simulator in this process, unless `Simulator.Url` names an external simulator. */
async function openSimulator({ debug, simulator }: Config) {
  if (!debug || simulator.url) return undefined;
  const { startSimulator } = await import('./simulator/simulator.ts');
  const { dir, listen: where } = simulator;
  return listenAs('Simulator.Listen', where, () => startSimulator({ dir, listen: where }));
}

/**
 * After the collection an idle service uses some 40 MB less. Never fails: without the inspector nothing is collected.
 */
async function collectGarbage(): Promise<void> {
  try {
    const session = new Session();
    session.connect();
    await session.post('HeapProfiler.collectGarbage');
    session.disconnect();
  } catch {
    // A failure is ignored: only memory use depends on the collection.
  }
}
