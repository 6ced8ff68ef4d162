// The supervisor of several workers, and their figures added up.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AggregatorRegistry } from 'prom-client';
import type { Config, LoadedConfig } from '../../config/config.ts';
import { listenAs, metricsUrl } from '../http/address.ts';
import { createLogger } from '../http/logger.ts';
import { listenForMetrics } from '../http/metrics.ts';
import type { Figures, FirstWord, ReadyFacts, SupervisorWord, ToldError, WorkerWord } from './life.ts';

/** What a supervisor needs. */
interface SupervisorParts {
  /** Reads the configuration anew, as the workers will; throws when it is not valid. */
  load: () => LoadedConfig;
  /** Of this process, when the service brings its own. */
  simulatorUrl?: string | undefined;
  /** Tells people that all are ready, in the place of a line of the log. */
  tell?: ((facts: ReadyFacts) => void) | undefined;
}

/** Seconds before a worker that died is replaced: the first at once, since it may have been killed. */
const PAUSES = [0, 1, 2, 5, 10, 30] as const;
/** A worker that lived as long as this died of something new. */
const SOUND_MS = 60_000;
/** Beside the time that its own requests and jobs have, until a worker that does not end is killed. */
const PATIENCE_MS = 20_000;

/**
 * Starts the workers, replaces those that die, and on SIGHUP all of them, one after the other; serves nothing itself but the metrics
 * of all. Comes back when SIGTERM or SIGINT has ended every worker; throws what keeps the first one from starting.
 */
export async function supervise(config: Config, { load, simulatorUrl, tell }: SupervisorParts): Promise<void> {
  // Each worker accepts by itself. Were the supervisor to hand connections on, one that is on its way to a worker that dies would be
  // neither served nor closed (Node keeps it until the worker answers).
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const logger = createLogger(config);
  const stop = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const env = simulatorUrl === undefined ? {} : { PAY_SIMULATOR_URL: simulatorUrl };
  const lastMs = endingMs(config.server);
  let stopping = false;
  let deaths = 0;
  let wanted = config.server.workers;
  /** Those that serve; who leaves is no more among them. */
  const serving = new Set<Worker>();
  /** Those that were started and do not serve yet; each resolves when it does, or cannot. */
  const starting = new Set<Promise<unknown>>();
  const figures = gatherFigures();
  const { listen: where } = config.metrics;
  const metrics = await listenAs('Metrics.Listen', where, () => listenForMetrics(figures, where));
  // The first one brings the schema up to date and tells what is wrong; the others find everything there.
  const { facts } = await begin().catch(async (error: unknown) => {
    await metrics.close();
    throw error;
  });
  let replacing = fillUp().then(() => {
    const own = { metrics: metricsUrl(where, metrics.port), workers: serving.size, pid: process.pid };
    if (tell) tell({ ...facts, ...own });
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

  /** Starts one worker; resolves with what it says when it serves, throws what it says when it cannot. */
  async function begin(): Promise<Extract<FirstWord, { pay: 'ready' }>> {
    const worker = cluster.fork(env);
    const startedAt = performance.now();
    const said = firstWord(worker);
    starting.add(said);
    const word = await said;
    starting.delete(said);
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

  /** Until as many serve as are wanted. Every death asks for it, so those that another one has started count. */
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

  /** One new worker serves before an old one leaves, so there are never fewer. */
  async function replaceAll(): Promise<void> {
    if (stopping) return;
    try {
      ({ workers: wanted } = load().server);
      logger.info({ workers: serving.size, wanted }, 'replacing all workers');
      // What is starting may have read the configuration of before.
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
      logger.error({ err: error }, 'the workers go on as they are: a new one could not start');
    }
  }

  function remaining(old: readonly Worker[]): number {
    return old.filter((worker) => serving.has(worker)).length;
  }

  function leave(worker: Worker): Promise<void> {
    if (!serving.delete(worker)) return Promise.resolve();
    return end(worker, () => worker.isConnected() && worker.send({ pay: 'leave' }));
  }

  async function end(worker: Worker, tell: () => unknown): Promise<void> {
    if (worker.isDead()) return;
    const ended = once(worker, 'exit');
    tell();
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

/** A worker bounds its own end; this is for one that cannot. */
function endingMs({ drainSeconds, shutdownSeconds }: Config['server']): number {
  return (drainSeconds + 2 * shutdownSeconds) * 1000 + PATIENCE_MS;
}

async function firstWord(worker: Worker): Promise<FirstWord> {
  const word = new Promise<FirstWord>((resolve) => {
    worker.on('message', (said: WorkerWord) => {
      if (said.pay === 'ready' || said.pay === 'failed') resolve(said);
    });
  });
  const died = once(worker, 'exit').then(([code, signal]): FirstWord => {
    const message = `A worker ended before it was ready (${signal ?? `exit code ${code}`}).`;
    return { pay: 'failed', error: { name: 'Error', message } };
  });
  return Promise.race([word, died]);
}

/** As if it had been thrown here, so that payctl tells it in the same words and with the same exit code. */
function rebuilt({ name, message, code, status, options }: ToldError): Error {
  return Object.assign(new Error(message), { name, code, status, options });
}

/** The figures of all workers as one. */
interface GatheredFigures {
  readonly contentType: string;
  /** From now on this worker's figures are among them; what it counted is, too, after its end. */
  watch(worker: Worker): void;
  metrics(): Promise<string>;
}

/** One that is busy for longer counts as it did (ms). */
const FIGURES_PATIENCE_MS = 2_000;

/**
 * Adds the figures of workers up. A sum of counters that went back would be taken for one that began anew, and all that was counted before
 * would be counted once more: so what a worker counted stays when it ends, and one that does not answer counts as it did.
 */
export function gatherFigures(patienceMs = FIGURES_PATIENCE_MS): GatheredFigures {
  const last = new Map<Worker, Figures>();
  const asked = new Map<Worker, PromiseWithResolvers<void>>();
  let departed: Figures = [];
  return { contentType: new AggregatorRegistry().contentType, watch, metrics };

  function watch(worker: Worker): void {
    last.set(worker, []);
    worker.on('message', (word: WorkerWord) => {
      if (word.pay !== 'figures' || !last.has(worker)) return;
      last.set(worker, word.figures);
      answered(worker);
    });
    // Behind the last word that it said.
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

  /** Resolves when the worker said its figures, or ended. */
  function ask(worker: Worker): Promise<void> {
    const known = asked.get(worker);
    if (known) return known.promise;
    const answer = Promise.withResolvers<void>();
    asked.set(worker, answer);
    const figuresRequest: SupervisorWord = { pay: 'figures' };
    if (worker.isConnected()) worker.send(figuresRequest);
    return answer.promise;
  }

  function answered(worker: Worker): void {
    asked.get(worker)?.resolve();
    asked.delete(worker);
  }
}
