// The supervisor of several workers, and the sum of their metrics.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AggregatorRegistry } from 'prom-client';
import type { Config, LoadedConfig } from '../../config/config.ts';
import { listenAs, metricsUrl } from '../http/address.ts';
import { createLogger } from '../http/logger.ts';
import { listenForMetrics } from '../http/metrics.ts';
import type { Figures, FirstWord, ReadyFacts, SupervisorWord, StartError, WorkerWord } from './life.ts';

interface SupervisorParts {
  /**
   * Reads the configuration again when SIGHUP arrives, because the number of workers may have changed. Throws if the
   * configuration is invalid.
   */
  load: () => LoadedConfig;
  /** URL of the simulator, which runs in the process of the supervisor. */
  simulatorUrl?: string | undefined;
  /** Prints that all workers are ready. If absent, the supervisor logs a line instead. */
  onReady?: ((facts: ReadyFacts) => void) | undefined;
}

/**
 * Delays before a crashed worker is replaced (s). The first delay is 0, because the cause of a single crash may be
 * outside the worker, such as a kill.
 */
const PAUSES = [0, 1, 2, 5, 10, 30] as const;
/** A worker that ran for this long resets the count of crashes. */
const SOUND_MS = 60_000;
/**
 * How long the supervisor waits after the worker's own time limits (`drainSeconds` and `shutdownSeconds`) before it
 * kills the worker (ms).
 */
const PATIENCE_MS = 20_000;

/**
 * Starts the workers and replaces crashed workers. On SIGHUP, replaces all workers one after the other. The supervisor
 * itself serves only the metrics. Returns after SIGTERM or SIGINT has ended every worker. Throws if the first worker
 * cannot start.
 */
export async function supervise(config: Config, { load, simulatorUrl, onReady }: SupervisorParts): Promise<void> {
  // Each worker accepts connections itself. If the supervisor distributed the connections, Node.js could give a
  // connection to a worker that is crashing. That connection would be neither served nor closed.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const logger = createLogger(config);
  const stop = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const env = simulatorUrl === undefined ? {} : { PAY_SIMULATOR_URL: simulatorUrl };
  const lastMs = endingMs(config.server);
  let stopping = false;
  let deaths = 0;
  let wanted = config.server.workers;
  /** Workers that serve; workers that are leaving are excluded. */
  const serving = new Set<Worker>();
  /** Starts in progress; each resolves when its worker serves or has failed. */
  const starting = new Set<Promise<unknown>>();
  const figures = gatherFigures();
  const { listen: where } = config.metrics;
  const metrics = await listenAs('Metrics.Listen', where, () => listenForMetrics(figures, where));
  // The first worker migrates the schema and reports faults before the others start.
  const { facts } = await begin().catch(async (error: unknown) => {
    await metrics.close();
    throw error;
  });
  let replacing = fillUp().then(() => {
    const own = { metrics: metricsUrl(where, metrics.port), workers: serving.size, pid: process.pid };
    if (onReady) onReady({ ...facts, ...own });
    else logger.info({ workers: serving.size, pid: process.pid }, 'all workers are ready');
  });
  process.on('SIGHUP', () => void (replacing = replacing.then(replaceAll)));
  try {
    await stop;
    stopping = true;
    logger.info({ workers: Object.keys(cluster.workers ?? {}).length }, 'stopping');
    await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => end(worker!, () => worker!.process.kill())));
  } finally {
    await metrics.close();
  }

  /** Starts one worker; resolves when it serves, throws its error if it cannot start. */
  async function begin(): Promise<Extract<FirstWord, { pay: 'ready' }>> {
    const worker = cluster.fork(env);
    const startedAt = performance.now();
    const start = firstMessage(worker);
    starting.add(start);
    const word = await start;
    starting.delete(start);
    if (word.pay === 'failed') throw rebuilt(word.error);
    serving.add(worker);
    figures.watch(worker);
    worker.once('exit', (code, signal) => {
      if (!serving.delete(worker) || stopping) return;
      deaths = performance.now() - startedAt > SOUND_MS ? 1 : deaths + 1;
      logger.error({ worker: worker.id, pid: worker.process.pid, code, signal }, 'a worker died');
      void fillUp();
    });
    return word;
  }

  /** Calls may overlap, so workers that are still starting are counted too. */
  async function fillUp(): Promise<void> {
    while (!stopping && serving.size < wanted) {
      if (areComing()) {
        await Promise.race(starting);
        continue;
      }
      const pause = PAUSES[Math.min(deaths, PAUSES.length) - 1] ?? 0;
      if (pause > 0) await Promise.race([delay(pause * 1000, undefined, { ref: false }), stop]);
      if (stopping || areComing()) continue;
      await begin().catch((error: unknown) => {
        deaths += 1;
        if (!stopping) logger.error({ err: error }, 'a worker could not start');
      });
    }
  }

  function areComing(): boolean {
    return serving.size + starting.size >= wanted;
  }

  /** Starts a new worker before each old one leaves, so the number of workers never drops. */
  async function replaceAll(): Promise<void> {
    if (stopping) return;
    try {
      ({ workers: wanted } = load().server);
      logger.info({ workers: serving.size, wanted }, 'replacing all workers');
      // Workers that are still starting may have loaded the previous configuration, so they are replaced too.
      await Promise.all(starting);
      const old = [...serving];
      for (const worker of old) {
        if (stopping) return;
        if (serving.size + starting.size - remaining(old) < wanted) await begin();
        await leave(worker);
      }
      await fillUp();
      logger.info({ workers: serving.size }, 'all workers were replaced');
    } catch (error) {
      logger.error({ err: error }, 'the workers were not replaced: a new worker could not start');
    }
  }

  function remaining(old: readonly Worker[]): number {
    return old.filter((worker) => serving.has(worker)).length;
  }

  function leave(worker: Worker): Promise<void> {
    if (!serving.delete(worker)) return Promise.resolve();
    return end(worker, () => worker.isConnected() && worker.send({ pay: 'leave' }));
  }

  async function end(worker: Worker, signal: () => unknown): Promise<void> {
    if (worker.isDead()) return;
    const ended = once(worker, 'exit');
    signal();
    const isLate = await Promise.race([ended.then(() => false), delay(lastMs, true, { ref: false })]);
    if (!isLate) return;
    killLate(worker, logger);
    await ended;
  }
}

function killLate(worker: Worker, logger: Logger): void {
  logger.error({ worker: worker.id, pid: worker.process.pid }, 'a worker did not end in time and was killed');
  worker.process.kill('SIGKILL');
}

/**
 * How long the supervisor waits for a worker to end before it kills the worker (ms). A worker normally ends earlier,
 * because it has its own time limit.
 */
function endingMs({ drainSeconds, shutdownSeconds }: Config['server']): number {
  return (drainSeconds + 2 * shutdownSeconds) * 1000 + PATIENCE_MS;
}

async function firstMessage(worker: Worker): Promise<FirstWord> {
  const word = new Promise<FirstWord>((resolve) => {
    worker.on('message', (message: WorkerWord) => {
      if (message.pay === 'ready' || message.pay === 'failed') resolve(message);
    });
  });
  const died = once(worker, 'exit').then(([code, signal]): FirstWord => {
    const message = `A worker ended before it was ready (${signal ?? `exit code ${code}`}).`;
    return { pay: 'failed', error: { name: 'Error', message } };
  });
  return Promise.race([word, died]);
}

/** Rebuilds the error of a worker, so that payctl prints the same text and returns the same exit code. */
function rebuilt({ name, message, code, status, options }: StartError): Error {
  return Object.assign(new Error(message), { name, code, status, options });
}

interface GatheredFigures {
  readonly contentType: string;
  /** Includes a worker's metrics from now on. After the worker ends, its counters stay included. */
  watch(worker: Worker): void;
  metrics(): Promise<string>;
}

/** How long a scrape waits for a busy worker before it uses the worker's last metrics (ms). */
const FIGURES_PATIENCE_MS = 2_000;

/**
 * Sums the metrics of the workers. Prometheus takes a decreasing counter for a restart and would count everything
 * twice. So the counters of an ended worker stay, and a worker that does not respond counts with its last metrics.
 */
export function gatherFigures(patienceMs = FIGURES_PATIENCE_MS): GatheredFigures {
  const last = new Map<Worker, Figures>();
  const requests = new Map<Worker, PromiseWithResolvers<void>>();
  let departed: Figures = [];
  return { contentType: new AggregatorRegistry().contentType, watch, metrics };

  function watch(worker: Worker): void {
    last.set(worker, []);
    worker.on('message', (word: WorkerWord) => {
      if (word.pay !== 'figures' || !last.has(worker)) return;
      last.set(worker, word.figures);
      answered(worker);
    });
    // Node emits `disconnect` after the worker's last message, so the counters are complete.
    worker.once('disconnect', () => {
      const counted = (last.get(worker) ?? []).filter(({ type }) => /^(counter|histogram)$/.test(String(type)));
      last.delete(worker);
      departed = AggregatorRegistry.aggregate([departed, counted]).getMetricsAsArray() as Figures;
      answered(worker);
    });
  }

  async function metrics(): Promise<string> {
    const answers = Promise.all([...last.keys()].map(ask));
    await Promise.race([answers, delay(patienceMs, undefined, { ref: false })]);
    return AggregatorRegistry.aggregate([departed, ...last.values()]).metrics();
  }

  /** Resolves when the worker has sent its metrics or ended. */
  function ask(worker: Worker): Promise<void> {
    const known = requests.get(worker);
    if (known) return known.promise;
    const answer = Promise.withResolvers<void>();
    requests.set(worker, answer);
    const figuresRequest: SupervisorWord = { pay: 'figures' };
    if (worker.isConnected()) worker.send(figuresRequest);
    return answer.promise;
  }

  function answered(worker: Worker): void {
    requests.get(worker)?.resolve();
    requests.delete(worker);
  }
}
